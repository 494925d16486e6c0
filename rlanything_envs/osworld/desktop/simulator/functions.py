"""The operators and functions of formulas, on values that were already worked out."""

from __future__ import annotations

import contextlib
import math
import statistics
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime

__all__ = ["LISTS", "SIMPLE", "Failed", "Failure", "Value", "checked", "criterion", "number"]

_LONGEST_TEXT = 32_767


class Failure(str):
    """The error a cell shows: ``#DIV/0!``, ``Err:522``."""

    __slots__ = ()


Value = float | int | str | bool | datetime | Failure | None
"""What a cell is worth; None for an empty one."""


class Failed(Exception):
    """A function that cannot be worked out; ``failure`` is what the cell shows."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.failure = failure


def checked(value: object) -> Value:
    """A result, unless it is too large or no real number; Failed then."""
    if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
        raise Failed(Failure("Err:503"))
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        raise Failed(Failure("Err:513"))
    return value if isinstance(value, (str, bool, int, float, datetime)) else None


_DAY_ZERO = datetime(1899, 12, 30)


def number(value: Value) -> float:
    """A value as a number; Failed for a text that is none."""
    if value is None:
        return 0.0
    if isinstance(value, datetime):
        return (value - _DAY_ZERO).total_seconds() / 86400
    if isinstance(value, str):
        try:
            return float(value) if len(value) < 100 and "_" not in value and value.strip()[-1:].isdigit() else _wrong()
        except ValueError:
            return _wrong()
    return float(value)


def _wrong() -> float:
    raise Failed(Failure("#VALUE!"))


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if value is None:
        return ""
    if isinstance(value, datetime):
        return date.isoformat(value)
    return f"{value:.15g}" if isinstance(value, (int, float)) else value


def _numbers(items: Iterable[tuple[Value, bool]]) -> list[float]:
    """Numbers of a list; texts and truth values in cells do not count, others must be numbers."""
    found = []
    for value, in_cell in items:
        if in_cell and (value is None or isinstance(value, (str, bool))):
            continue
        found.append(number(value))
    return found


def _average(items: Iterable[tuple[Value, bool]]) -> float:
    numbers = _numbers(items)
    if not numbers:
        raise Failed(Failure("#DIV/0!"))
    return math.fsum(numbers) / len(numbers)


def _median(items: Iterable[tuple[Value, bool]]) -> float:
    numbers = _numbers(items)
    if not numbers:
        raise Failed(Failure("#VALUE!"))
    return statistics.median(numbers)


def _product(items: Iterable[tuple[Value, bool]]) -> Value:
    return checked(math.prod(_numbers(items)))


def _count(items: Iterable[tuple[Value, bool]]) -> float:
    good = [value for value, _ in items if isinstance(value, (int, float, datetime)) and not isinstance(value, bool)]
    return float(len(good))


def _join(items: Iterable[tuple[Value, bool]]) -> Value:
    return checked("".join(_text(value)[: _LONGEST_TEXT + 1] for value, _ in items))


LISTS: Mapping[str, Callable[[list[tuple[Value, bool]]], Value]] = {
    "AND": lambda items: all(_numbers(items)),
    "AVERAGE": _average,
    "CONCAT": _join,
    "CONCATENATE": _join,
    "COUNT": _count,
    "COUNTA": lambda items: float(sum(value is not None for value, _ in items)),
    "MAX": lambda items: max(_numbers(items), default=0.0),
    "MEDIAN": _median,
    "MIN": lambda items: min(_numbers(items), default=0.0),
    "OR": lambda items: any(_numbers(items)),
    "PRODUCT": _product,
    "SUM": lambda items: checked(sum(_numbers(items))),
}
"""Functions of ranges and values."""


def _compare(left: Value, right: Value) -> int:
    """-1, 0 or 1; texts come after numbers and their case does not count."""
    if isinstance(left, str) != isinstance(right, str):
        if left is None or right is None:
            left, right = ("" if left is None else left), ("" if right is None else right)
        else:
            return 1 if isinstance(left, str) else -1
    if isinstance(left, str) and isinstance(right, str):
        a, b = left.lower(), right.lower()
        return (a > b) - (a < b)
    x, y = number(left), number(right)
    return (x > y) - (x < y)


def _power(base: Value, exponent: Value) -> object:
    return number(base) ** number(exponent)


def _round(value: Value, digits: Value = 0.0) -> float:
    """Halves go away from zero."""
    factor = 10.0 ** max(-300, min(int(number(digits)), 300))
    scaled = number(value) * factor
    return math.copysign(math.floor(abs(scaled) + 0.5 + 1e-12), scaled) / factor


def _modulo(value: Value, divisor: Value) -> float:
    return number(value) - number(divisor) * math.floor(number(value) / number(divisor))


def _root(value: Value) -> object:
    return number(value) ** 0.5


def _left(value: Value, count: Value = 1.0) -> str:
    return _text(value)[: max(0, int(min(number(count), 1e6)))]


def _right(value: Value, count: Value = 1.0) -> str:
    wanted = max(0, int(min(number(count), 1e6)))
    return _text(value)[-wanted:] if wanted else ""


SIMPLE: Mapping[str, tuple[int, int, Callable[..., object]]] = {
    "+": (2, 2, lambda a, b: number(a) + number(b)),
    "-": (2, 2, lambda a, b: number(a) - number(b)),
    "*": (2, 2, lambda a, b: number(a) * number(b)),
    "/": (2, 2, lambda a, b: number(a) / number(b)),
    "^": (2, 2, _power),
    "&": (2, 2, lambda a, b: _text(a) + _text(b)),
    "=": (2, 2, lambda a, b: _compare(a, b) == 0),
    "<>": (2, 2, lambda a, b: _compare(a, b) != 0),
    "<": (2, 2, lambda a, b: _compare(a, b) < 0),
    ">": (2, 2, lambda a, b: _compare(a, b) > 0),
    "<=": (2, 2, lambda a, b: _compare(a, b) <= 0),
    ">=": (2, 2, lambda a, b: _compare(a, b) >= 0),
    "minus": (1, 1, lambda a: -number(a)),
    "percent": (1, 1, lambda a: number(a) / 100),
    "ABS": (1, 1, lambda a: abs(number(a))),
    "INT": (1, 1, lambda a: float(math.floor(number(a)))),
    "LEFT": (1, 2, _left),
    "LEN": (1, 1, lambda a: float(len(_text(a)))),
    "LOWER": (1, 1, lambda a: _text(a).lower()),
    "MOD": (2, 2, _modulo),
    "NOT": (1, 1, lambda a: not number(a)),
    "POWER": (2, 2, _power),
    "RIGHT": (1, 2, _right),
    "ROUND": (1, 2, _round),
    "SQRT": (1, 1, _root),
    "TRIM": (1, 1, lambda a: " ".join(_text(a).split())),
    "UPPER": (1, 1, lambda a: _text(a).upper()),
}
"""Operators and functions of single values: fewest and most of them, and what is done."""


def criterion(wanted: Value) -> Callable[[Value], bool]:
    """``5``, ``"apple"`` or ``">=5"`` as a test of values."""
    operator = "="
    if isinstance(wanted, str):
        operator = next((sign for sign in ("<=", ">=", "<>", "<", ">", "=") if wanted.startswith(sign)), "")
        wanted = wanted[len(operator) :]
        operator = operator or "="
        with contextlib.suppress(ValueError):
            wanted = float(wanted)
    calculate = SIMPLE[operator][2]

    def meets(value: Value) -> bool:
        return isinstance(value, str) == isinstance(wanted, str) and bool(calculate(value, wanted))

    return meets
