"""Line by line: in order, or in any order."""

from collections import Counter
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
    """The same lines in any order, each as often; white space within a line counts as one blank.

    Of a function, the same items in any order.
    """

    kind: ClassVar[str] = "unordered"

    def complaint(self, expected: bytes, actual: bytes) -> str | None:
        """A line that is missing or too many."""
        wanted, got = _bag(expected), _bag(actual)
        if missing := wanted - got:
            return f"missing line {quote(next(iter(missing)))}"
        if extra := got - wanted:
            return f"unexpected line {quote(next(iter(extra)))}"
        return None

    def same_value(self, expected: Any, actual: Any) -> bool:
        """Equality, but of lists as multisets."""
        if not (isinstance(expected, list) and isinstance(actual, list)):
            return bool(expected == actual)
        return Counter(map(_key, expected)) == Counter(map(_key, actual))


def _bag(text: bytes) -> Counter[bytes]:
    return Counter(b" ".join(words) for line in text.split(b"\n") if (words := line.split()))


def _key(value: Any) -> Any:
    """Something hashable that is equal for equal values; only its kind keeps a list from being an object."""
    if isinstance(value, list):
        return "list", tuple(map(_key, value))
    if isinstance(value, dict):
        return "dict", frozenset((name, _key(item)) for name, item in value.items())
    return value
