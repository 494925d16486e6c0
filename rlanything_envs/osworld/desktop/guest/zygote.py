"""A process that runs Python code in fresh copies of itself.

Starting an interpreter and loading ``pyautogui`` costs some 100 ms, a fork of one that has done so 2 ms. Each
program still gets a process, a ``__main__`` and a connection to X of its own, as ``python -c`` would give it: it
can neither see nor break what ran before it, and it can be killed.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import select
import signal
import socket
import struct
import sys
import time
import traceback
import types

__all__ = ["Zygote"]

_STATUS = struct.Struct("i")
_LONGEST = 1 << 20


class Zygote:
    """The parent's handle; made before the parent starts any thread.

    Args:
        module: what the programs will want to import. It is loaded once, by the time the first of them runs.
        at_once: load it now and not with the first program.
    """

    def __init__(self, module: str, at_once: bool = True) -> None:
        self._socket, child = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            self._socket.close()
            _serve(child, module, at_once)
            os._exit(0)
        child.close()

    def run(self, code: bytes, environment: dict[str, str], cwd: str, out: int, err: int, timeout: float) -> int:
        """Run a program with its output going to two file descriptors, and return its exit status.

        Raises:
            TimeoutError: it was still running after ``timeout`` seconds; it has been killed with its children.
            RuntimeError: the zygote is gone.
        """
        code_fd = os.memfd_create("code")
        read_end, write_end = os.pipe()
        try:
            os.write(code_fd, code)
            lines = "\0".join([cwd, *(f"{key}={value}" for key, value in environment.items())])
            try:
                socket.send_fds(self._socket, [lines.encode()], [code_fd, out, err, write_end])
            except OSError as error:
                raise RuntimeError(f"the process that runs Python code is gone: {error}") from error
            os.close(write_end)
            write_end = -1
            return _await(read_end, timeout)
        finally:
            for fd in (code_fd, read_end, write_end):
                if fd >= 0:
                    os.close(fd)


def _await(status: int, timeout: float) -> int:
    """First the process's id comes, then its exit status."""
    pid, end = 0, time.monotonic() + timeout
    while True:
        ready, _, _ = select.select([status], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            if pid:
                _kill_group(pid)
            raise TimeoutError(f"still running after {timeout:g} seconds")
        data = os.read(status, _STATUS.size)
        if len(data) < _STATUS.size:  # killed together with its keeper, by a reset
            return -signal.SIGKILL
        (value,) = _STATUS.unpack(data)
        if pid:
            return int(value)
        pid = value


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _serve(requests: socket.socket, module: str, at_once: bool) -> None:
    """Fork a keeper for each request; the keeper forks the program and reports how it ended."""
    if at_once:
        importlib.import_module(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        message, fds, _, _ = socket.recv_fds(requests, _LONGEST, 4)
        if not message:
            return
        if module not in sys.modules:
            with contextlib.suppress(ImportError):  # the program will meet the same error, and report it
                importlib.import_module(module)
        if os.fork() == 0:
            requests.close()
            try:
                _keep(message, *fds)
            finally:
                os._exit(1)
        for fd in fds:
            os.close(fd)


def _keep(message: bytes, code_fd: int, out: int, err: int, status: int) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.close(status)
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (out, 1), (err, 2)):
            os.dup2(source, target)
        os.set_inheritable(1, True)
        code = os.pread(code_fd, os.fstat(code_fd).st_size, 0)
        for fd in (null, out, err, code_fd):
            os.close(fd)
        os._exit(_program(message.decode(), code))
    os.write(status, _STATUS.pack(pid))
    _, how = os.waitpid(pid, 0)
    os.write(status, _STATUS.pack(os.waitstatus_to_exitcode(how)))
    os._exit(0)


def _program(setting: str, code: bytes) -> int:
    """Run the code as ``python -c`` would and return its exit status."""
    cwd, *variables = setting.split("\0")
    os.environ.clear()
    for name, _, value in (variable.partition("=") for variable in variables):
        os.environ[name] = value
    sys.argv, sys.path[0:0] = ["-c"], [""]
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    status = 0
    try:
        os.chdir(cwd)
        exec(compile(code, "<string>", "exec"), main.__dict__)  # nosec B102 # an agent's code, inside the guest
    except SystemExit as request:
        if request.code is not None and not isinstance(request.code, int):
            print(request.code, file=sys.stderr)
        status = request.code if isinstance(request.code, int) else int(request.code is not None)
    except BaseException:
        kind, error, trace = sys.exc_info()
        while trace is not None and trace.tb_frame.f_globals is not main.__dict__:
            trace = trace.tb_next
        traceback.print_exception(kind, error, trace)
        status = 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            status = status or 1
    return status & 0xFF
