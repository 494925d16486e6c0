"""Metrics on values: output of a command, a setting, the contents of an object."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from rlanything_verifiers.osworld.matching import likeness
from rlanything_verifiers.osworld.registry import metric


@dataclass(frozen=True)
class Expected:
    """Any value."""

    expected: Any


@dataclass(frozen=True)
class ExpectedText:
    """A text."""

    expected: str


@dataclass(frozen=True)
class ExpectedList:
    """A list of anything."""

    expected: list[Any]


@dataclass(frozen=True)
class IncludeExclude:
    """Texts that have to occur, and texts that must not."""

    include: list[str] = ()  # type: ignore[assignment]
    exclude: list[str] = ()  # type: ignore[assignment]


@dataclass(frozen=True)
class ExpectedObject:
    """An object.

    Attributes:
        expected: expected values of the keys.
        expect_in_result: whether a text only has to occur, and one of a list is enough.
        ignore_list_order: whether lists may come in any order.
    """

    expected: dict[str, Any]
    expect_in_result: bool = False
    ignore_list_order: bool = False


@metric
def infeasible(result: str | None) -> float:
    """Whether the last action called the task infeasible."""
    return float(result == "FAIL")


@metric
def exact_match(result: Any, rules: Expected) -> float:
    """The value is the expected one."""
    return float(result == rules.expected)


@metric
def match_in_list(result: Any, rules: ExpectedList) -> float:
    """The value is one of the expected ones."""
    return float(result in rules.expected)


@metric
def is_in_list(result: list[Any] | str, rules: Expected) -> float:
    """The expected value is in the list; the expected text is in the text."""
    if isinstance(result, str):
        return float(isinstance(rules.expected, str) and rules.expected in result)
    return float(rules.expected in result)


@metric
def check_include_exclude(result: str, rules: IncludeExclude) -> float:
    """Some texts occur, others do not."""
    return float(all(text in result for text in rules.include) and not any(text in result for text in rules.exclude))


@metric
def fuzzy_match(result: str, rules: ExpectedText) -> float:
    """Similarity to the expected text."""
    return likeness(result, rules.expected)


@metric
def compare_answer(result: str, rules: ExpectedText) -> float:
    """The text is the expected one, and there is one."""
    return float(bool(result) and result == rules.expected)


@metric
def literal_match(
    result: Any, expected: Any, *, type: Literal["str", "list"] = "str", ignore_case: bool = False
) -> float:
    """Both are the same when written out."""

    def written(value: Any) -> str:
        return str(value).lower() if ignore_case else str(value)

    if type == "str":
        return float(written(result) == written(expected))
    if not isinstance(result, list | tuple) or not isinstance(expected, list | tuple):
        return 0.0
    return float([written(item) for item in result] == [written(item) for item in expected])


@metric
def check_direct_json_object(result: Any, rules: ExpectedObject) -> float:
    """The keys of an object, or of a JSON text, have the expected values; further keys do not matter."""
    if isinstance(result, str):
        try:
            result = json.loads(result.strip().replace("'", '"'))
        except (ValueError, RecursionError):
            return 0.0
    if not isinstance(result, dict):
        return 0.0
    same = _occurs if rules.expect_in_result else _equal_in_any_order if rules.ignore_list_order else _equal
    return float(all(same(result.get(key), value) for key, value in rules.expected.items()))


def _equal(actual: Any, expected: Any) -> bool:
    return bool(actual == expected)


def _equal_in_any_order(actual: Any, expected: Any) -> bool:
    if isinstance(actual, list) and isinstance(expected, list):
        return sorted(map(repr, actual)) == sorted(map(repr, expected))
    return bool(actual == expected)


def _occurs(actual: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        return any(item in actual for item in expected) if isinstance(actual, list) else actual in expected
    return isinstance(expected, str) and isinstance(actual, str) and expected in actual
