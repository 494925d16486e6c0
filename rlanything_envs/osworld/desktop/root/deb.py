"""Packages unpacked without dpkg: an ``ar`` archive with a compressed ``tar`` archive in it.

A package's hash is checked before. Nothing is written outside of the folder all the same: names are made of plain
components, no component of a file's folder is a link, and every link ends inside.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from rlanything_envs.osworld.desktop.errors import DesktopError

__all__ = ["ar_members", "unpack"]

_MAGIC, _HEADER, _HEADER_END = b"!<arch>\n", 60, b"`\n"
_MERGED = frozenset({"bin", "sbin", "lib", "lib32", "lib64", "libx32"})
"""Folders that are links into ``usr``."""
_LEFT_OUT = frozenset({"doc", "doc-base", "gtk-doc", "help", "info", "lintian", "locale", "man"})
"""Folders of ``usr/share`` that nothing on the screen needs."""
_LONGEST_NAME = 4096
_OPENERS: dict[str, Callable[[IO[bytes]], Any]] = {
    "data.tar.xz": lzma.LZMAFile,
    "data.tar.gz": lambda file: gzip.GzipFile(fileobj=file),
    "data.tar.bz2": bz2.BZ2File,
    "data.tar": lambda file: file,
}


def ar_members(data: bytes) -> Iterator[tuple[str, memoryview]]:
    """Names and contents of an ``ar`` archive.

    Raises:
        ValueError: it is none.
    """
    if not data.startswith(_MAGIC):
        raise ValueError("no ar archive")
    view, place = memoryview(data), len(_MAGIC)
    while place < len(data):
        header = data[place : place + _HEADER]
        size = header[48:58].strip()
        if len(header) < _HEADER or not header.endswith(_HEADER_END) or not size.isdigit():
            raise ValueError("an ar archive with a damaged header")
        begin = place + _HEADER
        end = begin + int(size)
        if end > len(data):
            raise ValueError("an ar archive that has been cut off")
        yield header[:16].decode("ascii", "replace").rstrip().removesuffix("/"), view[begin:end]
        place = end + end % 2


def unpack(package: Path, root: Path) -> None:
    """Unpack the files of a package.

    Args:
        package: a file whose hash has been checked.
        root: the folder that is ``/`` to its names.

    Raises:
        DesktopError: it is damaged, or has what no package has.
    """
    try:
        for name, content in ar_members(package.read_bytes()):
            if name.startswith("data.tar"):
                if name not in _OPENERS:
                    raise ValueError(f"{name}, and this program reads {', '.join(_OPENERS)}")
                with tarfile.open(fileobj=_OPENERS[name](io.BytesIO(content)), mode="r|", bufsize=1 << 18) as tar:
                    writer = _Writer(root)
                    for member in tar:
                        writer.write(member, tar)
                return
        raise ValueError("a package without files")
    except (ValueError, EOFError, tarfile.TarError, lzma.LZMAError, OSError) as error:
        raise DesktopError(f"cannot unpack {package.name}: {error}") from error


class _Writer:
    """Writes members of an archive below a folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folders = {root}

    def write(self, member: tarfile.TarInfo, tar: tarfile.TarFile) -> None:
        parts = _parts(member.name)
        if not parts or (parts[:2] == ["usr", "share"] and len(parts) > 2 and parts[2] in _LEFT_OUT):
            return
        path = self._root.joinpath(*parts)
        if member.isdir():
            self._folder(path)
            return
        self._folder(path.parent)
        if os.path.lexists(path):
            raise ValueError(f"{member.name!r:.200} is there already")
        if member.isreg():
            with path.open("xb") as file:
                source = tar.extractfile(member)
                while source is not None and (block := source.read(1 << 20)):
                    file.write(block)
                os.fchmod(file.fileno(), 0o755 if member.mode & 0o111 else 0o644)
            os.utime(path, (member.mtime, member.mtime))
        elif member.issym():
            path.symlink_to(_target(member, parts))
        elif member.islnk():
            other = self._root.joinpath(*_parts(member.linkname))
            self._folder(other.parent)
            os.link(other, path, follow_symlinks=False)
        else:
            raise ValueError(f"{member.name!r:.200} is neither a file nor a folder nor a link")

    def _folder(self, path: Path) -> None:
        """Make a folder and those above it, none of them a link."""
        new = []
        while path not in self._folders:
            new.append(path)
            path = path.parent
        for folder in reversed(new):
            if not os.path.lexists(folder):
                folder.mkdir()
                folder.chmod(0o755)
            elif folder.is_symlink() or not folder.is_dir():
                raise ValueError(f"{str(folder.relative_to(self._root))!r:.200} is not a folder")
            self._folders.add(folder)


def _parts(name: str) -> list[str]:
    """The components of a name, below ``usr`` where that folder is merged."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts or "\0" in name or len(name) > _LONGEST_NAME:
        raise ValueError(f"{name!r:.200} is not a name below a folder")
    return ["usr", *parts] if parts and parts[0] in _MERGED else parts


def _target(member: tarfile.TarInfo, parts: list[str]) -> str:
    """What a symbolic link points to, relative to its own folder."""
    text = member.linkname
    above = len(parts) - 1
    if text.startswith("/"):
        text = "../" * above + text.lstrip("/")
    depth = above
    for part in text.split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
        if depth < 0:
            raise ValueError(f"the link {member.name!r:.200} leads out of the folder")
    return text
