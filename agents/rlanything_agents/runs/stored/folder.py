"""Reader of files in an untrusted run folder: no file outside it, none of unbounded size, none that blocks."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from rlanything_agents.runs.storage import RunFolderError

__all__ = ["SafeFolder"]

MAX_JSON = 64 << 20
"""Largest JSON file read, in bytes; the stage of an evaluation of 100,000 episodes has 0.5 MB."""

_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,120}")


class SafeFolder:
    """Reads regular files below a folder; symbolic links are not followed, so no path leaves the folder.

    Args:
        root: The folder, which may itself be a link.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def open(self, name: str) -> BinaryIO:
        """Open a regular file by its name, with slashes between folders.

        Raises:
            FileNotFoundError: The file does not exist.
            RunFolderError: The name is not valid, or is not that of a regular file inside the folder.
        """
        *folders, last = name.split("/")
        try:
            with self._entered(folders) as folder:
                if not _PART.fullmatch(last):
                    raise RunFolderError(f"{name!r:.80} is not a name of a file in a run folder")
                # O_NONBLOCK: opening a named pipe must not wait for its writer.
                file = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise RunFolderError(f"{name} is not a plain file of this run: {error.strerror}") from None
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise RunFolderError(f"{name} is not a plain file of this run: it is not a regular file")
        return os.fdopen(file, "rb")

    def read(self, name: str, limit: int) -> bytes:
        """Read the content of a file.

        Raises:
            FileNotFoundError, RunFolderError: See `open`.
            RunFolderError: The file is larger than ``limit`` bytes.
        """
        with self.open(name) as file:
            content = file.read(limit + 1)
        if len(content) > limit:
            raise RunFolderError(f"{name} is larger than {limit >> 20} MiB and is not shown")
        return content

    def json(self, name: str) -> dict[str, Any]:
        """Read the JSON object of a file; empty where the file does not exist.

        Raises:
            RunFolderError: The file cannot be read (see `read`), or does not hold a JSON object.
        """
        try:
            value = json.loads(self.read(name, MAX_JSON))
        except FileNotFoundError:
            return {}
        except (ValueError, RecursionError) as error:
            if isinstance(error, RunFolderError):
                raise
            raise RunFolderError(f"{name} is not JSON ({str(error)[:80]})") from None
        if not isinstance(value, dict):
            raise RunFolderError(f"{name} does not hold a JSON object")
        return value

    def names(self, folder: str, pattern: re.Pattern[str]) -> list[str]:
        """Sorted names in a folder that match a pattern fully; none where the folder is missing or a link."""
        try:
            with self._entered(folder.split("/")) as inner:
                return sorted(name for name in os.listdir(inner) if pattern.fullmatch(name))  # noqa: PTH208 (a descriptor)
        except (OSError, RunFolderError):
            return []

    @contextmanager
    def _entered(self, parts: Sequence[str]) -> Iterator[int]:
        """Descriptor of a folder below the root, opened component by component without following links."""
        folder = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in parts:
                if not _PART.fullmatch(part):
                    raise RunFolderError(f"{part!r:.80} is not a name of a folder in a run folder")
                inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
                os.close(folder)
                folder = inner
            yield folder
        finally:
            os.close(folder)

    def mark(self, name: str) -> tuple[int, int]:
        """Time of the last change in nanoseconds, and size in bytes, of a file or folder; zeros where it is missing."""
        try:
            status = os.lstat(self.root / name)
        except OSError:
            return 0, 0
        return status.st_mtime_ns, status.st_size
