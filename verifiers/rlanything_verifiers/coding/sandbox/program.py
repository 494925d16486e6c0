"""The process of one test, from the fork to the end, in which untrusted code runs."""

from __future__ import annotations

import _sitebuiltins
import _thread
import builtins
import ctypes
import math
import os
import resource
import signal
import sys
from types import CodeType, ModuleType

from . import libc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_exit = os._exit  # a program may put its own into `os`
_STAND_INS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}


def run(
    code: CodeType,
    stdio: list[int],
    cpu: float,
    memory: int,
    server: int,
    filters: ctypes.Structure | None,
    stand_ins: bool,
) -> NoReturn:
    """Run a program on an input; never returns.

    Nothing may leave this function: an exception would unwind into a second server.
    """
    status = 1
    try:
        lock(stdio, cpu, server, filters)
        _furnish(memory, stand_ins)
        status = _execute(code)
    finally:
        _exit(status)


def lock(stdio: list[int], cpu: float, server: int, filters: ctypes.Structure | None, image: int | None = None) -> None:
    """Drop all rights that a test does not need.

    Args:
        stdio: Descriptors to be standard input, output and error.
        cpu: Processor time in seconds.
        server: The process that started it, and with which it ends.
        filters: Filter of the system calls it keeps.
        image: A further descriptor to keep, as number 3 and until something else is started.
    """
    for number, fd in enumerate(stdio):
        os.dup2(fd, number)
    if image is not None:
        if image != 3:
            os.dup2(image, 3)
        os.set_inheritable(3, False)
    os.closerange(3 if image is None else 4, 1 << 20)
    # A backstop; the server ends it at the exact time. The kernel counts ticks here, which may be a tenth too many.
    seconds = 2 * math.ceil(cpu)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    libc.prctl(libc.PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != server:
        _exit(1)
    if filters is not None and libc.prctl(libc.PR_SET_SECCOMP, 2, ctypes.byref(filters), 0, 0):
        _exit(1)
    if filters is None:
        os.setpgid(0, 0)


def _furnish(memory: int, stand_ins: bool) -> None:
    """Prepare the environment of ``python main.py``: the names that `site` adds, and thread stacks that fit."""
    builtins.exit = _sitebuiltins.Quitter("exit", "Ctrl-D (i.e. EOF)")
    builtins.quit = _sitebuiltins.Quitter("quit", "Ctrl-D (i.e. EOF)")
    sys.argv[:] = ["main.py"]
    sys.orig_argv[:] = [sys.executable, "main.py"]
    if "random" in sys.modules:
        sys.modules["random"].seed(0)  # runs of a program repeat
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(0)
    if "threading" in sys.modules:
        most, real = memory // 2, _thread.stack_size

        def stack_size(size: int = 0, /) -> int:
            return real(min(size, most))

        sys.modules["threading"].stack_size = stack_size  # type: ignore[attr-defined]
    if stand_ins:
        plain = builtins.open

        def open_(file, *args, **kwargs):  # type: ignore[no-untyped-def]
            if isinstance(file, str) and file in _STAND_INS:
                file = os.dup(_STAND_INS[file])
            return plain(file, *args, **kwargs)

        builtins.open = open_


def _execute(code: CodeType) -> int:
    main = ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __file__="main.py")
    sys.modules["__main__"] = main
    status = 0
    try:
        exec(code, main.__dict__)  # nosec B102 # the program that is judged, inside the sandbox
    except SystemExit as stop:
        status = _exit_code(stop.code)
    except BaseException as error:
        status = 1
        _report(error)
    return _finish(main, status)


def _exit_code(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def _report(error: BaseException) -> None:
    try:
        trace = error.__traceback__
        error.__traceback__ = trace and trace.tb_next  # without the frame of this file
        sys.excepthook(type(error), error, error.__traceback__)
    except BaseException:
        os.write(2, type(error).__name__.encode("ascii", "replace") + b"\n")


def _finish(main: ModuleType, status: int) -> int:
    """Finish like the interpreter: wait for threads, call exit functions, flush."""
    try:
        if "threading" in sys.modules:
            sys.modules["threading"]._shutdown()
        if "atexit" in sys.modules:
            sys.modules["atexit"]._run_exitfuncs()
    except SystemExit as stop:
        status = _exit_code(stop.code)
    except BaseException as error:
        status = 1
        _report(error)
    files = [value for value in main.__dict__.values() if type(value).__module__ == "_io"]
    for file in (*files, sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            if file is not None and not getattr(file, "closed", False) and hasattr(file, "flush"):
                file.flush()
        except BaseException as error:
            if status == 0:
                status = 120  # as Python has it
                _report(error)
    return status
