"""``vllm serve`` on a processor, for tests in an environment that has it."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import vllm_models  # noqa: F401 (sets variables of the environment)

from rlanything_agents.engines.vllm_worker import WORKER_EXTENSION

START_S = 900
"""Most seconds until a server listens; some 30 on an idle core."""


def _ends_with_its_parent() -> None:
    """Ask the kernel for a signal when the process that started this one ends, however it ends."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Served:
    """A server of one model.

    Args:
        folder: Checkpoint.
        name: Name under which it is offered.
        log: File for what the server prints.
        options: Further options of the command line.
        dtype: Precision.
        environment: Variables that open endpoints.
    """

    def __init__(
        self,
        folder: Path | str,
        name: str,
        log: Path,
        options: tuple[str, ...] = (),
        dtype: str = "float32",
        **environment: str,
    ):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.command = [sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", str(folder)]
        self.command += ["--served-model-name", name, "--host", "127.0.0.1", "--port", str(self.port)]
        self.command += ["--dtype", dtype, "--max-num-seqs", "16", "--enforce-eager"]
        # A seeded request whose prompt is read in parts fails on a processor.
        self.command += ["--no-enable-chunked-prefill", *options]
        self.environment = {**os.environ, "HF_HUB_OFFLINE": "1", **environment}
        self.log = log
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_ends_with_its_parent,
            )

    def wait(self) -> None:
        """Wait until the server listens."""
        assert self.process is not None
        end = time.monotonic() + START_S
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=2):
                    return
            except OSError:
                time.sleep(0.2)
        raise AssertionError(f"vllm serve did not come up:\n{self.log.read_text()[-4000:]}")

    def kill(self) -> None:
        """End all processes of the server at once."""
        if self.process is not None:
            with suppress(ProcessLookupError):  # it has ended
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@contextmanager
def serving(*servers: Served) -> Iterator[None]:
    """Servers that listen within the block, started at the same time."""
    try:
        for server in servers:
            server.start()
        for server in servers:
            server.wait()
        yield
    finally:
        for server in servers:
            server.kill()


def training(folder: Path | str, name: str, log: Path, dtype: str = "float32", more: tuple[str, ...] = ()) -> Served:
    """A server that takes all weights of a model from a trainer."""
    options = ("--worker-extension-cls", WORKER_EXTENSION, *more)
    return Served(folder, name, log, options, dtype, VLLM_SERVER_DEV_MODE="1")
