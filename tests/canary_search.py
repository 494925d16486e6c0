"""Finds markers in anything: texts, bytes, pictures, archives, objects, and texts that were encoded, cut or split."""

from __future__ import annotations

import base64
import binascii
import gzip
import html
import io
import re
import urllib.parse
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

MOST = 50_000_000
"""Most bytes that an archive may grow to."""
_RUN = re.compile(r"[A-Za-z0-9+/_=-]{12,}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){6,}")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})|\\([0-7]{3})|\\([nrt\"'/\\])")


def found_in(value: Any, markers: Iterable[str]) -> set[str]:
    """The markers that occur in a value, in whatever form a reader could take them out of.

    Args:
        value: Anything; objects are searched by their fields.
        markers: Words of small letters and digits.
    """
    wanted, found = set(markers), set[str]()
    by_field: dict[str, list[str]] = {}
    for field, leaf in _leaves(value, "", set()):
        by_field.setdefault(field, []).append(leaf if isinstance(leaf, str) else leaf.decode("latin-1"))
        for text in _decoded(leaf) if isinstance(leaf, str) else _of_bytes(leaf):
            found |= {marker for marker in wanted if marker in _plain(text)}
    for texts in by_field.values():  # split among the messages of a list
        joined = _plain("".join(texts))
        found |= {marker for marker in wanted if marker in joined}
    return found


def found_under(folder: Path, markers: Iterable[str], without: Iterable[str] = ()) -> dict[str, set[str]]:
    """The markers in each file below a folder, its name included; ``without`` are patterns of paths left out."""
    left_out = {path for pattern in without for path in folder.glob(pattern)}
    known: dict[bytes, set[str]] = {}
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not left_out & {path, *path.parents}:
            name, data = str(path.relative_to(folder)), path.read_bytes()
            if data not in known:
                known[data] = found_in(data, markers)
            if seen := known[data] | found_in(name, markers):
                found[name] = seen
    return found


def _plain(text: str) -> str:
    """Letters and digits alone: spaces, marks and line ends between the pieces of a marker do not hide it."""
    return "".join(filter(str.isalnum, text)).casefold()


def _leaves(value: Any, field: str, seen: set[int], depth: int = 12) -> Iterator[tuple[str, str | bytes]]:
    """All texts and bytes in a value, each with the name of its field."""
    if isinstance(value, str):
        yield field, value
    elif isinstance(value, bytes | bytearray | memoryview):
        yield field, bytes(value)
    elif value is None or isinstance(value, int | float | complex | type) or depth == 0 or id(value) in seen:
        return
    else:
        seen.add(id(value))
        for name, part in _parts(value):
            yield from _leaves(part, name or field, seen, depth - 1)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Parts of a value, with the names of its fields."""
    if isinstance(value, Mapping):
        yield from (("a key", key) for key in value)
        yield from ((str(key), item) for key, item in value.items())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from (("", item) for item in value)
    elif isinstance(value, BaseException):
        yield from (("", part) for part in (str(value), *value.args, value.__cause__))
    elif hasattr(value, "tobytes"):  # arrays and pictures
        yield "", value.tobytes()
    else:
        slots = {name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())}
        yield from ((name, getattr(value, name, None)) for name in sorted(slots))
        yield from getattr(value, "__dict__", {}).items()


def _decoded(text: str, depth: int = 3) -> Iterator[str]:
    """A text, and the texts that it holds in another writing."""
    yield text
    if depth == 0:
        return
    others = {_ESCAPE.sub(_unescaped, text), html.unescape(text), urllib.parse.unquote(text), text[::-1]} - {text}
    for other in others:
        yield from _decoded(other, depth - 1) if other != text[::-1] else [other]
    for run in _RUN.findall(text):
        for start in range(4):  # a run may begin with characters that do not belong to it
            yield from _of_base64(run[start:], depth - 1)
    for run in _HEX.findall(text):
        yield from _of_bytes(bytes.fromhex(run), depth - 1)


def _unescaped(match: re.Match[str]) -> str:
    four, two, octal, one = match.groups()
    if one is not None:
        return {"n": "\n", "r": "\r", "t": "\t"}.get(one, one)
    return chr(int(four or two, 16) if octal is None else int(octal, 8))


def _of_base64(run: str, depth: int) -> Iterator[str]:
    plain = run.translate(str.maketrans("-_", "+/")).rstrip("=")
    try:
        data = base64.b64decode(plain[: len(plain) // 4 * 4] + _rest(plain))
    except (binascii.Error, ValueError):
        return
    yield from _of_bytes(data, depth)


def _rest(run: str) -> str:
    """The last letters of a run, filled up."""
    rest = run[len(run) // 4 * 4 :]
    return "" if len(rest) < 2 else rest + "=" * (4 - len(rest))


def _of_bytes(data: bytes, depth: int = 3) -> Iterator[str]:
    """Texts in bytes: as they are, in the common encodings, and unpacked."""
    yield data.decode("latin-1")
    yield data.decode("utf-8", errors="ignore")
    if len(data) > 1 and b"\0" in data:
        for encoding in ("utf-16-le", "utf-16-be"):
            yield data.decode(encoding, errors="ignore")
    if depth == 0:
        return
    if data.isascii():
        yield from _decoded(data.decode(), depth - 1)
    for unpacked in _unpacked(data):
        yield from _of_bytes(unpacked, depth - 1)


def _unpacked(data: bytes) -> Iterator[bytes]:
    if data[:2] == b"\x1f\x8b":
        with gzip.open(io.BytesIO(data)) as file:
            yield file.read(MOST)
    if data[:1] == b"\x78":
        try:
            yield zlib.decompressobj().decompress(data, MOST)
        except zlib.error:
            return
    if data[:4] == b"PK\x03\x04" and zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                yield name.encode()
                with archive.open(name) as file:
                    yield file.read(MOST)
