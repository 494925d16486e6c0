"""Reading files of unknown origin: regular files alone, and only so much of them."""

import errno
import os
import stat

__all__ = ["read_plain"]


def read_plain(path: str | os.PathLike[str], most: int) -> bytes:
    """The first bytes of a regular file.

    A pipe would wait for a writer, and a device may never end: neither is read, nor a link to one.

    Args:
        path: The file; links are followed.
        most: How many bytes at most. Ask for one more than you take, to see that there is more.

    Raises:
        OSError: It cannot be read, or is no regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(most)
    finally:
        os.close(descriptor)
