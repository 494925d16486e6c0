"""Order of the versions of Debian packages."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["satisfies", "version_key"]

_RUNS = re.compile(r"([^0-9]*)([0-9]*)")
_END = ((0,), (0, ""))


def version_key(version: str) -> tuple[Any, ...]:
    """A key by which versions sort as dpkg sorts them."""
    epoch, colon, rest = version.partition(":")
    if not colon:
        epoch, rest = "0", version
    upstream, dash, revision = rest.rpartition("-")
    if not dash:
        upstream, revision = rest, "0"
    return _number(epoch), _part(upstream), _part(revision)


def _part(text: str) -> tuple[Any, ...]:
    """Alternately characters and a number. A tilde sorts before the end, this before letters, these before others."""
    runs = [((*map(_weight, word), 0), _number(digits)) for word, digits in _RUNS.findall(text) if word or digits]
    return (*runs, _END)


def _weight(character: str) -> int:
    return -1 if character == "~" else ord(character) if character.isalpha() else ord(character) + 0x110000


def _number(digits: str) -> tuple[int, str]:
    """A number of any length; `int` takes quadratic time."""
    plain = digits.lstrip("0")
    return len(plain), plain


def satisfies(version: str, relation: str, wanted: str) -> bool:
    """Whether a version meets a requirement, such as ``>= 2.36``."""
    have, want = version_key(version), version_key(wanted)
    return {"<<": have < want, "<=": have <= want, "=": have == want, ">=": have >= want, ">>": have > want}[relation]
