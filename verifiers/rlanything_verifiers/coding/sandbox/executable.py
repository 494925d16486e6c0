"""The server of one compiled submission: it starts the executable, in its own process, on each input."""

from __future__ import annotations

import ctypes
import errno
import gc
import os
import signal
import struct

from . import libc, messages, program, seccomp, submission, syscalls
from .messages import Socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_AT_EMPTY_PATH = 0x1000
_PT_LOAD = 1  # elf.h
_TABLE = 1 << 16  # bytes read of a table of segments; a linker makes some ten, of 56 bytes each
_IMAGE = 3  # its descriptor in the child, closed by the start


def serve(control: Socket, image: int, memory: int, output: int, listener: int | None, *, protected: bool) -> NoReturn:
    """Run the inputs that arrive; never returns, the process ends with the submission."""
    code = 1
    try:
        libc.prctl(libc.PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        # The filter lets through only the start that knows the secret, which is in no memory that the program has.
        secret = int.from_bytes(os.urandom(8), "little")
        filters = seccomp.Started(syscalls.machine(), _IMAGE, _AT_EMPTY_PATH, secret) if protected else None
        submission.bound(memory, output)
        size = _size(image)
        gc.freeze()
        messages.send(control, messages.READY)

        def start(stdio: list[int], cpu: float, server: int) -> NoReturn:
            _start(image, stdio, cpu, server, filters, secret, None if size <= memory else size)

        submission.run(control, start, listener, own_children=protected)
        code = 0
    except OSError:  # the judge is gone
        code = 0
    finally:
        os._exit(code)


def _size(image: int) -> int:
    """Address space in bytes which an executable takes before it runs: its segments, as its header lists them."""
    head = os.pread(image, 64, 0)
    try:
        place, size, number = struct.unpack_from("<Q14xHH", head, 32)
        table = os.pread(image, min(size * number, _TABLE), place)
        segments = [struct.unpack_from("<I36xQ", table, i * size) for i in range(number)]
    except (struct.error, OSError, OverflowError):
        return 0  # the kernel will refuse it
    return sum(memory for kind, memory in segments if kind == _PT_LOAD)


def _start(
    image: int,
    stdio: list[int],
    cpu: float,
    server: int,
    filters: seccomp.Started | None,
    secret: int,
    too_large: int | None,
) -> NoReturn:
    try:
        own = seccomp.prepared(filters.of(os.getpid())) if filters is not None else None
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores
            signal.signal(number, signal.SIG_DFL)
        program.lock(stdio, cpu, server, own, image)
        if too_large is not None:  # the kernel would end it with a signal that says nothing
            os.write(2, f"MemoryError: the program takes {too_large} bytes before it starts\n".encode())
            os._exit(1)
        call = syscalls.machine().number["execveat"]
        words = (ctypes.c_char_p * 2)(b"main", None)
        low, high = secret & 0xFFFFFFFF, secret >> 32
        with_secret = ctypes.c_ulong(_IMAGE | low << 32), ctypes.c_ulong(_AT_EMPTY_PATH | high << 32)
        nothing, path = (ctypes.c_char_p * 1)(None), ctypes.c_char_p(b"")
        try:
            libc.syscall("execveat", call, with_secret[0], path, words, nothing, with_secret[1])
        except OSError as error:
            why = "MemoryError" if error.errno in (errno.ENOMEM, errno.E2BIG) else "it does not start"
            os.write(2, f"{why}: {error}\n".encode())
    finally:
        os._exit(1)
