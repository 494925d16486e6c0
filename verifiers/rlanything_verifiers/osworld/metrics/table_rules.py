"""The rules that `compare_table` puts to a spreadsheet, by their ``type``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from rlanything_verifiers.osworld.errors import EvaluatorError
from rlanything_verifiers.osworld.matching import ValueRule, likeness
from rlanything_verifiers.osworld.sheets import STYLES, Book, Sheet
from rlanything_verifiers.osworld.sheets.charts import CHART_PROPERTIES
from rlanything_verifiers.osworld.sheets.pivots import PIVOT_PROPERTIES

__all__ = ["RULES", "Books", "TableRule"]

_FUZZY_CELLS = 100_000
"""Cells that a ``sheet_fuzzy`` rule may name."""

_VALIDATION = (
    *("ranges", "type", "formula1", "formula2", "operator", "allowBlank", "showDropDown", "showInputMessage"),
    *("showErrorMessage", "error", "errorTitle", "errorStyle", "prompt", "promptTitle", "imeMode"),
)

_ROW = ("hidden", "collapsed", "height")
_COLUMN = ("width", "auto_size", "hidden", "collapsed", "min", "max")


@dataclass(frozen=True)
class Books:
    """The spreadsheet to judge, and the one to compare it with."""

    result: Book
    expected: Book | None

    def name(self, index: int | str) -> tuple[Book, str | None]:
        """The book that an index means, and the name of the sheet; None where there is none.

        Raises:
            EvaluatorError: the index means the expected book, and there is none or it lacks the sheet.
        """
        text = f"RI{index}" if isinstance(index, int) else index
        book = self.result if text[0] == "R" else self.expected
        if book is None:
            raise EvaluatorError(f"sheet index {index!r}: there is no expected file")
        found: str | None = text[2:]
        if text[1] == "I":
            found = book.names[int(text[2:])] if int(text[2:]) < len(book.names) else None
        if found not in book.names:
            if book is self.expected:
                raise EvaluatorError(f"sheet index {index!r}: {book.file.name} has the sheets {book.names}")
            found = None
        return book, found

    def sheet(self, index: int | str) -> Sheet | None:
        """The sheet that an index means; None where the result has none."""
        book, name = self.name(index)
        return None if name is None else book.sheet(name)


class TableRule(Protocol):
    """One rule."""

    def holds(self, books: Books) -> bool:
        """Whether the books meet the rule."""


def _check_index(index: int | str) -> None:
    good = index >= 0 if isinstance(index, int) else re.fullmatch(r"[RE](I\d{1,4}|N.+)", index, re.DOTALL)
    if not good:
        raise EvaluatorError(f"sheet index: 0, RI0, EI0, RNname or ENname is needed, got {index!r:.80}")


def _check_names(names: list[str], known: Any) -> None:
    if unknown := sorted(set(names) - set(known)):
        raise EvaluatorError(f"property {unknown[0]!r:.40} is unknown; choose from {', '.join(sorted(known))}")


@dataclass(frozen=True)
class SheetName:
    """The sheets have the expected names in the expected order."""

    def holds(self, books: Books) -> bool:
        """Whether the names of the sheets and their order are equal."""
        if books.expected is None:
            raise EvaluatorError("sheet_name: there is no expected file")
        return books.result.names == books.expected.names


@dataclass(frozen=True, kw_only=True)
class _Pair:
    """Two sheets have something in common."""

    sheet_idx0: int | str
    sheet_idx1: int | str

    def __post_init__(self) -> None:
        _check_index(self.sheet_idx0)
        _check_index(self.sheet_idx1)

    def holds(self, books: Books) -> bool:
        """Whether both sheets exist and their facts are equal."""
        one, other = books.sheet(self.sheet_idx0), books.sheet(self.sheet_idx1)
        return one is not None and other is not None and self.facts(one) == self.facts(other)

    def facts(self, sheet: Sheet) -> Any:
        """The compared property of two sheets."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class SheetData(_Pair):
    """The values, numbers rounded to some decimals."""

    precision: int = 4
    ignore_case: bool = False

    def facts(self, sheet: Sheet) -> Any:
        """The values by cell."""
        return sheet.grid(self.precision, self.ignore_case)


