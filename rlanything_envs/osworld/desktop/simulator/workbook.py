"""A workbook: cells that can be changed and taken back, read from xlsx or csv files and stored as LibreOffice does."""

from __future__ import annotations

import csv
import importlib
import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any
from xml.sax.saxutils import escape

from rlanything_envs.osworld.desktop.errors import DesktopError
from rlanything_envs.osworld.desktop.simulator.calculator import Calculator, Content
from rlanything_envs.osworld.desktop.simulator.cells import read_typed, shown
from rlanything_envs.osworld.desktop.simulator.formulas import Formula, Range, address, stored
from rlanything_envs.osworld.desktop.simulator.functions import Failure, Value

__all__ = ["Workbook", "WorkbookError"]

_MOST_CELLS = 50_000
_MOST_UNPACKED = 30 << 20
_UNDO_STEPS = 100

Place = tuple[int, int]
Change = tuple[str, dict[Place, tuple[Content | None, str]]]
"""A sheet's name, and what its cells held before: content and number format."""


class WorkbookError(ValueError):
    """A file that is no workbook, or one too large for the simulator."""


def _openpyxl() -> Any:
    try:
        return importlib.import_module("openpyxl")
    except ImportError as error:
        raise DesktopError("the simulated spreadsheet needs openpyxl; install it with: pip install openpyxl") from error


