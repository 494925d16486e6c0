"""Temporary directories that do not pile up, even where their owners were killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

__all__ = ["Scratch"]

_PREFIX = "rlanything-desktop-"
_YOUNG_SECONDS = 60.0
"""A directory younger than this may not have been locked yet."""


class Scratch:
    """A private directory, locked for as long as this process lives or until `remove`.

    Args:
        parent: where it is made; else where temporary files go. Directories that killed processes left there go first.
    """

    def __init__(self, parent: str | None = None) -> None:
        place = Path(parent or tempfile.gettempdir())
        _sweep(place)
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Delete the directory with its contents; may be called twice."""
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


def _sweep(place: Path) -> None:
    """Delete directories that no process has locked."""
    for folder in place.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # another user's, locked, or deleted in between
            if time.time() - folder.stat().st_mtime < _YOUNG_SECONDS:
                continue
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