@dataclass(frozen=True, kw_only=True)
class Freeze(_Pair):
    """The rows and columns that stay in place."""

    def facts(self, sheet: Sheet) -> Any:
        """The first cell that scrolls."""
        return sheet.freeze()


@dataclass(frozen=True, kw_only=True)
class Filter(_Pair):
    """Filters and sorting."""

    def facts(self, sheet: Sheet) -> Any:
        """The filter."""
        return sheet.filters()


@dataclass(frozen=True, kw_only=True)
class Style(_Pair):
    """Some properties of all cells."""

    props: list[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_names(self.props, STYLES)

    def facts(self, sheet: Sheet) -> Any:
        """The properties by cell."""
        return sheet.styles(self.props)


@dataclass(frozen=True, kw_only=True)
class Chart(_Pair):
    """The data of the charts and some of their properties."""

    chart_props: list[str] = ()  # type: ignore[assignment]

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_names(self.chart_props, CHART_PROPERTIES)

    def facts(self, sheet: Sheet) -> Any:
        """The charts."""
        return sheet.charts(self.chart_props)


@dataclass(frozen=True, kw_only=True)
class Pivot(_Pair):
    """The data of the pivot tables and some of their properties."""

    pivot_props: list[str] = ()  # type: ignore[assignment]

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_names(self.pivot_props, PIVOT_PROPERTIES)

    def facts(self, sheet: Sheet) -> Any:
        """The pivot tables."""
        return sheet.pivots(self.pivot_props)


@dataclass(frozen=True, kw_only=True)
class RowProps(_Pair):
    """Some properties of the rows."""

    props: list[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_names(self.props, _ROW)

    def facts(self, sheet: Sheet) -> Any:
        """The properties by row."""
        return sheet.rows(self.props)


@dataclass(frozen=True, kw_only=True)
class ColProps(_Pair):
    """Some properties of the columns."""

    props: list[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_names(self.props, _COLUMN)

    def facts(self, sheet: Sheet) -> Any:
        """The properties by column."""
        return sheet.columns(self.props)


@dataclass(frozen=True, kw_only=True)
class SheetPrint(_Pair):
    """The sheets as they were printed into CSV files, ``BOOK-SHEET.csv``, that were fetched with the books."""

    ignore_case: bool = False

    def holds(self, books: Books) -> bool:
        """Whether the printed lines of both sheets are equal."""
        one, other = self._lines(books, self.sheet_idx0), self._lines(books, self.sheet_idx1)
        return one is not None and one == other

    def _lines(self, books: Books, index: int | str) -> list[str] | None:
        book, name = books.name(index)
        if (file := book.file.beside.get(f"{book.file.stem}-{name}.csv")) is None:
            if book is books.expected:
                raise EvaluatorError(f"sheet_print: {book.file.stem}-{name}.csv was not fetched with {book.file.name}")
            return None
        lines = [line.strip() for line in file.lines()]
        while lines and not lines[-1]:
            lines.pop()
        return [line.lower() for line in lines] if self.ignore_case else lines


@dataclass(frozen=True, kw_only=True)
class CellsAlike:
    """Required relation of two cells, for all cells of some ranges."""

    range: list[str]
    type: Literal["includes", "included_by", "fuzzy_match", "exact_match"]
    threshold: float = 85.0
    ignore_case: bool = False
    ignore_chars: str = ""
    trim_leadings: str = ""
    trim_trailings: str = ""
    normalization: list[tuple[str, str]] = ()  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if len(self.coordinates()) > _FUZZY_CELLS:
            raise EvaluatorError(f"sheet_fuzzy: at most {_FUZZY_CELLS} cells")

    def coordinates(self) -> list[str]:
        """The cells, as ``A1``."""
        from openpyxl.utils.cell import get_column_letter, range_boundaries

        found = []
        for part in self.range:
            try:
                left, top, right, bottom = (side or 0 for side in range_boundaries(part))
            except (ValueError, TypeError) as error:
                raise EvaluatorError(f"sheet_fuzzy: {part!r:.40} is not a range of cells") from error
            area = (right - left + 1) * (bottom - top + 1)
            if not (left and top) or area > _FUZZY_CELLS:
                raise EvaluatorError(f"sheet_fuzzy: {part!r:.40} is not a range of at most {_FUZZY_CELLS} cells")
            found += [
                f"{get_column_letter(column)}{row}"
                for row in range(top, bottom + 1)
                for column in range(left, right + 1)
            ]
        return found

    def alike(self, one: str, other: str) -> bool:
        """Whether two values, written out, are alike."""
        one, other = self._plain(one), self._plain(other)
        if self.type == "includes":
            return other in one
        if self.type == "included_by":
            return one in other
        return one == other if self.type == "exact_match" else likeness(one, other) * 100 >= self.threshold

    def _plain(self, text: str) -> str:
        for old, new in self.normalization:
            text = text.replace(old, new)
        text = text.lstrip(self.trim_leadings) if self.trim_leadings else text
        text = text.rstrip(self.trim_trailings) if self.trim_trailings else text
        text = "".join(letter for letter in text if letter not in self.ignore_chars)
        return text.lower() if self.ignore_case else text


@dataclass(frozen=True, kw_only=True)
class SheetFuzzy(_Pair):
    """The cells of some ranges are alike."""

    rules: list[CellsAlike]

    def holds(self, books: Books) -> bool:
        """Whether the cells of each rule are alike in both sheets."""
        one, other = books.sheet(self.sheet_idx0), books.sheet(self.sheet_idx1)
        return (
            one is not None
            and other is not None
            and all(
                rule.alike(str(one.value(place)), str(other.value(place)))
                for rule in self.rules
                for place in rule.coordinates()
            )
        )


@dataclass(frozen=True, kw_only=True)
class Zoom(ValueRule):
    """The zoom of a sheet in percent."""

    sheet_idx: int | str

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_index(self.sheet_idx)

    def holds(self, value: Any) -> bool:
        """Whether the sheet exists and its zoom meets the rule."""
        sheet = value.sheet(self.sheet_idx)
        return sheet is not None and super().holds(sheet.zoom())


@dataclass(frozen=True, kw_only=True)
class DataValidation:
    """Each rule of what may be entered is one of those described, and there are as many at least."""

    sheet_idx: int | str
    dv_props: list[dict[str, ValueRule]]

    def __post_init__(self) -> None:
        _check_index(self.sheet_idx)
        for part in self.dv_props:
            _check_names(list(part), _VALIDATION)

    def holds(self, books: Books) -> bool:
        """Whether each validation of the sheet is described, and there are as many as descriptions at least."""
        if (sheet := books.sheet(self.sheet_idx)) is None:
            return False
        found = sheet.validations(_VALIDATION)
        return len(found) >= len(self.dv_props) and all(
            any(all(rule.holds(one[name]) for name, rule in part.items()) for part in self.dv_props) for one in found
        )


@dataclass(frozen=True, kw_only=True)
class CheckCell:
    """The value and the look of a cell."""

    sheet_idx: int | str
    coordinate: str
    props: dict[str, ValueRule]

    def __post_init__(self) -> None:
        _check_index(self.sheet_idx)
        _check_names(list(self.props), ("value", *STYLES))
        if not re.fullmatch(r"[A-Za-z]{1,3}[1-9]\d{0,6}", self.coordinate):
            raise EvaluatorError(f"check_cell: {self.coordinate!r:.40} is not a cell; A1 is one")

    def holds(self, books: Books) -> bool:
        """Whether the value and each property of the cell meet their rules."""
        sheet, place = books.sheet(self.sheet_idx), self.coordinate.upper()
        return sheet is not None and all(
            rule.holds(sheet.value(place) if name == "value" else sheet.style(place, name))
            for name, rule in self.props.items()
        )


RULES: Mapping[str, type[TableRule]] = {
    "sheet_name": SheetName,
    "sheet_data": SheetData,
    "sheet_print": SheetPrint,
    "sheet_fuzzy": SheetFuzzy,
    "chart": Chart,
    "style": Style,
    "freeze": Freeze,
    "zoom": Zoom,
    "data_validation": DataValidation,
    "row_props": RowProps,
    "col_props": ColProps,
    "filter": Filter,
    "pivot_table": Pivot,
    "check_cell": CheckCell,
}
"""The rules by name."""
