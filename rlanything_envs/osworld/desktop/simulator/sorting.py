"""Sorting rows of cells: which ones, and into which order."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from rlanything_envs.osworld.desktop.simulator.calculator import Content
from rlanything_envs.osworld.desktop.simulator.formulas import Formula, Range, shifted
from rlanything_envs.osworld.desktop.simulator.functions import Value
from rlanything_envs.osworld.desktop.simulator.workbook import Workbook

__all__ = ["has_header", "region", "sorted_cells"]

Place = tuple[int, int]


def region(book: Workbook, sheet: str, row: int, column: int) -> Range:
    """The block of cells around one, up to empty rows and columns."""
    top = bottom = row
    left = right = column
    grown = True
    while grown:
        grown = False
        for side in _sides(top, left, bottom, right):
            if any(True for _ in book.used(sheet, side)):
                top, left = min(top, side.top), min(left, side.left)
                bottom, right = max(bottom, side.bottom), max(right, side.right)
                grown = True
    used = list(book.used(sheet, Range(None, top, left, bottom, right)))
    if not used:
        return Range(None, row, column, row, column)
    rows, columns = [place[0] for place in used], [place[1] for place in used]
    return Range(None, min(rows), min(columns), max(rows), max(columns))


def _sides(top: int, left: int, bottom: int, right: int) -> Iterator[Range]:
    """The rows and columns that touch a block, corners included."""
    low, high = max(0, left - 1), right + 1
    if top:
        yield Range(None, top - 1, low, top - 1, high)
    yield Range(None, bottom + 1, low, bottom + 1, high)
    if left:
        yield Range(None, max(0, top - 1), left - 1, bottom + 1, left - 1)
    yield Range(None, max(0, top - 1), right + 1, bottom + 1, right + 1)


def has_header(book: Workbook, sheet: str, area: Range) -> bool:
    """Whether the first row names the columns: all of it is text, and something below it is not."""
    columns = range(area.left, area.right + 1)
    if area.top == area.bottom:
        return False
    first = [book.value(sheet, area.top, column) for column in columns]
    second = [book.value(sheet, area.top + 1, column) for column in columns]
    return all(isinstance(value, str) for value in first) and not all(isinstance(value, str) for value in second)


def sorted_cells(
    book: Workbook, sheet: str, area: Range, by: int, descending: bool
) -> dict[Place, tuple[Content | None, str | None]]:
    """The cells of a block after its rows were sorted.

    Args:
        book: the workbook.
        sheet: the sheet's name.
        area: the rows, without a header.
        by: the column that decides.
        descending: the largest first; empty cells are last in any case.
    """
    rows = list(range(area.top, area.bottom + 1))
    filled = [row for row in rows if book.value(sheet, row, by) is not None]
    empty = [row for row in rows if book.value(sheet, row, by) is None]
    order = sorted(filled, key=lambda row: _rank(book.value(sheet, row, by)), reverse=descending) + empty
    new: dict[Place, tuple[Content | None, str | None]] = {}
    for target, source in zip(rows, order, strict=True):
        for column in range(area.left, area.right + 1):
            content = book.content(sheet, source, column)
            if isinstance(content, Formula):
                content = Formula(shifted(content.text, target - source, 0))
            new[target, column] = content, book.number_format(sheet, source, column)
    return new


def _rank(value: Value) -> tuple[int, float, str]:
    """Numbers, then texts without regard to case, then truth values."""
    if isinstance(value, bool):
        return 2, float(value), ""
    if isinstance(value, (int, float)):
        return 0, float(value), ""
    if isinstance(value, str) or value is None:
        return 1, 0.0, (value or "").lower()
    return 0, (value - datetime(1899, 12, 30)).total_seconds() / 86400, ""
