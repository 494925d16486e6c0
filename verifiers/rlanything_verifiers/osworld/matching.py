"""Comparing single values: by a rule, by a regular expression, by likeness."""

from __future__ import annotations

import operator
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rlanything_verifiers.osworld.errors import EvaluatorError
from rlanything_verifiers.osworld.libraries import library

__all__ = ["ValueRule", "beyond", "likeness", "line_likeness", "pattern", "searches"]

_PATTERN = 2000
"""Characters of a regular expression."""

_SEARCHED = 2**20
"""Characters of a text that a regular expression goes through."""

_SECONDS = 1.0
"""Limit on processor time for all texts together: an expression that takes longer does not match."""

_PAIRS = 10**10
"""Products of two lengths beyond which two texts are not alike unless they are equal: some two seconds."""

_LINES = 20_000
"""Lines of a text that are matched one with another."""

_FLAGS = frozenset({"A", "ASCII", "I", "IGNORECASE", "M", "MULTILINE", "S", "DOTALL", "U", "UNICODE", "X", "VERBOSE"})

_ORDERS: dict[str, Callable[..., Any]] = {
    name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}


def beyond(score: float, base: float) -> float:
    """A score that is 0 at a base, and below it, and 1 at 1."""
    if score < base + 0.01 or base >= 1:
        return 0.0
    return (score - base) / (1 - base)


def pattern(source: str, flags: Sequence[str] = ()) -> Any:
    """A compiled regular expression of a task file.

    Raises:
        EvaluatorError: it is too long, malformed, or has an unknown flag.
    """
    regex = library("regex")
    if len(source) > _PATTERN:
        raise EvaluatorError(f"a regular expression of {len(source)} characters; at most {_PATTERN} are allowed")
    if unknown := set(flags) - _FLAGS:
        raise EvaluatorError(f"unknown flag of a regular expression: {min(unknown)!r:.40}")
    try:
        return regex.compile(source, sum((getattr(regex, flag) for flag in set(flags)), regex.V0))
    except (regex.error, RecursionError, OverflowError) as error:
        raise EvaluatorError(f"not a regular expression: {source!r:.80}: {error}") from error


def searches(compiled: Any, *texts: str) -> bool:
    """Whether a regular expression occurs in one of some texts; False as well where finding out takes too long."""
    end = time.process_time() + _SECONDS
    try:
        for text in texts:
            if compiled.search(text[:_SEARCHED], timeout=max(1e-6, end - time.process_time())):
                return True
    except TimeoutError:
        pass
    return False


@dataclass(frozen=True, kw_only=True)
class ValueRule:
    """Required relation of a value to a reference.

    Attributes:
        method: ``eq ne lt le gt ge``, ``approx:TOLERANCE``, ``re`` or ``re.FLAG.FLAG``, ``range.te`` and its like (the
            left and the right bound: ``t`` without, ``e`` with it), ``str_list_eq``, ``str_set_eq`` (a text of values
            with commas between), ``spreadsheet_range`` (between a smallest and a largest range of cells).
        ref: the reference.
    """

    method: str
    ref: Any

    def __post_init__(self) -> None:
        self._test()

    def holds(self, value: Any) -> bool:
        """Whether a value fulfils the rule; one of the wrong type does not."""
        try:
            return bool(self._test()(value))
        except (TypeError, ValueError, AttributeError, OverflowError):
            return False

    def _test(self) -> Callable[[Any], Any]:
        name, ref = self.method, self.ref
        if name in _ORDERS:
            return lambda value: _ORDERS[name](value, ref)
        if name == "re" or name.startswith("re."):
            compiled = pattern(str(ref), name.split(".")[1:])
            return lambda value: searches(compiled, value)
        if name.startswith("approx:"):
            tolerance, target = _number(name.removeprefix("approx:")), _number(ref)
            return lambda value: not isinstance(value, bool) and abs(float(value) - target) <= tolerance
        if re.fullmatch(r"range\.[te]{2}", name) and isinstance(ref, list) and len(ref) == 2:
            left, right = (_ORDERS["l" + letter] for letter in name[-2:])
            return lambda value: left(ref[0], value) and right(value, ref[1])
        if name in ("str_list_eq", "str_set_eq") and isinstance(ref, list):
            kind: Callable[[Any], Any] = list if name == "str_list_eq" else set
            return lambda value: kind(value.strip("\"'").split(",")) == kind(ref)
        if name == "spreadsheet_range" and isinstance(ref, list) and len(ref) == 2:
            return lambda value: _between(value, *ref)
        raise EvaluatorError(f"method {name!r:.40} is unknown or its ref does not suit it: {ref!r:.80}")


def likeness(one: str, other: str) -> float:
    """Share of two texts that is a common subsequence, in [0, 1]."""
    if one == other:
        return 1.0
    return 0.0 if len(one) * len(other) > _PAIRS else float(library("rapidfuzz.fuzz").ratio(one, other)) / 100


def line_likeness(one: Sequence[str], other: Sequence[str]) -> float:
    """Share of the lines of two texts in matching blocks, in [0, 1]."""
    import difflib

    if max(len(one), len(other)) > _LINES:
        return float(one == other)
    return difflib.SequenceMatcher(a=one, b=other).ratio()


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise EvaluatorError(f"a number is needed, got {value!r:.80}") from error


def _between(value: Any, smallest: str, largest: str) -> bool:
    """Whether ranges of cells (an openpyxl ``MultiCellRange``) contain one and lie within another."""
    from openpyxl.worksheet.cell_range import MultiCellRange

    def within(inner: Any, outer: Any) -> bool:
        return all(any(part.issubset(whole) for whole in outer.ranges) for part in inner.ranges)

    return within(MultiCellRange(smallest), value) and within(value, MultiCellRange(largest))