class Workbook:
    """Sheets with cells, counted from 0.

    Args:
        data: the bytes of a file; None for a new workbook.
        name: the file's name: ``.csv`` says how to read and store it, everything else is xlsx.

    Attributes:
        changed: whether something differs from what was read or stored last.

    Raises:
        WorkbookError: that is no workbook.
    """

    def __init__(self, data: bytes | None = None, name: str = "Untitled 1.xlsx") -> None:
        self._cells: dict[str, dict[Place, Content]] = {}
        self._texts: dict[tuple[str, int, int], str] = {}
        self._past: list[Change] = []
        self._future: list[Change] = []
        self.changed = False
        self._is_csv = name.lower().endswith(".csv")
        if data is None or self._is_csv:
            self._book = _openpyxl().Workbook()
            self._book.active.title = name.rpartition(".")[0][:31] or "Sheet1" if self._is_csv else "Sheet1"
        else:
            self._book = _loaded(data)
        if data is not None and self._is_csv:
            self._read_csv(data)
        else:
            self._read_sheets()
        self._calculator = Calculator(self)

    # --- sheets ---

    @property
    def sheets(self) -> list[str]:
        """Names of the sheets."""
        return list(self._book.sheetnames)

    def add_sheet(self) -> str:
        """A new sheet at the end; its name."""
        number = 1
        while self.has(f"Sheet{number}"):
            number += 1
        if number <= 50:
            self._book.create_sheet(f"Sheet{number}")
            self._cells[f"Sheet{number}"] = {}
            self.changed = True
        return str(self.sheets[-1])

    def rename_sheet(self, old: str, new: str) -> str | None:
        """Give a sheet another name; what is wrong with it, or None."""
        if new == old:
            return None
        if not new.strip() or len(new) > 31 or set(new) & set("[]*?:/\\") or new.startswith("'") or new.endswith("'"):
            return "Invalid sheet name."
        if any(name.lower() == new.lower() and name != old for name in self.sheets):
            return "There is a sheet of this name."
        self._book[old].title = new
        self._cells = {new if name == old else name: cells for name, cells in self._cells.items()}
        self._past, self._future = [], []  # they know the old name
        self._touch()
        return None

    def column_width(self, sheet: str, column: int) -> int:
        """Pixels."""
        dimension = self._book[sheet].column_dimensions.get(address(0, column)[:-1])
        width = dimension.width if dimension is not None and dimension.width else 0
        return max(20, min(600, round(width * 7 + 5))) if width and width != 13 else 77

    def frozen(self, sheet: str) -> Place:
        """Rows and columns that do not scroll."""
        place = self._book[sheet].freeze_panes
        if not isinstance(place, str):
            return 0, 0
        found = re.fullmatch(r"([A-Z]+)(\d+)", place)
        column = 0
        for letter in found[1] if found else "A":
            column = column * 26 + ord(letter) - 64
        return (min(int(found[2]) - 1, 50), min(column - 1, 20)) if found else (0, 0)

    def freeze(self, sheet: str, place: Place) -> None:
        """Keep the rows above and the columns left of a cell in sight; of the first cell: none."""
        self._book[sheet].freeze_panes = address(*place) if place != (0, 0) else None
        self.changed = True

    # --- cells ---

    def has(self, sheet: str) -> bool:
        """Whether there is a sheet."""
        return sheet in self._cells

    def content(self, sheet: str, row: int, column: int) -> Content | None:
        """What is stored in a cell."""
        cells = self._cells.get(sheet)
        return None if cells is None else cells.get((row, column))

    def used(self, sheet: str, area: Range) -> Iterator[Place]:
        """Cells in a range that are not empty, row by row."""
        cells = self._cells.get(sheet, {})
        if (area.bottom - area.top + 1) * (area.right - area.left + 1) <= 2 * len(cells):
            for row in range(area.top, area.bottom + 1):
                for column in range(area.left, area.right + 1):
                    if (row, column) in cells:
                        yield row, column
        else:
            inside = (p for p in cells if area.top <= p[0] <= area.bottom and area.left <= p[1] <= area.right)
            yield from sorted(inside)

    def extent(self, sheet: str) -> Place:
        """The last row and column that hold something."""
        cells = self._cells[sheet]
        return max((row for row, _ in cells), default=0), max((column for _, column in cells), default=0)

    def value(self, sheet: str, row: int, column: int) -> Value:
        """What a cell is worth."""
        return self._calculator.value(sheet, row, column)

    def number_format(self, sheet: str, row: int, column: int) -> str:
        """How a cell shows numbers."""
        if (row, column) not in self._cells[sheet]:
            return "General"
        return str(self._book[sheet].cell(row + 1, column + 1).number_format)

    def text(self, sheet: str, row: int, column: int) -> str:
        """What a cell shows."""
        if (row, column) not in self._cells[sheet]:
            return ""
        key = (sheet, row, column)
        if key not in self._texts:
            self._texts[key] = shown(self.value(*key), self.number_format(*key))
        return self._texts[key]

    def is_bold(self, sheet: str, row: int, column: int) -> bool:
        """Whether a cell's text is bold."""
        return bool((row, column) in self._cells[sheet] and self._book[sheet].cell(row + 1, column + 1).font.b)

    def toggle_bold(self, sheet: str, places: Iterable[Place]) -> None:
        """Make cells bold, or no longer where the first one is."""
        chosen = list(places)[:_MOST_CELLS]
        copy = importlib.import_module("copy").copy
        if not chosen:
            return
        bold = not self._book[sheet].cell(chosen[0][0] + 1, chosen[0][1] + 1).font.b
        for row, column in chosen:
            cell = self._book[sheet].cell(row + 1, column + 1)
            font = copy(cell.font)
            font.b = bold
            cell.font = font
        self.changed = True

    def put(self, sheet: str, new: Mapping[Place, tuple[Content | None, str | None]]) -> bool:
        """Change cells, as one step that can be taken back.

        Args:
            sheet: the sheet's name.
            new: contents (None to empty a cell) and number formats (None to leave one as it is).

        Returns:
            Whether there was room for them.
        """
        if sum(map(len, self._cells.values())) + len(new) > _MOST_CELLS:
            return False
        old = {place: (self.content(sheet, *place), self._format(sheet, place)) for place in new}
        self._past, self._future = [*self._past[-_UNDO_STEPS:], (sheet, old)], []
        self._set(sheet, new)
        return True

    def undo(self) -> str | None:
        """Take the last change back; the sheet it was on."""
        return self._swap(self._past, self._future)

    def redo(self) -> str | None:
        """Make it again."""
        return self._swap(self._future, self._past)

    def _swap(self, source: list[Change], target: list[Change]) -> str | None:
        if not source:
            return None
        sheet, cells = source.pop()
        target.append((sheet, {place: (self.content(sheet, *place), self._format(sheet, place)) for place in cells}))
        self._set(sheet, cells)
        return sheet

    def _format(self, sheet: str, place: Place) -> str:
        return str(self._book[sheet].cell(place[0] + 1, place[1] + 1).number_format)

    def _set(self, sheet: str, new: Mapping[Place, tuple[Content | None, str | None]]) -> None:
        cells, page = self._cells[sheet], self._book[sheet]
        for (row, column), (content, number_format) in new.items():
            cell = page.cell(row + 1, column + 1)
            if content is None:
                cells.pop((row, column), None)
                cell.value = None
            else:
                cells[row, column] = _clean(content)
                _store(cell, cells[row, column])
            if number_format is not None:
                cell.number_format = number_format
        self._touch()

    def _touch(self) -> None:
        self._calculator, self._texts = Calculator(self), {}
        self.changed = True

    # --- files ---

    def _read_sheets(self) -> None:
        count = 0
        for page in self._book.worksheets:
            cells = self._cells[page.title] = {}
            for (row, column), cell in list(page._cells.items()):  # the only way that makes no empty cells
                content = _content(cell)
                if content is not None:
                    cells[row - 1, column - 1] = content
                    count += 1
            if count > _MOST_CELLS:
                raise WorkbookError(f"more than {_MOST_CELLS} cells")
        for sheet in self._book.chartsheets:
            self._book.remove(sheet)

    def _read_csv(self, data: bytes) -> None:
        try:
            rows = list(csv.reader(io.StringIO(data.decode(errors="replace"), newline="")))
        except csv.Error as error:
            raise WorkbookError(str(error)) from error
        sheet = self.sheets[0]
        self._cells[sheet] = {}
        new: dict[Place, tuple[Content | None, str | None]] = {}
        for row, fields in enumerate(rows):
            for column, field in enumerate(fields):
                content, number_format = read_typed(field) if not field.startswith(("=", "'")) else (field, None)
                if content is not None:
                    new[row, column] = content, number_format
            if len(new) > _MOST_CELLS:
                raise WorkbookError(f"more than {_MOST_CELLS} cells")
        self._set(sheet, new)
        self.changed = False

    def set_kind(self, name: str) -> None:
        """Store it from now on as the name says."""
        self._is_csv = name.lower().endswith(".csv")

    def data(self, sheet: str) -> bytes:
        """The bytes of the file.

        Args:
            sheet: the sheet that is in front; a csv file has only this one.
        """
        return self._csv(sheet) if self._is_csv else self._xlsx(sheet)

    def _csv(self, sheet: str) -> bytes:
        out = io.StringIO(newline="")
        writer = csv.writer(out, lineterminator="\n")
        last_row, last_column = self.extent(sheet)
        if self._cells[sheet]:
            for row in range(last_row + 1):
                writer.writerow([self.text(sheet, row, column) for column in range(last_column + 1)])
        return out.getvalue().encode(errors="replace")

    def _xlsx(self, sheet: str) -> bytes:
        self._book.active = self.sheets.index(sheet)
        raw = io.BytesIO()
        self._book.save(raw)
        packed = io.BytesIO()
        pages = {f"xl/worksheets/sheet{i}.xml": name for i, name in enumerate(self.sheets, 1)}
        with zipfile.ZipFile(raw) as source, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
            for name in source.namelist():
                part = source.read(name)
                if name in pages:
                    part = self._with_values(pages[name], part.decode()).encode()
                elif name == "docProps/core.xml":  # the one part with a clock in it
                    part = re.sub(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", b"2024-01-01T00:00:00Z", part)
                target.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), part, zipfile.ZIP_DEFLATED)
        return packed.getvalue()

    def _with_values(self, sheet: str, xml: str) -> str:
        """The XML of a sheet with the values of its formulas, which openpyxl leaves out."""

        def fill(found: re.Match[str]) -> str:
            column = 0
            for letter in found["column"]:
                column = column * 26 + ord(letter) - 64
            kind, text = _stored_value(self.value(sheet, int(found["row"]) - 1, column - 1))
            attributes = re.sub(r' t="\w+"', "", found["attributes"])
            return f"<c{attributes}{kind}>{found['formula']}<v>{escape(text)}</v></c>"

        return _FORMULA_CELL.sub(fill, xml)


