"""Archives: zip files and tar files, whatever they are compressed with."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.opening import MAX_MEMBERS, Package

__all__ = ["MAX_TAR", "members"]

MAX_TAR = 128 * 2**20
"""Bytes of a tar file, unpacked: it has to be held in memory as a whole."""

_MAX_HEADERS, _MAX_HEADER = 100, 16 * 2**10
"""Pax headers that hold for all members, since each gets a copy of them; bytes of those in one place."""

_STREAMS: Mapping[bytes, Callable[[io.BytesIO], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}


def members(file: File, folder: str = "") -> Mapping[str, File]:
    """The files below a folder of an archive, by their path from there.

    Raises:
        Unreadable, VerifierError: it is not an archive, or beyond the limits.
    """
    found = dict(Package(file)) if file.data[:2] == b"PK" else _tarred(file)
    base = PurePosixPath("/", folder)
    paths = {PurePosixPath("/", name): data for name, data in found.items()}
    return {
        str(path.relative_to(base)): File(path.name, data, file.reference)
        for path, data in paths.items()
        if path.is_relative_to(base)
    }


class _Member(tarfile.TarInfo):
    """A member whose pax headers are within the limits, and that is no sparse file: its map may be of any length."""

    def _proc_pax(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.size > _MAX_HEADER or len(archive.pax_headers) > _MAX_HEADERS:
            raise ValueError(f"pax headers of {self.size} bytes, {len(archive.pax_headers)} for all members")
        return super()._proc_pax(archive)  # type: ignore[misc, no-any-return]

    def _sparse(self, *_: Any) -> Any:
        raise ValueError("a sparse file")

    _proc_sparse = _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _sparse


def _tarred(file: File) -> dict[str, bytes]:
    with file.reading():
        data = file.data
        for magic, stream in _STREAMS.items():
            if data.startswith(magic):
                data = stream(io.BytesIO(data)).read(MAX_TAR + 1)
        if len(data) > MAX_TAR:
            raise file.refuse(f"more than {MAX_TAR} bytes unpacked")
        found, size = dict[str, bytes](), 0
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:", tarinfo=_Member) as archive:
            for number, member in enumerate(iter(archive.next, None)):
                archive.members.clear()  # type: ignore[attr-defined]  # else it holds all of them
                if number >= MAX_MEMBERS or len(archive.pax_headers) > _MAX_HEADERS:
                    raise file.refuse(f"more than {MAX_MEMBERS} members, or {_MAX_HEADERS} pax headers for all")
                if content := archive.extractfile(member) if member.isreg() else None:
                    if (size := size + member.size) > MAX_TAR:
                        raise file.refuse(f"more than {MAX_TAR} bytes unpacked")
                    found[member.name] = content.read()
        return found
