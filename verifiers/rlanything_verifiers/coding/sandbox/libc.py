"""The few calls to the kernel which Python's standard library lacks."""

import ctypes
import os

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38

#: ``prctl`` itself, without a check: for the child of a test, where every microsecond counts.
prctl = _LIBC.prctl


def call(name: str, *arguments: object) -> int:
    """Call a function of libc.

    Raises:
        OSError: It returned -1; the message names the function.
    """
    result: int = getattr(_LIBC, name)(*arguments)
    return _checked(name, result)


def syscall(name: str, number: int, *arguments: object) -> int:
    """Call the kernel by number; ``arguments`` as for `ctypes`, plain integers as machine words.

    Raises:
        OSError: The call failed; the message names it.
    """
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result: int = _LIBC.syscall(ctypes.c_long(number), *words)
    return _checked(name, result)


def _checked(name: str, result: int) -> int:
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result
