"""A file system in memory: folders, files and permission bits, with a fixed amount of room."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ["HOME", "Disk", "DiskError", "File", "Folder"]

HOME = "/home/user"
_FOLDERS = ("Desktop", "Documents", "Downloads", "Music", "Pictures", "Public", "Templates", "Videos")

_MOST_BYTES = 64 << 20
_MOST_ENTRIES = 5000
_LONGEST_NAME = 255
_DEEPEST = 40
"""Size of the disk, a bound on an agent's files, since they are in the memory of the training machine."""


class DiskError(OSError):
    """A failed file operation; the message has the wording of the C library.

    Attributes:
        reason: ``"No such file or directory"`` and the like, without the path.
    """

    def __init__(self, reason: str, path: str) -> None:
        super().__init__(f"{reason}: {path!r}")
        self.reason = reason


@dataclass(slots=True)
class File:
    """A file: its bytes and permission bits."""

    data: bytes = b""
    mode: int = 0o644


@dataclass(slots=True)
class Folder:
    """A folder: its entries by name."""

    entries: dict[str, File | Folder] = field(default_factory=dict)
    mode: int = 0o755


class Disk:
    """The files of one desktop, with a user's home.

    Paths are absolute texts; `absolute` makes one of what people write. All methods that change something raise
    `DiskError` when it cannot be done, and then nothing has changed.
    """

    def __init__(self) -> None:
        self._root = Folder()
        for path in ("/tmp", *(f"{HOME}/{name}" for name in _FOLDERS)):
            self.make_folder(path, parents=True)

    @staticmethod
    def absolute(path: str, base: str = HOME) -> str:
        """A path without ``.``, ``..`` and ``~``; a relative one starts at ``base``."""
        if path == "~" or path.startswith("~/"):
            path = HOME + path[1:]
        path = path.replace("${HOME}", HOME).replace("$HOME", HOME)
        return "/" + posixpath.normpath(posixpath.join(base, path)).lstrip("/")

    def find(self, path: str) -> File | Folder | None:
        """The file or folder at a path; None where there is none."""
        node: File | Folder | None = self._root
        for name in _parts(path):
            if not isinstance(node, Folder):
                return None
            node = node.entries.get(name)
        return node

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder."""
        return isinstance(self.find(path), Folder)

    def is_file(self, path: str) -> bool:
        """Whether there is a file."""
        return isinstance(self.find(path), File)

    def names(self, path: str) -> list[str]:
        """Names in a folder, sorted by code point."""
        return sorted(self._folder(path).entries)

    def read(self, path: str) -> bytes:
        """The bytes of a file."""
        node = self.find(path)
        if isinstance(node, Folder):
            raise DiskError("Is a directory", path)
        if node is None:
            raise DiskError("No such file or directory", path)
        return node.data

    def write(self, path: str, data: bytes, parents: bool = False) -> None:
        """Write a file, replacing its content; its permission bits are kept."""
        if parents and posixpath.dirname(path) != "/":
            self.make_folder(posixpath.dirname(path), parents=True)
        folder, name = self._place(path)
        old = folder.entries.get(name)
        if isinstance(old, Folder):
            raise DiskError("Is a directory", path)
        if old is not None and not old.mode & 0o200:
            raise DiskError("Permission denied", path)
        self._need_room(path, len(data) - (len(old.data) if old else 0), 0 if old else 1)
        if old is None:
            folder.entries[name] = File(data)
        else:
            old.data = data

    def make_folder(self, path: str, parents: bool = False) -> None:
        """Make a folder; with ``parents`` those above it too, and none of them is an error where it exists."""
        if parents:
            done = ""
            for name in _parts(path):
                done += f"/{name}"
                if not self.is_folder(done):
                    self.make_folder(done)
            return
        folder, name = self._place(path)
        if name in folder.entries:
            raise DiskError("File exists", path)
        self._need_room(path, 0, 1)
        folder.entries[name] = Folder()

    def remove(self, path: str) -> None:
        """Delete a file, or a folder with everything in it."""
        folder, name = self._place(path)
        if name not in folder.entries:
            raise DiskError("No such file or directory", path)
        del folder.entries[name]

    def move(self, source: str, target: str) -> None:
        """Give a file or folder another path; a file that is there is replaced."""
        node = self._need(source)
        if (target + "/").startswith(source + "/") and target != source:
            raise DiskError("Invalid argument", target)
        folder, name = self._place(target)
        self._check_replaced(folder.entries.get(name), node, target)
        self._check_depth(node, target)
        if source != target:
            old, old_name = self._place(source)
            del old.entries[old_name]
            folder.entries[name] = node

    def copy(self, source: str, target: str) -> None:
        """Copy a file, or a folder with everything in it."""
        node = self._need(source)
        if (target + "/").startswith(source + "/"):
            raise DiskError("Invalid argument", target)
        folder, name = self._place(target)
        self._check_replaced(folder.entries.get(name), node, target)
        self._check_depth(node, target)
        size, count = _extent(node)
        self._need_room(target, size, count)
        folder.entries[name] = _copied(node)

    def tree(self, path: str) -> dict[str, Any]:
        """A folder and everything below it as ``{type, name, children}``."""
        return _tree(path.rpartition("/")[2], self._folder(path))

    def walk(self, path: str) -> Iterator[str]:
        """A path and all paths below it, folders before their contents."""
        node = self._need(path)
        yield path
        if isinstance(node, Folder):
            for name in sorted(node.entries):
                yield from self.walk(f"{path.rstrip('/')}/{name}")

    def _need(self, path: str) -> File | Folder:
        node = self.find(path)
        if node is None:
            raise DiskError("No such file or directory", path)
        return node

    def _folder(self, path: str) -> Folder:
        node = self._need(path)
        if not isinstance(node, Folder):
            raise DiskError("Not a directory", path)
        return node

    def _place(self, path: str) -> tuple[Folder, str]:
        """The folder a path is in, and its name there."""
        parts = _parts(path)
        if not parts:
            raise DiskError("Device or resource busy", path)
        if len(parts) > _DEEPEST or len(parts[-1].encode(errors="replace")) > _LONGEST_NAME:
            raise DiskError("File name too long", path)
        if "\0" in path:
            raise DiskError("Invalid argument", path)
        return self._folder("/" + "/".join(parts[:-1])), parts[-1]

    def _need_room(self, path: str, size: int, count: int) -> None:
        used, entries = _extent(self._root)
        if used + size > _MOST_BYTES or entries + count > _MOST_ENTRIES:
            raise DiskError("No space left on device", path)

    @staticmethod
    def _check_replaced(old: File | Folder | None, new: File | Folder, path: str) -> None:
        if old is None or old is new:
            return
        if isinstance(old, Folder):
            if isinstance(new, File):
                raise DiskError("Is a directory", path)
            if old.entries:
                raise DiskError("Directory not empty", path)
        elif isinstance(new, Folder):
            raise DiskError("Not a directory", path)

    @staticmethod
    def _check_depth(node: File | Folder, target: str) -> None:
        if len(_parts(target)) + _depth(node) > _DEEPEST:
            raise DiskError("File name too long", target)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _extent(node: File | Folder) -> tuple[int, int]:
    """Bytes and entries of a node with everything in it."""
    if isinstance(node, File):
        return len(node.data), 1
    size, count = 0, 1
    for child in node.entries.values():
        more, entries = _extent(child)
        size, count = size + more, count + entries
    return size, count


def _depth(node: File | Folder) -> int:
    return 1 + max(map(_depth, node.entries.values()), default=0) if isinstance(node, Folder) else 0


def _copied(node: File | Folder) -> File | Folder:
    if isinstance(node, File):
        return File(node.data, node.mode)
    return Folder({name: _copied(child) for name, child in node.entries.items()}, node.mode)


def _tree(name: str, folder: Folder) -> dict[str, Any]:
    children = []
    for child_name in sorted(folder.entries):
        child = folder.entries[child_name]
        children.append(_tree(child_name, child) if isinstance(child, Folder) else {"type": "file", "name": child_name})
    return {"type": "directory", "name": name, "children": children}
