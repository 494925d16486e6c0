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
    found = _zipped(file) if file.data[:2] == b"PK" else _tarred(file)
    base = PurePosixPath("/", folder)
    paths = {PurePosixPath("/", name): data for name, data in found.items()}
    return {
        str(path.relative_to(base)): File(path.name, data, file.reference)
        for path, data in paths.items()
        if path.is_relative_to(base)
    }


def _zipped(file: File) -> dict[str, bytes]:
    package = Package(file)
    return {name: package[name] for name in package}


def _tarred(file: File) -> dict[str, bytes]:
    with file.reading():
        data = file.data
        for magic, stream in _STREAMS.items():
            if data.startswith(magic):
                data = stream(io.BytesIO(data)).read(MAX_TAR + 1)
        if len(data) > MAX_TAR:
            raise file.refuse(f"more than {MAX_TAR} bytes unpacked")
        found: dict[str, bytes] = {}
        size = 0
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in archive:
                if len(found) >= MAX_MEMBERS:
                    raise file.refuse(f"more than {MAX_MEMBERS} members")
                content = archive.extractfile(member) if member.isreg() else None
                if content is not None:
                    size += member.size  # of a sparse file it is what the holes stand for, not what lies here
                    if size > MAX_TAR:
                        raise file.refuse(f"more than {MAX_TAR} bytes unpacked")
                    found[member.name] = content.read()
        return found
