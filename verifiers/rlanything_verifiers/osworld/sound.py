"""Metadata of MP3 files."""

from __future__ import annotations

from rlanything_verifiers.osworld.file import File

__all__ = ["TAGS", "read_tags"]

TAGS = {
    "title": ("TIT2",),
    "artist": ("TPE1",),
    "album": ("TALB",),
    "albumartist": ("TPE2",),
    "composer": ("TCOM",),
    "date": ("TDRC", "TYER"),
    "genre": ("TCON",),
    "tracknumber": ("TRCK",),
}
"""Names of the texts, with those they have in the file."""

_CODECS = {0: "latin-1", 1: "utf-16", 2: "utf-16-be", 3: "utf-8"}


def read_tags(file: File) -> dict[str, str]:
    """The texts by name, of ID3 version 2.3 or 2.4, else of version 1; several values have a comma between them."""
    with file.reading():
        frames = _frames(file.data) if file.data.startswith(b"ID3") else {}
        found = {name: next((frames[key] for key in keys if key in frames), "") for name, keys in TAGS.items()}
        if (tail := file.data[-128:]).startswith(b"TAG") and len(tail) == 128:
            for name, place in (("title", 3), ("artist", 33), ("album", 63)):
                old = tail[place : place + 30].split(b"\0")[0].decode("latin-1").strip()
                found[name] = found[name] or old
        return {name: value for name, value in found.items() if value}


def _frames(data: bytes) -> dict[str, str]:
    version, flags = data[3], data[5]
    body = data[10 : 10 + _size(data[6:10], 7)]
    if flags & 0x80 and version < 4:
        body = body.replace(b"\xff\x00", b"\xff")
    at = 0
    if flags & 0x40:  # an extended header: of version 2.3 its size leaves itself out
        at = _size(body[:4], 7) if version == 4 else int.from_bytes(body[:4]) + 4
    found: dict[str, str] = {}
    while at + 10 <= len(body) and body[at] != 0:
        name, size = body[at : at + 4].decode("latin-1"), _size(body[at + 4 : at + 8], 7 if version == 4 else 8)
        content = body[at + 10 : at + 10 + size]
        if name.startswith("T") and content and content[0] in _CODECS:
            text = content[1:].decode(_CODECS[content[0]], errors="replace")
            found.setdefault(name, ",".join(part for part in text.split("\0") if part))
        at += 10 + size
    return found


def _size(data: bytes, bits: int) -> int:
    """A number of bytes with some bits each."""
    number = 0
    for byte in data:
        number = number << bits | byte
    return number
