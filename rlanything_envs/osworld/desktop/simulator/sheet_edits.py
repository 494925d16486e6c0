"""What a spreadsheet does with the selected cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rlanything_envs.osworld.desktop.simulator.calculator import Content
from rlanything_envs.osworld.desktop.simulator.cells import read_typed
from rlanything_envs.osworld.desktop.simulator.formulas import LAST_COLUMN, LAST_ROW, Formula, Range, shifted
from rlanything_envs.osworld.desktop.simulator.grid import Grid
from rlanything_envs.osworld.desktop.simulator.sorting import has_header, region, sorted_cells
from rlanything_envs.osworld.desktop.simulator.text_buffer import Clipboard
from rlanything_envs.osworld.desktop.simulator.workbook import Workbook

__all__ = ["SheetEdits"]

_MOST_COPIED = 20_000


class SheetEdits(NamedTuple):
    """Copying, clearing, filling and sorting on one sheet.

    Attributes:
        book: the workbook.
        grid: the sheet and its selection.
        clipboard: the desktop's.
        tell: says what went wrong.
    """

    book: Workbook
    grid: Grid
    clipboard: Clipboard
    tell: Callable[[str], None]

    def clear(self) -> None:
        """Empty the selected cells."""
        self._put(dict.fromkeys(self.book.used(self.grid.sheet, self.grid.selection), (None, None)))

    def copy(self) -> None:
        """Copy the selection, as text and as cells."""
        area, sheet = self._used_selection(), self.grid.sheet
        rows = range(area.top, area.bottom + 1)
        columns = range(area.left, area.right + 1)
        if len(rows) * len(columns) > _MOST_COPIED:
            self.tell("That is too much to copy.")
            return
        self.clipboard.put_text("\n".join("\t".join(self.book.text(sheet, r, c) for c in columns) for r in rows))
        cells = tuple(
            tuple((self.book.content(sheet, r, c), self.book.number_format(sheet, r, c)) for c in columns) for r in rows
        )
        self.clipboard.cells = cells, (area.top, area.left)

    def cut(self) -> None:
        """Copy the selection and empty it."""
        self.copy()
        self.clear()

    def paste(self) -> None:
        """Put what was copied at the cursor: cells with their formulas moved along, texts as if they were typed."""
        area = self.grid.selection
        top, left = area.top, area.left
        new: dict[tuple[int, int], tuple[Content | None, str | None]] = {}
        if self.clipboard.cells is not None:
            rows, (from_row, from_column) = self.clipboard.cells
            high, wide = len(rows), max(map(len, rows), default=1)
            single = high == wide == 1
            times = (area.bottom - top + 1, area.right - left + 1) if single else (1, 1)
            if times[0] * times[1] > _MOST_COPIED:
                self.tell("That is too much to paste.")
                return
            for i in range(high * times[0]):
                for j in range(wide * times[1]):
                    content, number_format = rows[i % high][j % wide]
                    if isinstance(content, Formula):
                        moved = shifted(content.text, top + i - from_row - i % high, left + j - from_column - j % wide)
                        content = Formula(moved)
                    new[top + i, left + j] = content, number_format
        else:
            for i, line in enumerate(self.clipboard.text.removesuffix("\n").split("\n")[:5000]):
                for j, field in enumerate(line.split("\t")[:200]):
                    new[top + i, left + j] = read_typed(field)
        self._put({place: value for place, value in new.items() if place[0] <= LAST_ROW and place[1] <= LAST_COLUMN})

    def fill_down(self) -> None:
        """Copy the first selected row into the others."""
        area, sheet = self.grid.selection, self.grid.sheet
        if (area.bottom - area.top) * (area.right - area.left + 1) > _MOST_COPIED:
            self.tell("That is too much to fill.")
            return
        new: dict[tuple[int, int], tuple[Content | None, str | None]] = {}
        for column in range(area.left, area.right + 1):
            content = self.book.content(sheet, area.top, column)
            number_format = self.book.number_format(sheet, area.top, column)
            for row in range(area.top + 1, area.bottom + 1):
                moved = Formula(shifted(content.text, row - area.top, 0)) if isinstance(content, Formula) else content
                new[row, column] = moved, number_format
        self._put(new)

    def bold(self) -> None:
        """Make the selection bold, or no longer."""
        area = self.grid.selection
        used = list(self.book.used(self.grid.sheet, area))
        self.book.toggle_bold(self.grid.sheet, used or [(area.top, area.left)])

    def sort(self, descending: bool) -> None:
        """Sort the selection, or the block around the cursor by the cursor's column."""
        sheet, (row, column) = self.grid.sheet, self.grid.cursor
        area = self._used_selection() if self.grid.anchor != self.grid.cursor else region(self.book, sheet, row, column)
        by = column if area.left <= column <= area.right else area.left
        if has_header(self.book, sheet, area):
            area = Range(None, area.top + 1, area.left, area.bottom, area.right)
        if (area.bottom - area.top + 1) * (area.right - area.left + 1) > _MOST_COPIED:
            self.tell("That is too much to sort.")
            return
        self._put(sorted_cells(self.book, sheet, area, by, descending))
        self.grid.select(area)

    def edge(self, down: int, right: int) -> tuple[int, int]:
        """Where ctrl and an arrow lead: the end of a block of cells, or the start of the next."""
        sheet, (row, column) = self.grid.sheet, self.grid.cursor
        last_row, last_column = self.book.extent(sheet)

        def filled(r: int, c: int) -> bool:
            return self.book.content(sheet, r, c) is not None

        def inside(r: int, c: int) -> bool:
            return 0 <= r <= max(last_row, row) and 0 <= c <= max(last_column, column)

        r, c = row + down, column + right
        if not inside(r, c):
            return (LAST_ROW if down > 0 else max(0, r)), (LAST_COLUMN if right > 0 else max(0, c))
        if filled(row, column) and filled(r, c):
            while inside(r + down, c + right) and filled(r + down, c + right):
                r, c = r + down, c + right
            return r, c
        while inside(r, c) and not filled(r, c):
            r, c = r + down, c + right
        if inside(r, c):
            return r, c
        return (LAST_ROW if down > 0 else max(0, r)), (LAST_COLUMN if right > 0 else max(0, c))

    def _used_selection(self) -> Range:
        """The selection without the empty rows and columns beyond the last used ones."""
        area, (last_row, last_column) = self.grid.selection, self.book.extent(self.grid.sheet)
        bottom, right = max(area.top, min(area.bottom, last_row)), max(area.left, min(area.right, last_column))
        return Range(None, area.top, area.left, bottom, right)

    def _put(self, new: dict[tuple[int, int], tuple[Content | None, str | None]]) -> None:
        if new and not self.book.put(self.grid.sheet, new):
            self.tell("The sheet is full.")
