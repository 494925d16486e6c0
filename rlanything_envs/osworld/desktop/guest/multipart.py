"""``multipart/form-data`` (RFC 7578), which the standard library no longer reads."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Part", "parse_multipart"]

_BOUNDARY = re.compile(r'boundary=(?:"([^"]+)"|([^;\s]+))', re.IGNORECASE)
_NAME = re.compile(rb'[;\s]name="((?:[^"\\]|\\.)*)"', re.IGNORECASE)
_FILE_NAME = re.compile(rb'filename="((?:[^"\\]|\\.)*)"', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Part:
    """One field of a form; ``filename`` is None for a plain value."""

    name: str
    data: bytes
    filename: str | None = None


def parse_multipart(content_type: str, body: bytes) -> list[Part]:
    """Take a body apart.

    Raises:
        ValueError: no boundary, no end, or a part without a name.
    """
    found = _BOUNDARY.search(content_type)
    if found is None:
        raise ValueError("multipart without a boundary")
    line = b"--" + (found[1] or found[2]).encode("latin-1")
    # Every boundary but the first starts on its own line; a line end in front makes the first like the others.
    pieces = (b"\r\n" + body).split(b"\r\n" + line)
    if len(pieces) < 2 or not pieces[-1].startswith(b"--"):
        raise ValueError("multipart without its last boundary")
    return [_part(piece) for piece in pieces[1:-1]]


def _part(piece: bytes) -> Part:
    head, blank, data = piece.partition(b"\r\n\r\n")
    disposition = next((line for line in head.split(b"\r\n") if line.lower().startswith(b"content-disposition:")), b"")
    name, filename = _NAME.search(disposition), _FILE_NAME.search(disposition)
    if not blank or name is None:
        raise ValueError("a part of the form has no name")
    return Part(_text(name[1]), data, _text(filename[1]) if filename else None)


def _text(raw: bytes) -> str:
    return re.sub(rb"\\(.)", rb"\1", raw).decode(errors="replace")
