"""Reading of untrusted files: regular files only, up to a limit."""

import errno
import os
import stat

__all__ = ["read_plain"]


def read_plain(path: str | os.PathLike[str], most: int) -> bytes:
    """The first bytes of a regular file.

    Pipes and devices, and links to them, are refused: a pipe would wait for a writer, and a device may never end.

    Args:
        path: The file; links are followed.
        most: Maximum bytes. One more than needed shows whether the file is longer.

    Raises:
        OSError: The file cannot be read, or is not a regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(most)
    finally:
        os.close(descriptor)
