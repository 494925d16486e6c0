"""Atomic writes to a disk that may be full, read-only or broken; a failed write is a typed error with a remedy."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

__all__ = [
    "TRY_LATER",
    "RunFolderError",
    "StorageError",
    "failing_disk",
    "replacing",
    "storing",
    "sync_folder",
    "write_atomically",
]

TRY_LATER = 75
"""Exit code where infrastructure has failed, such as a disk or a service (``EX_TEMPFAIL`` of sysexits.h)."""

MORE_ROOM = "make room there"
_REMEDIES = {
    errno.ENOSPC: MORE_ROOM,
    errno.EDQUOT: MORE_ROOM,
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EROFS: "make the file system writable",
    errno.EACCES: "give this user the right to write there",
    errno.EPERM: "give this user the right to write there",
    errno.EIO: "look at the disk: it fails",
}
_SQLITE = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
}
_TORCH = ("PytorchStreamWriter", "inline_container")
"""Marks of torch's messages about a file that it cannot write; they do not name the cause."""


class RunFolderError(ValueError):
    """A folder of a run cannot be used as requested; the message says which file and what to do."""


class StorageError(RuntimeError, OSError):
    """A write has failed; the message names the place, the cause and the remedy. Files that were complete before are
    unchanged."""

    exit_code = TRY_LATER


@contextmanager
def storing(place: Path) -> Iterator[None]:
    """Turn failed writes within the block into `StorageError`.

    Args:
        place: The file or folder that is written.

    Raises:
        StorageError: The disk is full, read-only or broken, or a limit or a permission forbids the write. Any other
            error is raised unchanged.
    """
    try:
        yield
    except StorageError:
        raise
    except Exception as error:
        if (cause := _cause(error)) is None:
            raise
        reason, remedy = cause
        raise StorageError(f"{place} cannot be written ({reason}): {remedy}") from error


def failing_disk(error: BaseException) -> str | None:
    """The line about a disk that is full, read-only or broken, or about a permission; None for any other error."""
    if (cause := _cause(error)) is None:
        return None
    reason, remedy = cause
    place = getattr(error, "filename", None) or ("a database" if isinstance(error, sqlite3.Error) else "a file")
    return f"{place} cannot be used ({reason}): {remedy}; the same command resumes"


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write; ``path`` holds either its old content or all that was written, even after a power cut.

    Raises:
        StorageError: The file cannot be written; the old content stays.
    """
    scratch = path.with_name(f"{path.name}.{os.getpid()}.part")
    with storing(path):
        try:
            with scratch.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            scratch.replace(path)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise


def write_atomically(path: Path, text: str) -> None:
    """Write the whole of a file, as `replacing` does."""
    with replacing(path) as file:
        file.write(text.encode())


def sync_folder(folder: Path) -> None:
    """Sync the directory entries of a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _cause(error: BaseException) -> tuple[str, str] | None:
    """Reason and remedy of a failed write; None for any other error."""
    number: int | None = None
    if isinstance(error, sqlite3.Error):
        number = _SQLITE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
    elif isinstance(error, OSError):
        number = error.errno
    else:  # safetensors quotes the system's message
        number = next((known for known in _REMEDIES if os.strerror(known) in str(error)), None)
    if number in _REMEDIES:
        return os.strerror(number) if not isinstance(error, sqlite3.Error) else str(error), _REMEDIES[number]
    if isinstance(error, RuntimeError) and any(mark in str(error) for mark in _TORCH):
        return str(error).partition("\n")[0][:200], f"{MORE_ROOM}, or {_REMEDIES[errno.EROFS]}"
    return None
