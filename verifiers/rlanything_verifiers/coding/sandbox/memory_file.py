"""Files in memory, which a worker gets as descriptors: inputs, sources and executables."""

import fcntl
import os

_MFD_EXEC = 0x10  # linux/memfd.h; kernels before 6.3 refuse it and need none
_MFD = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING


def sealed(data: bytes) -> int:
    """An immutable file in memory, with its position at the start."""
    fd = os.memfd_create("input", _MFD)
    try:
        done = 0
        while done < len(data):
            done += os.pwrite(fd, memoryview(data)[done:], done)
        seal(fd)
    except BaseException:
        os.close(fd)
        raise
    return fd


def executable() -> int:
    """An empty file in memory that can be started."""
    try:
        return os.memfd_create("main", _MFD | _MFD_EXEC)
    except OSError:
        return os.memfd_create("main", _MFD)


def seal(fd: int) -> None:
    """Make a file in memory immutable."""
    seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
