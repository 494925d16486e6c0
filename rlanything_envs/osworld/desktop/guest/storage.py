"""Files of the desktop, read and written with its user's rights: whatever path is named, nothing else is reached."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

__all__ = ["LARGEST_FILE", "Refusal", "read", "store", "tree"]

LARGEST_FILE = 1 << 28
"""Bytes of a file that is sent; an agent can make one of any size at no cost."""
_PIECE = 1 << 20
_MOST_ENTRIES = 100_000


class Refusal(ValueError):
    """The inside cannot do what a request asks for; ``endless`` where the content of a file was asked for, and a
    device, a pipe or something without end is in its place."""

    def __init__(self, message: str, endless: bool = False) -> None:
        super().__init__(message)
        self.endless = endless


def read(path: Path, target: int) -> int:
    """Copy a file to a file descriptor; returns its size.

    Raises:
        OSError: there is no such file, or it may not be read.
        Refusal: it is a device, a pipe, or larger than `LARGEST_FILE`.
    """
    source = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        status = os.fstat(source)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(f"{path} is a directory")
        if not stat.S_ISREG(status.st_mode):
            raise Refusal(f"{path} is a device or a pipe, not a file", endless=True)
        size = 0
        while piece := os.read(source, _PIECE):
            size += len(piece)
            if size > LARGEST_FILE or status.st_size > LARGEST_FILE:
                raise Refusal(f"{path} has more than {LARGEST_FILE} bytes", endless=True)
            os.write(target, piece)
        return size
    finally:
        os.close(source)


def store(path: Path, source: int) -> int:
    """Write what a file descriptor holds to a file, with the directories above it; returns its size.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    size = os.fstat(source).st_size
    with path.open("wb") as target:
        for place in range(0, size, _PIECE):
            target.write(os.pread(source, _PIECE, place))
    return size


def tree(folder: Path) -> dict[str, Any]:
    """A directory and everything below it as ``{type, name, children}``.

    Raises:
        OSError: there is no such directory, or it may not be read.
        Refusal: it has more than `_MOST_ENTRIES` entries.
    """
    if not folder.is_dir():
        raise NotADirectoryError(f"no such directory: {folder}")
    entries = 0

    def walk(folder: Path) -> dict[str, Any]:
        nonlocal entries
        children = []
        for entry in sorted(folder.iterdir()):
            entries += 1
            if entries > _MOST_ENTRIES:
                raise Refusal(f"{folder} has more than {_MOST_ENTRIES} entries", endless=True)
            if entry.is_dir() and not entry.is_symlink():
                children.append(walk(entry))
            else:
                children.append({"type": "file", "name": entry.name})
        return {"type": "directory", "name": folder.name, "children": children}

    return walk(folder)
