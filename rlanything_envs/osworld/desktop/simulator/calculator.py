"""Works out formulas, each after those it needs, with a limit on the work."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Protocol

from rlanything_envs.osworld.desktop.simulator.formulas import (
    Formula,
    FormulaError,
    Part,
    Range,
    Ref,
    Tree,
    parse,
    references,
)
from rlanything_envs.osworld.desktop.simulator.functions import (
    LISTS,
    SIMPLE,
    Failed,
    Failure,
    Value,
    checked,
    criterion,
    number,
)

__all__ = ["Calculator", "Content", "Sheets"]

_CONDITIONAL = ("COUNTIF", "SUMIF", "AVERAGEIF")

_MOST_STEPS = 2_000_000


Content = float | int | str | bool | datetime | Formula
"""What is stored in a cell."""

Key = tuple[str, int, int]
"""A sheet's name, a row and a column."""


class Sheets(Protocol):
    """Where the cells are."""

    def content(self, sheet: str, row: int, column: int) -> Content | None:
        """What is stored in a cell."""

    def used(self, sheet: str, area: Range) -> Iterator[tuple[int, int]]:
        """Rows and columns of the cells in a range that are not empty, row by row."""

    def has(self, sheet: str) -> bool:
        """Whether there is a sheet of this name."""


class Calculator:
    """The values of cells; make a new one after each change.

    Args:
        sheets: the cells.
    """

    def __init__(self, sheets: Sheets) -> None:
        self._sheets = sheets
        self._known: dict[Key, Value] = {}
        self._steps = 0

    def value(self, sheet: str, row: int, column: int) -> Value:
        """What a cell is worth."""
        content = self._sheets.content(sheet, row, column)
        if not isinstance(content, Formula):
            return content
        key = (sheet, row, column)
        if key not in self._known:
            self._work_out(key)
        return self._known[key]

    def _work_out(self, start: Key) -> None:
        """A formula after all that it needs; a list instead of recursion, because columns can be long."""
        waiting, begun = [start], set[Key]()
        while waiting:
            key = waiting[-1]
            if key in self._known:
                waiting.pop()
                continue
            content = self._sheets.content(*key)
            try:
                part = parse(content.text if isinstance(content, Formula) else "=0")
                needed = [other for other in self._needed(key[0], part) if other not in self._known]
                if key not in begun and needed:
                    begun.add(key)
                    if any(other in begun for other in needed):
                        raise Failed(Failure("Err:522"))
                    waiting += needed
                    continue
                result = self._single(key[0], part)
                self._known[key] = 0.0 if result is None else result
            except FormulaError as error:
                self._known[key] = Failure(str(error))
            except Failed as error:
                self._known[key] = error.failure
            begun.discard(key)
            waiting.pop()

    def _needed(self, sheet: str, part: Part) -> Iterator[Key]:
        for reference in references(part):
            name = reference.sheet or sheet
            if isinstance(reference, Ref):
                if isinstance(self._sheets.content(name, reference.row, reference.column), Formula):
                    yield name, reference.row, reference.column
                continue
            for row, column in self._used(name, reference):
                if isinstance(self._sheets.content(name, row, column), Formula):
                    yield name, row, column

    def _used(self, sheet: str, area: Range) -> Iterator[tuple[int, int]]:
        for place in self._sheets.used(sheet, area):
            self._steps += 1
            if self._steps > _MOST_STEPS:
                raise Failed(Failure("Err:523"))
            yield place

    # --- values ---

    def _single(self, sheet: str, part: Part) -> Value:
        """The value of an expression that is one value."""
        match part:
            case Ref():
                return self._cell(part.sheet or sheet, part.row, part.column)
            case Range():
                raise Failed(Failure("#VALUE!"))
            case Tree():
                return self._operate(sheet, part)
            case _:
                return part

    def _cell(self, sheet: str, row: int, column: int) -> Value:
        if not self._sheets.has(sheet):
            raise Failed(Failure("#REF!"))
        content = self._sheets.content(sheet, row, column)
        value = self._known.get((sheet, row, column)) if isinstance(content, Formula) else content
        if isinstance(content, Formula) and (sheet, row, column) not in self._known:
            raise Failed(Failure("Err:522"))
        if isinstance(value, Failure):
            raise Failed(value)
        return value

    def _operate(self, sheet: str, tree: Tree) -> Value:
        function = LISTS.get(tree.name)
        if function is not None:
            return function([item for part in tree.parts for item in self._items(sheet, part)])
        if tree.name in _CONDITIONAL:
            return self._conditional(sheet, tree)
        if tree.name == "IF":
            return self._if(sheet, tree.parts)
        if tree.name == "IFERROR":
            try:
                return self._single(sheet, tree.parts[0]) if tree.parts else None
            except Failed:
                return self._single(sheet, tree.parts[1]) if len(tree.parts) > 1 else None
        simple = SIMPLE.get(tree.name)
        if simple is None:
            raise Failed(Failure("#NAME?"))
        low, high, calculate = simple
        if not low <= len(tree.parts) <= high:
            raise Failed(Failure("Err:504"))
        try:
            result = calculate(*(self._single(sheet, part) for part in tree.parts))
        except ZeroDivisionError:
            raise Failed(Failure("#DIV/0!")) from None
        except (OverflowError, ArithmeticError):
            raise Failed(Failure("Err:503")) from None
        return checked(result)

    def _if(self, sheet: str, parts: Sequence[Part]) -> Value:
        if not 2 <= len(parts) <= 3:
            raise Failed(Failure("Err:504"))
        if number(self._single(sheet, parts[0])):
            return self._single(sheet, parts[1])
        return self._single(sheet, parts[2]) if len(parts) == 3 else False

    def _items(self, sheet: str, part: Part) -> Iterator[tuple[Value, bool]]:
        """Values for a function of many, and whether they were found in cells (where texts are passed over)."""
        if isinstance(part, Range):
            name = part.sheet or sheet
            if not self._sheets.has(name):
                raise Failed(Failure("#REF!"))
            for row, column in self._used(name, part):
                yield self._cell(name, row, column), True
        else:
            yield self._single(sheet, part), isinstance(part, Ref)

    def _conditional(self, sheet: str, tree: Tree) -> Value:
        """COUNTIF, SUMIF and AVERAGEIF."""
        parts = tree.parts
        if len(parts) not in ((2,) if tree.name == "COUNTIF" else (2, 3)):
            raise Failed(Failure("Err:504"))
        area, target = parts[0], parts[2] if len(parts) == 3 else parts[0]
        area = Range(area.sheet, area.row, area.column, area.row, area.column) if isinstance(area, Ref) else area
        if not isinstance(area, Range) or not isinstance(target, (Range, Ref)):
            raise Failed(Failure("Err:504"))
        top, left = (target.top, target.left) if isinstance(target, Range) else (target.row, target.column)
        meets = criterion(self._single(sheet, parts[1]))
        numbers, count = [], 0
        for row, column in self._used(area.sheet or sheet, area):
            if meets(self._cell(area.sheet or sheet, row, column)):
                count += 1
                there = self._cell(target.sheet or sheet, top + row - area.top, left + column - area.left)
                if isinstance(there, (int, float)) and not isinstance(there, bool):
                    numbers.append(float(there))
        if tree.name == "COUNTIF":
            return float(count)
        if tree.name == "AVERAGEIF" and not numbers:
            raise Failed(Failure("#DIV/0!"))
        return math.fsum(numbers) / (len(numbers) if tree.name == "AVERAGEIF" else 1)
