"""Workers in Docker containers, for machines whose kernel offers no sandbox, or by choice."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlanything_verifiers.installed import install

from .errors import SandboxError, SandboxUnsupported, WorkerLost
from .frames import pack, unpack
from .limits import MIB, Limits
from .run import Run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

#: Environment variable with another image; it needs Python 3.11 or newer as ``python3``.
IMAGE_VARIABLE = "RLANYTHING_SANDBOX_IMAGE"
#: Memory of one container in bytes: a program's own limit is below it, see `Limits.memory`.
_MEMORY = 4096 * MIB
_PROCESSES = 256
_START, _COMPILE, _GRACE = 120.0, 150.0, 60.0  # seconds
_USER = "65534:65534"
#: Unpacks this package from standard input and serves. Nothing of this machine is mounted into the container.
_BOOT = """
import json, os, struct, sys, types
stream = sys.stdin.buffer
files = json.loads(stream.read(struct.unpack("<I", stream.read(4))[0]))
os.mkdir("/tmp/box", 0o755)
for name, text in files.items():
    with open("/tmp/box/" + name, "w") as file:
        file.write(text)
box = types.ModuleType("box")
box.__path__ = ["/tmp/box"]
sys.modules["box"] = box
from box.shim import main
main()
"""
_MODULES = """
compiled compiler errors executable frames landlock libc limits memory_file messages namespaces packages process program
run runtime seccomp shim submission syscalls threads tier toolchain waiting worker
"""


def image() -> str:
    """Image of the workers: that of `IMAGE_VARIABLE`, or Python's official image of this version."""
    return os.environ.get(IMAGE_VARIABLE) or f"python:{sys.version_info[0]}.{sys.version_info[1]}-slim"


def connect() -> Any:
    """A client of a running Docker engine.

    Raises:
        SandboxError: The SDK is not installed, or no engine answers.
    """
    sdk = _sdk()
    try:
        client = sdk.from_env()
        client.ping()
    except (sdk.errors.DockerException, OSError) as error:
        raise SandboxError(f"no Docker engine answers ({error}); start one, or set DOCKER_HOST") from error
    return client


def _sdk() -> ModuleType:
    try:
        return importlib.import_module("docker")  # it brings docker.errors
    except ImportError as error:
        raise SandboxError(f"backend='docker' needs the Docker SDK: {install('docker')}") from error


