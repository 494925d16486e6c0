"""A spreadsheet file and its sheets."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.opening import workbook
from rlanything_verifiers.osworld.sheets import charts, pivots, styles

if TYPE_CHECKING:
    from openpyxl.cell.cell import Cell
    from openpyxl.worksheet.worksheet import Worksheet

__all__ = ["Book", "Sheet"]

P = ParamSpec("P")
T = TypeVar("T")


def _guarded(method: Callable[Concatenate[Sheet, P], T]) -> Callable[Concatenate[Sheet, P], T]:
    """Whatever openpyxl raises inside is the fault of the file."""

    @functools.wraps(method)
    def inside(self: Sheet, *arguments: P.args, **options: P.kwargs) -> T:
        with self.file.reading():
            return method(self, *arguments, **options)

    return cast("Callable[Concatenate[Sheet, P], T]", inside)


class Book:
    """A spreadsheet file.

    Raises:
        Unreadable, VerifierError: (also all methods) it cannot be read.
    """

    def __init__(self, file: File) -> None:
        self.file = file
        self._book = workbook(file, values=True)
        self.names: list[str] = list(self._book.sheetnames)

    def sheet(self, name: str) -> Sheet | None:
        """A sheet with cells, by its name; None where there is none."""
        from openpyxl.worksheet.worksheet import Worksheet

        found = self._book[name] if name in self.names else None
        return Sheet(self.file, found, self._book.epoch) if isinstance(found, Worksheet) else None


class Sheet:
    """One sheet. Cells, rows and columns that say nothing are left out of everything."""

    def __init__(self, file: File, worksheet: Worksheet, epoch: datetime.datetime) -> None:
        self.file = file
        self._sheet: Any = worksheet
        self._epoch = epoch

    @_guarded
    def grid(self, precision: int, ignore_case: bool = False) -> dict[tuple[int, int], Any]:
        """The values by row and column, numbers rounded to `precision` decimals."""
        found: dict[tuple[int, int], Any] = {}
        lower = functools.cache(str.lower)  # many cells may share one long text
        for place, cell in self._cells().items():
            value: Any = cell.value
            if isinstance(value, str) and ignore_case:
                value = lower(value)
            if isinstance(value, bool):
                value = (bool, value)  # True is not 1
            elif isinstance(value, int | float):
                value = round(float(value), precision)
            if value not in (None, ""):
                found[place] = value
        return found

    @_guarded
    def value(self, coordinate: str) -> Any:
        """The value of a cell as the file has it: a text, a truth value, or a number; dates are numbers of days."""
        from openpyxl.utils.datetime import to_excel

        cell = self._cell(coordinate)
        value: Any = None if cell is None else cell.value
        if isinstance(value, datetime.datetime | datetime.date | datetime.time | datetime.timedelta):
            value = to_excel(value, self._epoch)  # type: ignore[no-untyped-call]
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else value

    @_guarded
    def style(self, coordinate: str, name: str) -> Any:
        """One property of a cell, of those in `STYLES`."""
        return styles.blank(name) if (cell := self._cell(coordinate)) is None else styles.read(cell, name)

    @_guarded
    def styles(self, names: Iterable[str]) -> dict[tuple[int, int], list[Any]]:
        """Some properties of all cells, as they show: with conditional formats applied."""
        return styles.shown(self._sheet, self._cells(), list(names))

    @_guarded
    def freeze(self) -> str | None:
        """The first cell that scrolls."""
        return cast("str | None", self._sheet.freeze_panes)

    @_guarded
    def zoom(self) -> float:
        """In percent."""
        return float(self._sheet.sheet_view.zoomScale or 100)

    @_guarded
    def validations(self, names: Iterable[str]) -> list[dict[str, Any]]:
        """Data validation of cells: some properties of each rule."""
        return [{name: getattr(rule, name) for name in names} for rule in self._sheet.data_validations.dataValidation]

    @_guarded
    def rows(self, names: Iterable[str]) -> dict[Any, Any]:
        """Properties of rows, by number."""
        return _dimensions(self._sheet.row_dimensions, names)

    @_guarded
    def columns(self, names: Iterable[str]) -> dict[Any, Any]:
        """Properties of columns, by number, or by letter for the bounds of a group of columns."""
        names = list(names)
        found = _dimensions(self._sheet.column_dimensions, names)
        if {"min", "max"} & set(names):
            return found
        groups = self._sheet.column_dimensions
        return {
            number: values
            for letter, values in found.items()
            for number in range(groups[letter].min or 0, min(groups[letter].max or 0, 16384) + 1)
        }

    @_guarded
    def charts(self, names: Iterable[str]) -> list[Any]:
        """Charts: their data and some properties of each."""
        return charts.read(self._sheet, set(names))

    @_guarded
    def pivots(self, names: Iterable[str]) -> list[Any]:
        """Pivot tables: their data and some properties of each."""
        return pivots.read(self._sheet, set(names))

    @_guarded
    def filters(self) -> dict[str, Any]:
        """Filter and sorting."""
        return pivots.filters(self._sheet)

    def _cells(self) -> Mapping[tuple[int, int], Cell]:
        return cast(
            "Mapping[tuple[int, int], Cell]", self._sheet._cells
        )  # to ask for a range would make every cell in it

    def _cell(self, coordinate: str) -> Cell | None:
        from openpyxl.utils.cell import coordinate_to_tuple

        return self._cells().get(coordinate_to_tuple(coordinate))


def _dimensions(dimensions: Mapping[Any, Any], names: Iterable[str]) -> dict[Any, Any]:
    found = {key: {name: getattr(dimension, name) for name in names} for key, dimension in dimensions.items()}
    return {key: values for key, values in found.items() if any(values.values())}
