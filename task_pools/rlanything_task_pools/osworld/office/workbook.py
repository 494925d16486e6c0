"""Workbooks (xlsx): values, and how cells look."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rlanything_task_pools.osworld.office.package import OFFICE, Part, attribute, pack, text

__all__ = ["Look", "Sheet", "Value", "Workbook", "cell_name"]

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
Value = str | int | float | None
FIRST_FORMAT = 164
"""The first number that a format of one's own may have."""


@dataclass(frozen=True, slots=True)
class Look:
    """Format of a cell."""

    bold: bool = False
    fill: str = ""
    """Background colour as RRGGBB."""
    number_format: str = ""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet: rows of values from A1 on."""

    name: str
    rows: Sequence[Sequence[Value]]
    looks: Mapping[str, Look] = field(default_factory=dict)
    """Looks by the name of the cell."""
    freeze: str = ""
    """The first cell that scrolls, such as ``A2``."""

    def put(self, cell: str, value: Value) -> "Sheet":
        """The sheet with another value in a cell."""
        column, row = _place(cell)
        rows = [list(line) for line in self.rows]
        rows += [[] for _ in range(row + 1 - len(rows))]
        rows[row] += [None] * (column + 1 - len(rows[row]))
        rows[row][column] = value
        return replace(self, rows=rows)

    def look(self, cells: Sequence[str], look: Look) -> "Sheet":
        """The sheet with another look of some cells."""
        return replace(self, looks={**self.looks, **dict.fromkeys(cells, look)})


@dataclass(frozen=True, slots=True)
class Workbook:
    """Sheets in one file."""

    sheets: Sequence[Sheet]

    def to_bytes(self) -> bytes:
        """The file."""
        looks = list(dict.fromkeys([Look(), *(look for sheet in self.sheets for look in sheet.looks.values())]))
        names = [f"sheet{number}.xml" for number in range(1, len(self.sheets) + 1)]
        listed = "".join(
            f'<sheet name={attribute(sheet.name)} sheetId="{number}" r:id="rId{number}"/>'
            for number, sheet in enumerate(self.sheets, 1)
        )
        relations = {f"rId{i}": ("worksheet", f"worksheets/{name}") for i, name in enumerate(names, 1)}
        relations[f"rId{len(names) + 1}"] = ("styles", "styles.xml")
        book = f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>'
        parts = [Part("xl/workbook.xml", "spreadsheetml.sheet.main", book, relations)]
        for name, sheet in zip(names, self.sheets, strict=True):
            parts.append(Part(f"xl/worksheets/{name}", "spreadsheetml.worksheet", _sheet(sheet, looks), {}))
        parts.append(Part("xl/styles.xml", "spreadsheetml.styles", _styles(looks), {}))
        return pack("xl/workbook.xml", parts)


def cell_name(column: int, row: int) -> str:
    """The name of a cell by its place: ``cell_name(1, 0)`` is ``B1``."""
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return f"{letters}{row + 1}"


def _place(cell: str) -> tuple[int, int]:
    found = re.fullmatch(r"([A-Z]{1,3})([1-9][0-9]{0,6})", cell)
    if found is None:
        raise ValueError(f"{cell!r} is not a cell")
    column = 0
    for letter in found[1]:
        column = 26 * column + ord(letter) - 64
    return column - 1, int(found[2]) - 1


def _sheet(sheet: Sheet, looks: Sequence[Look]) -> str:
    lines = []
    for row, values in enumerate(sheet.rows):
        cells = "".join(
            _cell(cell_name(column, row), value, looks.index(sheet.looks.get(cell_name(column, row), looks[0])))
            for column, value in enumerate(values)
        )
        lines.append(f'<row r="{row + 1}">{cells}</row>')
    view = ""
    if sheet.freeze:
        column, row = _place(sheet.freeze)
        split = (f' xSplit="{column}"' if column else "") + (f' ySplit="{row}"' if row else "")
        pane = "bottomRight" if column and row else "topRight" if column else "bottomLeft"
        view = (
            '<sheetViews><sheetView workbookViewId="0">'
            f'<pane{split} topLeftCell="{sheet.freeze}" activePane="{pane}" state="frozen"/></sheetView></sheetViews>'
        )
    return f'<worksheet xmlns="{MAIN}">{view}<sheetData>{"".join(lines)}</sheetData></worksheet>'


def _cell(name: str, value: Value, look: int) -> str:
    style = f' s="{look}"' if look else ""
    if value is None:
        return f'<c r="{name}"{style}/>' if look else ""
    if isinstance(value, str):
        return f'<c r="{name}"{style} t="inlineStr"><is><t xml:space="preserve">{text(value)}</t></is></c>'
    return f'<c r="{name}"{style}><v>{value!r}</v></c>'


def _styles(looks: Sequence[Look]) -> str:
    formats = list(dict.fromkeys(look.number_format for look in looks if look.number_format))
    fills = list(dict.fromkeys(look.fill for look in looks if look.fill))
    listed = "".join(
        f'<numFmt numFmtId="{FIRST_FORMAT + i}" formatCode={attribute(code)}/>' for i, code in enumerate(formats)
    )
    colours = "".join(
        f'<fill><patternFill patternType="solid"><fgColor rgb="FF{fill}"/></patternFill></fill>' for fill in fills
    )
    cells = "".join(
        f'<xf numFmtId="{FIRST_FORMAT + formats.index(look.number_format) if look.number_format else 0}" '
        f'fontId="{int(look.bold)}" fillId="{2 + fills.index(look.fill) if look.fill else 0}" borderId="0" xfId="0" '
        'applyNumberFormat="1" applyFont="1" applyFill="1"/>'
        for look in looks
    )
    font = '<sz val="11"/><name val="Calibri"/>'
    return (
        f'<styleSheet xmlns="{MAIN}">'
        + (f'<numFmts count="{len(formats)}">{listed}</numFmts>' if formats else "")
        + f'<fonts count="2"><font>{font}</font><font><b/>{font}</font></fonts>'
        f'<fills count="{2 + len(fills)}"><fill><patternFill patternType="none"/></fill>'
        f'<fill><patternFill patternType="gray125"/></fill>{colours}</fills>'
        '<borders count="1"><border><left/><right/><top/><bottom/></border></borders>'
        '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
        f'<cellXfs count="{len(looks)}">{cells}</cellXfs>'
        '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
    )
