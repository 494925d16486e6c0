"""Real processes that begin with the training stack imported: forks of a server that has imported it once.

PyTorch, transformers and TRL take a fresh interpreter some ten seconds of processor time. A test that starts a program
of ours does not test that; it gets a process of its own all the same, with its own arguments, environment, working
directory, standard streams, signals and exit code. `test_preloaded.py` compares it with a fresh interpreter.

python preloaded.py serve SOCKET            (ends with its standard input)
python preloaded.py run SOCKET WORD...      (a command line for shells; the words are those after `python`)
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import select
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

PRELOADED = (
    "rlanything_agents.runs.train",
    "rlanything_agents.tools.cli",
    "studies.jobs",
    "studies.study",
    "rlanything_agents.runs.report",
    "trl.trainer.grpo_trainer",
    "matplotlib.backends.backend_svg",
    "matplotlib.backends.backend_agg",
)
START_S = 300
"""Most seconds that the server may take to import everything, many times what it takes."""


class Process:
    """One that runs, with what `subprocess.Popen` has of it; it is killed when this object goes.

    Attributes:
        pid: Of the process itself.
        returncode: Its exit code, negative for a signal; None while it runs.
    """

    def __init__(self, connection: socket.socket, out: IO[bytes] | None, err: IO[bytes] | None) -> None:
        self._connection, self._out, self._err = connection, out, err
        self.pid = self._number()
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, if it has ended."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and return the exit code."""
        if self.returncode is None:
            if not select.select([self._connection], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            self.returncode = self._number()
            self._connection.close()
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for its end; what it wrote to standard output and standard error."""
        self.wait(timeout)
        return _text(self._out), _text(self._err)

    def send_signal(self, number: int) -> None:
        """Send a signal to it."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at whatever instruction it is."""
        self.send_signal(signal.SIGKILL)

    def _number(self) -> int:
        line = b""
        while not line.endswith(b"\n"):
            byte = self._connection.recv(1)
            if not byte:
                raise RuntimeError("the server of preloaded processes has gone")
            line += byte
        return int(line)


class Preloaded:
    """Starts processes.

    Args:
        address: Socket of the server.
    """

    def __init__(self, address: Path) -> None:
        self.address = address

    def start(
        self,
        *words: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        streams: tuple[int, int, int] | None = None,
    ) -> Process:
        """Start a process.

        Args:
            words: What stands after ``python`` on a command line: a file, or ``-m`` or ``-c`` and more.
            cwd: Its working directory; that of this process by default.
            env: Its environment; that of this process by default.
            streams: Its standard streams; by default it reads nothing, and what it writes is kept.
        """
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(str(self.address))
        request = {"words": words, "cwd": str(cwd or Path.cwd()), "env": dict(os.environ if env is None else env)}
        line = json.dumps(request).encode() + b"\n"
        if streams is not None:
            socket.send_fds(connection, [line[:1]], streams)
            connection.sendall(line[1:])
            return Process(connection, None, None)
        out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 (the process has them)
        with Path(os.devnull).open("rb") as nothing:
            socket.send_fds(connection, [line[:1]], [nothing.fileno(), out.fileno(), err.fileno()])
            connection.sendall(line[1:])
            return Process(connection, out, err)

    def run(self, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
        """Run a process to its end; arguments are those of `start`."""
        process = self.start(*words, **more)
        out, err = process.communicate()
        assert process.returncode is not None
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def command(self, file: Path, *words: str) -> Path:
        """Write a program for shells, and for what starts processes itself: these words, and those that it is given."""
        start = [sys.executable, "-IS", __file__, "run", str(self.address), *words]
        file.write_text(f'#!/bin/sh\nexec {shlex.join(start)} "$@"\n')
        file.chmod(0o755)
        return file


@contextmanager
def serving() -> Iterator[Preloaded]:
    """A server, for as long as the block lasts or this process lives."""
    with tempfile.TemporaryDirectory(prefix="preloaded-") as folder:
        address, log = Path(folder) / "socket", Path(folder) / "log"
        with log.open("wb") as errors:
            server = subprocess.Popen(
                [sys.executable, __file__, "serve", str(address)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            )  # fmt: skip
        assert server.stdout is not None
        try:
            ready = select.select([server.stdout], [], [], START_S)[0]
            if not ready or server.stdout.readline() != b"ready\n":
                raise RuntimeError(f"no server of preloaded processes: {log.read_text()[-3000:]}")
            yield Preloaded(address)
        finally:
            server.communicate()


def _text(file: IO[bytes] | None) -> str:
    if file is None:
        return ""
    file.seek(0)
    return file.read().decode()


# ---- The server, and what becomes of its forks


def serve(address: str) -> dict[str, Any]:
    """Fork for everybody who asks; returns in the fork alone, with what it is to do."""
    for name in PRELOADED:
        __import__(name)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(address)
    listener.listen()
    woken, waker = socket.socketpair()
    waker.setblocking(False)
    signal.set_wakeup_fd(waker.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests; this ends with them
    forks: dict[int, socket.socket] = {}
    gc.freeze()  # a collection in a fork would copy every page that it shares with this process
    print("ready", flush=True)
    while True:
        for ready in select.select([listener, woken, 0, *forks.values()], [], [])[0]:
            if ready == 0:
                for pid in forks:
                    os.kill(pid, signal.SIGKILL)
                sys.exit()
            if ready is woken:
                woken.recv(4096)
                _report_ends(forks)
            elif ready is listener:
                connection = listener.accept()[0]
                request, streams = _received(connection)
                pid = os.fork()
                if not pid:
                    for held in (listener, woken, waker, connection, *forks.values()):
                        held.close()
                    _become(request, streams)
                    return request
                for stream in streams:
                    os.close(stream)
                forks[pid] = connection
                connection.sendall(b"%d\n" % pid)
            else:  # whoever asked for it has gone
                for pid in [pid for pid, connection in forks.items() if connection is ready]:
                    forks.pop(pid).close()
                    os.kill(pid, signal.SIGKILL)


def _report_ends(forks: dict[int, socket.socket]) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        if connection := forks.pop(pid, None):
            with connection:
                connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def _received(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    line, streams, _, _ = socket.recv_fds(connection, 1, 3)
    while not line.endswith(b"\n"):
        line += connection.recv(1 << 16)
    return json.loads(line), list(streams)


def _become(request: Mapping[str, Any], streams: list[int]) -> None:
    """What an interpreter is before its first line."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()  # as `start_new_session`: a signal to the tests is none to it
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = sys.__stdin__ = os.fdopen(0, closefd=False)
    sys.stdout = sys.__stdout__ = os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.__stderr__ = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.path[:0] = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if threads := os.environ.get("OMP_NUM_THREADS"):
        sys.modules["torch"].set_num_threads(int(threads))


def execute(words: list[str]) -> None:
    """Run what stands after ``python`` on a command line."""
    match words:
        case ["-m", module, *rest]:
            sys.argv[:], sys.path[0] = [module, *rest], str(Path.cwd())
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["-c", code, *rest]:
            sys.argv[:], sys.path[0] = ["-c", *rest], ""
            main = sys.modules["__main__"] = types.ModuleType("__main__")
            exec(compile(code, "<string>", "exec"), main.__dict__)
        case [file, *rest]:
            sys.argv[:], sys.path[0] = [file, *rest], str(Path(file).parent)
            runpy.run_path(file, run_name="__main__")


def _for_a_shell(address: str, words: list[str]) -> None:
    process = Preloaded(Path(address)).start(*words, streams=(0, 1, 2))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: process.send_signal(number))
    code = process.wait()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        execute(serve(sys.argv[2])["words"])
    else:
        _for_a_shell(sys.argv[2], sys.argv[3:])
