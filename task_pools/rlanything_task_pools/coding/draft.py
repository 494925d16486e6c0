"""Unchecked problem as read from a foreign format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rlanything_task_pools.coding.payload import Payload, TaskLimits, read_payload
from rlanything_task_pools.task import TaskFormatError

__all__ = ["Draft", "ImportFormatError", "Pair", "cpu_limit", "field_of", "float_checker", "texts"]

Pair = tuple[str, str]
"""Input and expected output."""

SHOWN = 2
"""Tests made public where a format does not say which are."""


_TOLERANT = ("float", "python")
"""Kinds of checkers that accept several outputs: of two tests with one input the first is kept."""


class ImportFormatError(ValueError):
    """Data is not a problem of its format; the message names the place and the reason.

    Args:
        place: A file, with the row or field if there is one.
        reason: The fault.
    """

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}" if place else reason)
        self.place, self.reason = place, reason


@dataclass(frozen=True, slots=True)
class Draft:
    """A problem as read, not yet checked."""

    statement: str
    public: Sequence[Pair]
    hidden: Sequence[Pair]
    checker: Mapping[str, Any] = field(default_factory=lambda: {"kind": "tokens"})
    cpu: float | None = None
    """Processor time of a test in seconds."""
    memory: int | None = None
    """Bytes."""
    entry_point: str | None = None
    good: Sequence[str] = ()
    """Python programs that the source calls correct."""
    wrong: Sequence[str] = ()
    """Python programs that the source calls wrong."""
    traits: Mapping[str, str | int | float | bool] = field(default_factory=dict)

    def payload(self) -> Payload:
        """The payload, with each input once.

        Where nothing is public, the first tests are shown; where nothing else is hidden, public tests decide too.

        Raises:
            TaskFormatError: There are no tests, or a field is too large or of the wrong kind.
        """
        public, hidden = list(dict.fromkeys(self.public)), list(dict.fromkeys(self.hidden))
        if self.checker.get("kind") in _TOLERANT:
            known: dict[str, str] = {}
            public = [test for test in public if known.setdefault(*test) == test[1]]
            hidden = [test for test in hidden if known.setdefault(*test) == test[1]]
        elif self.checker.get("kind") == "tokens":  # outputs that differ in white space alone are one
            kept = set({(test[0], *test[1].split()): test for test in reversed([*public, *hidden])}.values())
            public, hidden = ([test for test in tests if test in kept] for tests in (public, hidden))
        if not public:
            public = hidden[: min(SHOWN, len(hidden) // 3)]
        shown = set(public)
        hidden = [test for test in hidden if test not in shown] or public
        if not hidden:
            raise TaskFormatError("there are no tests")
        limits: dict[str, float | int] = {}
        if self.cpu is not None:
            limits["cpu"] = self.cpu
        if self.memory is not None:
            # Less than this and Python itself does not start; more is not needed by what fits the time limit.
            limits["memory"] = min(max(self.memory, TaskLimits().memory), 4 * 2**30)
        return read_payload(
            {
                "statement": self.statement,
                "public": _examples(public),
                "hidden": _examples(hidden),
                "checker": self.checker,
                "limits": limits,
                "entry_point": self.entry_point,
            }
        )


def _examples(pairs: Sequence[Pair]) -> list[dict[str, str]]:
    return [{"stdin": stdin, "stdout": stdout} for stdin, stdout in pairs]


def field_of(row: Mapping[str, Any], name: str, kind: type | tuple[type, ...], what: str) -> Any:
    """A field of a row.

    Raises:
        ImportFormatError: It is missing, or not of the kind.
    """
    if name not in row:
        raise ImportFormatError(name, "the field is missing")
    value = row[name]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ImportFormatError(name, f"expected {what}, got {type(value).__name__}")
    return value


def texts(row: Mapping[str, Any], name: str) -> list[str]:
    """A field that is a list of texts.

    Raises:
        ImportFormatError: It is not.
    """
    values: list[str] = field_of(row, name, list, "a list of texts")
    for i, value in enumerate(values):
        if not isinstance(value, str):
            raise ImportFormatError(f"{name}[{i}]", f"expected a text, got {type(value).__name__}")
    return values


def cpu_limit(row: Mapping[str, Any], name: str) -> float | None:
    """A time limit in seconds; None where the row has none.

    Raises:
        ImportFormatError: It is not a positive number.
    """
    value = row.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 3600:
        raise ImportFormatError(name, f"expected seconds above 0, got {value!r:.80}")
    return float(min(value, 60.0))


def float_checker(tolerance: object, place: str) -> dict[str, Any]:
    """The checker of an absolute or relative tolerance.

    Raises:
        ImportFormatError: The tolerance is not a number from 0 to 1.
    """
    try:
        value = float(tolerance)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        value = -1.0
    if not 0 <= value <= 1:
        raise ImportFormatError(place, f"expected a tolerance from 0 to 1, got {tolerance!r:.80}")
    return {"kind": "float", "abs": value, "rel": value}
