"""Threads of a program whose user has other processes too: the kernel asks its server before each new one."""

# ruff: noqa: PTH116

import ctypes
import errno
import os
import struct

from . import libc, seccomp
from .syscalls import machine

#: Threads of one program; where a worker has its own user, threads and processes of the worker.
MOST = 72

# linux/seccomp.h
_SET_MODE_FILTER, _NEW_LISTENER = 1, 1 << 3
_RECEIVE, _SEND = 0xC0502100, 0xC0182101  # SECCOMP_IOCTL_NOTIF_RECV, _SEND
_CONTINUE = 1
_QUESTION = 80  # bytes of struct seccomp_notif, which begins with its number
_ANSWER = struct.Struct("QqiI")  # seccomp_notif_resp: number, result, error, flags
_LINKS = 2  # of a folder; /proc/PID/task has one more for each thread


def listener() -> int | None:
    """Have the kernel ask from now on before each new thread of this process and its children. Needs no_new_privs.

    Returns:
        The descriptor for `answer`. None where the kernel cannot ask: a container's manager may hold the listener, and
        without ``/proc`` threads cannot be counted.
    """
    try:
        if os.stat("/proc/self/task").st_nlink != _LINKS + 1:
            return None
        filters = seccomp.prepared(seccomp.new_threads(machine()))
        number = machine().number["seccomp"]
        return libc.syscall("seccomp", number, _SET_MODE_FILTER, _NEW_LISTENER, ctypes.byref(filters))
    except OSError:
        return None


def answer(listener: int, process: int) -> None:
    """Allow a process one more thread, or refuse it as the kernel does at a user's limit.

    Threads that are started at the same moment are counted when they run: there are at most twice `MOST`.
    """
    question = ctypes.create_string_buffer(_QUESTION)
    try:
        libc.call("ioctl", listener, ctypes.c_ulong(_RECEIVE), question)
        (number,) = struct.unpack_from("Q", question)
        more = os.stat(f"/proc/{process}/task").st_nlink - _LINKS < MOST
        reply = _ANSWER.pack(number, 0, *((0, _CONTINUE) if more else (-errno.EAGAIN, 0)))
        libc.call("ioctl", listener, ctypes.c_ulong(_SEND), reply)
    except OSError:  # the process has ended
        return
