"""The server in a compile worker: it runs the compiler on one program after the other, each in an empty scratch."""

# ruff: noqa: PTH107, PTH208

from __future__ import annotations

import ctypes
import os
import resource
from contextlib import suppress

from . import libc, messages
from .messages import Socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    Calls = list[list[str]]

#: Processor time of one call in seconds, and memory, for each of the compiler's processes: the largest standard header
#: takes 2 s and 300 MiB.
CPU = 20
_MEMORY = 2 << 30
#: Largest file in bytes: objects, executables and messages.
FILE = 64 << 20
_SOURCE, _RESULT = "main.cpp", "main"


def serve(
    control: Socket, scratch: str, calls: Calls, environment: dict[str, str], filters: ctypes.Structure | None
) -> NoReturn:
    """Compile the sources that arrive; never returns."""
    os.chdir(scratch)
    while True:
        try:
            kind, _, fds = messages.receive(control)
        except OSError:
            os._exit(0)
        if kind != messages.COMPILE:
            os._exit(0 if not kind else 1)
        child = os.fork()
        if child == 0:
            _build(fds, calls, environment, filters)
        for fd in fds:
            os.close(fd)
        _, status = os.waitpid(child, 0)
        for name in os.listdir("."):
            with suppress(OSError):
                os.remove(name)
        with suppress(OSError):
            messages.send(control, messages.BUILT, messages.STATUS.pack(status))


def _build(fds: list[int], calls: Calls, environment: dict[str, str], filters: ctypes.Structure | None) -> NoReturn:
    """Build an executable; exit code 0 for success, 1 if the compiler refused the source, 2 if the worker failed."""
    code = 2
    try:
        source, result, errors = fds
        null = os.open("/dev/null", os.O_RDWR)
        for number, fd in enumerate((null, errors, errors)):
            os.dup2(fd, number)
        _copy(source, os.open(_SOURCE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU + 1))
        if filters is not None and libc.prctl(libc.PR_SET_SECCOMP, 2, ctypes.byref(filters), 0, 0):
            os._exit(2)
        for call in calls:
            child = os.fork()
            if child == 0:
                try:
                    os.closerange(3, 1 << 20)
                    os.execve(call[0], call, environment)  # nosec B606 # the compiler, with our own words
                finally:
                    os._exit(127)
            _, status = os.waitpid(child, 0)
            if status:
                os._exit(2 if os.waitstatus_to_exitcode(status) == 127 else 1)
        _copy(os.open(_RESULT, os.O_RDONLY | os.O_NOFOLLOW), result)
        code = 0
    finally:
        os._exit(code)


def _copy(source: int, target: int) -> None:
    left = os.fstat(source).st_size
    place = 0
    while left > place:
        place += os.sendfile(target, source, place, left - place)
    os.close(target)
