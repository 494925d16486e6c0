"""Values of unknown origin, brought into a form that can be shown: finite numbers, readable texts, no surprises."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from rlanything_verifiers.plain_text import printable

__all__ = ["integer", "mapping", "number", "readable", "sequence"]

MAX_TEXT = 100_000
"""Characters of one text that are shown; a model's longest answers have about as many."""

_SEPARATOR = re.compile(r"\r?\n")
_PLAIN = re.compile(r"[ -~\n]*")
"""What needs no look letter by letter."""


def readable(value: object, limit: int = MAX_TEXT) -> str:
    """A text of several lines in which whatever a reader cannot see, or what reorders a line, is spelled out.

    Escape sequences, control characters and bidirectional overrides become ``\\x1b``, ``\\u202e``, ...; of a longer
    text the rest is counted. Anything but a text is empty.
    """
    if not isinstance(value, str):
        return ""
    rest = len(value) - limit
    text = value[:limit] if rest > 0 else value
    if not _PLAIN.fullmatch(text):
        lines = _SEPARATOR.split(text.expandtabs(4))
        text = "\n".join(printable(line, len(line) + 1) for line in lines)
    return f"{text}\n[{rest} more characters are not shown]" if rest > 0 else text


def number(value: object) -> float | None:
    """A finite number, or None. Truth values are no numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def integer(value: object, default: int = 0) -> int:
    """A whole number of at most 15 digits, or the default; a page cannot hold more exactly."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 10**15:
        return default
    return value


def mapping(value: object) -> Mapping[str, Any]:
    """A JSON object, or an empty one."""
    return value if isinstance(value, Mapping) else {}


def sequence(value: object, limit: int = 10_000) -> list[Any]:
    """The first entries of a JSON list, or none."""
    return value[:limit] if isinstance(value, list) else []