class Container:
    """A worker in its own container: no network, no capabilities, nothing to write but a small ``/tmp``.

    Args:
        packages: Packages of the image that programs may import besides the standard library.
        environment: Their place in the image; None for that of its Python.

    Raises:
        SandboxUnsupported: A package is not in the image.
        SandboxError: The container does not start; the message has the reason.
    """

    def __init__(self, packages: Sequence[str] = (), environment: str | None = None) -> None:
        self._packages, self._environment = list(packages), environment
        sdk = _sdk()
        self._client = connect()
        try:
            self._container = self._client.containers.create(
                image(),
                ["python3", "-s", "-P", "-S", "-B", "-c", _BOOT],
                stdin_open=True,
                auto_remove=True,
                network_mode="none",
                read_only=True,
                tmpfs={"/tmp": "size=128m,mode=1777"},
                mem_limit=_MEMORY,
                memswap_limit=_MEMORY,
                pids_limit=_PROCESSES,
                cap_drop=["ALL"],
                security_opt=["no-new-privileges"],
                user=_USER,
                working_dir="/",
                labels={"rlanything": "sandbox"},
                log_config={"type": "none"},  # the engine would keep all inputs and outputs on disk
                environment={"PYTHONDONTWRITEBYTECODE": "1"},
            )
        except sdk.errors.ImageNotFound as error:
            raise SandboxError(f"no image {image()!r}: docker pull it, or name one in {IMAGE_VARIABLE}") from error
        except (sdk.errors.DockerException, OSError) as error:
            raise SandboxError(f"no container of {image()!r}: {error}") from error
        try:
            self._stream = self._container.attach_socket(params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
            self._socket = getattr(self._stream, "_sock", self._stream)
            self._waiting = bytearray()  # standard output not yet read
            self._errors = b""  # end of standard error
            self._container.start()
            self._boot()
        except SandboxUnsupported:
            self.kill()
            raise
        except (sdk.errors.DockerException, OSError, WorkerLost) as error:
            self.kill()
            raise SandboxError(f"the worker in container {image()!r} does not start: {error}") from error

    def _boot(self) -> None:
        here = Path(__file__).parent
        files = json.dumps({f"{name}.py": (here / f"{name}.py").read_text() for name in _MODULES.split()}).encode()
        self._write(struct.pack("<I", len(files)) + files)
        self._write(pack({"packages": self._packages, "environment": self._environment}))
        head, _ = self._receive(_START)
        if "package" in head:
            raise SandboxUnsupported(f"in image {image()!r}: {head['package']}"[:1000])
        if "tier" not in head:
            raise WorkerLost(str(head.get("failed", head))[:1000])
        #: Protection in force inside the container, as the worker reports it.
        self.facts = f"docker, {head['tier']}, Python {head.get('python')}"

    def begin(self, program: bytes, limits: Limits, language: str = "python") -> str | None:
        """Compile a program, see `process.Process.begin`."""
        self._write(pack({"do": "begin", "limits": dataclasses.asdict(limits), "language": language}, program))
        head, _ = self._receive(_COMPILE)
        if "missing" in head:
            raise SandboxUnsupported(f"in image {image()!r}: {head['missing']}"[:1000])
        broken = head.get("broken")
        return None if broken is None else str(broken)

    def test(self, data: bytes, limits: Limits) -> Run:
        """Run the program on one input, see `process.Process.test`."""
        self._write(pack({"do": "test", "limits": dataclasses.asdict(limits)}, data))
        head, body = self._receive(limits.patience + _GRACE)
        try:
            return Run(stdout=body[: head["stdout"]], stderr=body[head["stdout"] :], **head["run"])
        except (KeyError, TypeError) as error:
            raise WorkerLost(f"the container sent no run: {head!r:.200}") from error

    def end(self) -> None:
        """End a submission."""
        self._write(pack({"do": "end"}))

    def kill(self) -> None:
        """End the container and everything in it."""
        self.interrupt()
        self.forget()

    def interrupt(self) -> None:
        """End the container while another thread waits for it."""
        # An error means that the container or the engine is gone; the container removes itself when its input ends.
        with suppress(_sdk().errors.DockerException, OSError):
            self._container.remove(force=True)

    def forget(self) -> None:
        """Release a container that another process owns, after a fork."""
        for end in (getattr(self, "_stream", None), getattr(self, "_socket", None)):
            if end is not None:
                end.close()
        self._client.close()

    def _write(self, data: bytes) -> None:
        self._socket.settimeout(_GRACE)
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise WorkerLost(f"the container is gone: {error}{self._said()}") from error

    def _receive(self, seconds: float) -> tuple[dict[str, Any], bytes]:
        self._socket.settimeout(seconds)
        try:
            message = unpack(self._read)
        except (OSError, ValueError) as error:
            raise WorkerLost(f"the container's answer: {error}{self._said()}") from error
        if message is None:
            raise WorkerLost(f"the container ended{self._said()}")
        if "lost" in message[0]:
            raise WorkerLost(str(message[0]["lost"]))
        return message

    def _read(self, size: int) -> bytes:
        """Bytes of the worker's standard output, separated from standard error by the engine's frames."""
        while len(self._waiting) < size:
            header = self._exactly(8)
            if len(header) < 8:
                break
            kind, length = struct.unpack(">BxxxI", header)
            data = self._exactly(length)
            if kind == 1:
                self._waiting += data
            else:
                self._errors = (self._errors + data)[-2000:]
        found = bytes(self._waiting[:size])
        del self._waiting[:size]
        return found

    def _exactly(self, size: int) -> bytes:
        parts, left = [], size
        while left:
            part = self._socket.recv(min(left, 1 << 16))
            if not part:
                break
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def _said(self) -> str:
        return f"; {self._errors.decode(errors='replace').strip()[-500:]}" if self._errors else ""
