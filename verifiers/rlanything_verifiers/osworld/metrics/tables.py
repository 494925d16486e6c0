"""Spreadsheets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rlanything_verifiers.osworld.errors import EvaluatorError
from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.metrics.table_rules import RULES, Books, TableRule
from rlanything_verifiers.osworld.registry import Slot, metric
from rlanything_verifiers.osworld.sheets import Book


@dataclass(frozen=True)
class TableRules:
    """Rules on a spreadsheet."""

    rules: tuple[TableRule, ...]

    @classmethod
    def from_json(cls, value: Any, place: str) -> TableRules:
        """Read the list of rules.

        Raises:
            EvaluatorError: a rule is unknown or malformed.
        """
        if not isinstance(value, list) or not value:
            raise EvaluatorError(f"{place}: a list of rules is needed, got {value!r:.80}")
        return cls(tuple(_rule(item, f"{place}[{number}]") for number, item in enumerate(value)))


def _rule(value: Any, place: str) -> TableRule:
    kind = value.get("type") if isinstance(value, Mapping) else None
    if not isinstance(kind, str) or kind not in RULES:
        raise EvaluatorError(f"{place}.type: {kind!r:.80} is unknown; choose from {', '.join(RULES)}")
    return Slot(kind, RULES[kind], True).read(dict(value), place)  # type: ignore[no-any-return]


@metric
def compare_table(result: File, expected: File | None = None, *, rules: TableRules) -> float:
    """All rules hold of the spreadsheet, some of them by comparing it with the expected one."""
    books = Books(Book(result), None if expected is None else Book(expected))
    return float(all(rule.holds(books) for rule in rules.rules))


@dataclass(frozen=True)
class Cities:
    """For each row the expected text of the cell: one text, or any of several."""

    expected: list[str | list[str]]


@metric
def compare_conference_city_in_order(result: File, rules: Cities) -> float:
    """The cells from C2 downwards contain the cities in order."""
    book = Book(result)
    sheet = book.sheet(book.names[0])
    return float(
        sheet is not None
        and all(
            any(city in str(sheet.value(f"C{row}") or "") for city in ([wanted] if isinstance(wanted, str) else wanted))
            for row, wanted in enumerate(rules.expected, 2)
        )
    )
