"""Python code run in fresh copies of a process that has loaded the modules it wants.

Starting an interpreter and loading ``pyautogui`` costs some 100 ms, a fork of one that has done so 2 ms. Each
program still gets a process, a ``__main__`` and a connection to X of its own, as ``python -c`` would give it: it
can neither see nor break what ran before it, and it can be killed.
"""

from __future__ import annotations

import os
import sys
import traceback
import types

__all__ = ["fork_program"]


def fork_program(code: bytes, cwd: str, out: int, err: int) -> int:
    """Start Python code in a copy of this process, in a new session; returns its process id.

    Args:
        code: the program; it sees this process's environment.
        cwd: its directory.
        out, err: file descriptors of its output.

    Raises:
        OSError: the system has no room for another process.
    """
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (out, 1), (err, 2)):
            os.dup2(source, target)
        os.closerange(3, 1 << 16)
        status = _program(code, cwd)
    finally:
        os._exit(status)


def _program(code: bytes, cwd: str) -> int:
    """Run the code as ``python -c`` would and return its exit status."""
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
