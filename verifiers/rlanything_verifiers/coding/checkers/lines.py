"""The checkers ``lines`` and ``unordered``: lines in order, or in any order."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from .base import TextChecker, differ, miscounted, quote


def split_lines(text: bytes) -> list[bytes]:
    """The lines without white space at their ends, and without empty lines at the end of the text."""
    lines = [line.rstrip() for line in text.split(b"\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


@dataclass(frozen=True, slots=True)
class Lines(TextChecker):
    """Equal lines; white space at the end of a line and empty lines at the end of the text do not matter."""

    kind: ClassVar[str] = "lines"

    def complaint(self, expected: bytes, actual: bytes) -> str | None:
        """The first line that differs."""
        wanted, got = split_lines(expected), split_lines(actual)
        for number, (one, other) in enumerate(zip(wanted, got, strict=False), 1):
            if one != other:
                return differ("line", number, one, other)
        return None if len(wanted) == len(got) else miscounted("lines", len(wanted), len(got))


@dataclass(frozen=True, slots=True)
class Unordered(TextChecker):
    """The same multiset of lines; white space within a line counts as one blank.

    For a function, the same multiset of items. Both sides are sorted and not counted in a hash table, so that no output
    can slow the comparison by hash collisions.
    """

    kind: ClassVar[str] = "unordered"

    def complaint(self, expected: bytes, actual: bytes) -> str | None:
        """The first line that is missing or superfluous."""
        wanted, got = _sorted_lines(expected), _sorted_lines(actual)
        if wanted == got:
            return None
        place = next((i for i, (one, other) in enumerate(zip(wanted, got, strict=False)) if one != other), None)
        if place is None:  # one is a prefix of the other
            place = min(len(wanted), len(got))
        if place == len(got) or (place < len(wanted) and wanted[place] < got[place]):
            return f"missing line {quote(wanted[place])}"
        return f"unexpected line {quote(got[place])}"

    def same_value(self, expected: Any, actual: Any) -> bool:
        """Equality, with lists compared as multisets."""
        if not (isinstance(expected, list) and isinstance(actual, list)):
            return bool(expected == actual)
        return sorted(map(canonical, expected)) == sorted(map(canonical, actual))


def _sorted_lines(text: bytes) -> list[bytes]:
    return sorted(b" ".join(words) for line in text.split(b"\n") if (words := line.split()))


def canonical(value: Any) -> str:
    """A text that is equal for two JSON values exactly if these are equal in Python."""
    parts: list[str] = []
    _write(value, parts)
    return "".join(parts)


def _write(value: Any, parts: list[str]) -> None:
    if isinstance(value, str):
        parts += (f"s{len(value)}:", value)
    elif isinstance(value, list | tuple):
        parts.append(f"{type(value).__name__}{len(value)}:")
        for item in value:
            _write(item, parts)
    elif isinstance(value, dict):
        parts.append(f"dict{len(value)}:")
        for name in sorted(value):
            _write(name, parts)
            _write(value[name], parts)
    elif isinstance(value, float) and not math.isfinite(value):
        parts.append(f"{value};")
    elif isinstance(value, float) and not value.is_integer():
        parts.append(f"{value.hex()};")
    elif isinstance(value, int | float):
        parts.append(f"i{int(value):x};")  # 1, 1.0 and true are equal; decimal digits would take quadratic time
    else:
        parts.append("null;")
