"""Converts untrusted values to a form that can be shown: finite numbers, printable texts, bounded lists."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from rlanything_verifiers.plain_text import printable

__all__ = ["integer", "mapping", "number", "readable", "sequence"]

MAX_TEXT = 100_000
"""Maximum characters of one text that are shown; a model's longest answers have about as many."""

_SEPARATOR = re.compile(r"\r?\n")
_PLAIN = re.compile(r"[ -~\n]*")
"""Texts that are printable as they are."""


def readable(value: object, limit: int = MAX_TEXT) -> str:
    """Escape the invisible characters of a text of several lines.

    Control characters, escape sequences and bidirectional overrides become ``\\x1b``, ``\\u202e``, and so on. A text
    over ``limit`` characters is cut, with a note of the length of the rest. Any other value becomes an empty text.
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
    """The value as a finite number; None for any other value, booleans included."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def integer(value: object, default: int = 0) -> int:
    """The value, if it is an integer of at most 15 digits, which JavaScript represents exactly; else the default."""
    return default if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 10**15 else value


def mapping(value: object) -> Mapping[str, Any]:
    """The value, if it is a JSON object; else an empty one."""
    return value if isinstance(value, Mapping) else {}


def sequence(value: object, limit: int = 10_000) -> list[Any]:
    """At most ``limit`` first entries of a JSON list; none of any other value."""
    return value[:limit] if isinstance(value, list) else []