_FORMULA_CELL = re.compile(
    r'<c(?P<attributes>[^>]* ?r="(?P<column>[A-Z]+)(?P<row>\d+)"[^>]*)>'
    r"(?P<formula><f[^>]*>[^<]*</f>)<v ?(?:/>|></v>)</c>"
)


def _loaded(data: bytes) -> Any:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > _MOST_UNPACKED:
                raise WorkbookError("the workbook is too large")
        return _openpyxl().load_workbook(io.BytesIO(data))
    except (DesktopError, WorkbookError):
        raise
    except Exception as error:  # openpyxl lets through whatever a broken file makes its parts raise
        raise WorkbookError(f"the file is no workbook: {type(error).__name__}") from error


def _content(cell: Any) -> Content | None:
    value = cell.value
    if cell.data_type == "f":
        text = value if isinstance(value, str) else getattr(value, "text", None)
        return Formula(text if text.startswith("=") else f"={text}") if isinstance(text, str) else None
    if value is None or isinstance(value, (bool, int, float, datetime)):
        return value
    return str(value)


_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")


def _clean(content: Content) -> Content:
    """A content that an xlsx file can hold."""
    if isinstance(content, Formula):
        return Formula(_UNPRINTABLE.sub("", content.text)[:8000])
    return _UNPRINTABLE.sub("", content)[:32_767] if isinstance(content, str) else content


def _store(cell: Any, content: Content) -> None:
    """Put a content into openpyxl's cell; a text stays a text, whatever it starts with."""
    cell.value = stored(content.text) if isinstance(content, Formula) else content
    if isinstance(content, str):
        cell.data_type = "s"


def _stored_value(value: Value) -> tuple[str, str]:
    """The type attribute and the text of a value in a file."""
    match value:
        case Failure():
            return ' t="e"', value if value.startswith("#") else "#VALUE!"
        case bool():
            return ' t="b"', str(int(value))
        case str():
            return ' t="str"', value
        case datetime():
            return "", f"{(value - datetime(1899, 12, 30)).total_seconds() / 86400:.15g}"
        case None:
            return "", "0"
        case _:
            return "", str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
