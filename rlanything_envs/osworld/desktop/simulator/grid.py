"""The part of a sheet that is in sight: which cells, where they are, which are selected, how they look."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from rlanything_envs.osworld.desktop.simulator.drawing import BLUE, GREY, LINE, WHITE, Canvas, text_width
from rlanything_envs.osworld.desktop.simulator.formulas import LAST_COLUMN, LAST_ROW, Range, address
from rlanything_envs.osworld.desktop.simulator.nodes import Box, Node, Press
from rlanything_envs.osworld.desktop.simulator.workbook import Workbook

__all__ = ["Grid"]

_ROW, _HEAD, _SIDE = 20, 18, 41
_PLAIN = ("editable", "enabled", "showing", "visible")
_TABLE = ("editable", "enabled", "focusable", "multiselectable", "selectable", "showing", "visible")

Place = tuple[int, int]


class Grid:
    """What is shown of one sheet, and what is selected on it.

    Args:
        book: the workbook.
        sheet: the sheet's name.
        box: the place of headers and cells.

    Attributes:
        cursor: row and column of the cell that gets what is typed.
        anchor: the other corner of the selection.
    """

    def __init__(self, book: Workbook, sheet: str, box: Box) -> None:
        self.book, self.sheet, self.box = book, sheet, box
        self.cursor = self.anchor = (0, 0)
        self._scroll = (0, 0)
        self._kept: tuple[object, dict[Place, Node]] = (None, {})

    @property
    def selection(self) -> Range:
        """The selected rectangle."""
        (row, column), (other_row, other_column) = self.cursor, self.anchor
        rows, columns = sorted((row, other_row)), sorted((column, other_column))
        return Range(None, rows[0], columns[0], rows[1], columns[1])

    @property
    def page(self) -> int:
        """Rows in sight."""
        return max(1, (self.box.height - _HEAD) // _ROW)

    def go(self, row: int, column: int, extend: bool = False) -> None:
        """Put the cursor on a cell. An extended selection keeps its anchor where the cursor was first."""
        row, column = max(0, min(row, LAST_ROW)), max(0, min(column, LAST_COLUMN))
        self.cursor = (row, column)
        if not extend:
            self.anchor = self.cursor
        self._show()

    def select(self, area: Range) -> None:
        """Select a rectangle; the cursor is at its top left."""
        self.anchor = (area.bottom, area.right)
        self.cursor = (area.top, area.left)
        self._show()

    def _show(self) -> None:
        """Scroll so that the cursor is in sight."""
        row, column = self.cursor
        frozen_rows, frozen_columns = self.book.frozen(self.sheet)
        top, left = self._scroll
        if row >= frozen_rows:
            room = max(1, self.page - frozen_rows)
            top = max(row - frozen_rows - room + 1, min(top, row - frozen_rows))
        if column >= frozen_columns:
            left = min(left, column - frozen_columns)
            self._scroll = (top, left)
            while self._scroll[1] < column - frozen_columns and column not in self._full_columns():
                self._scroll = (top, self._scroll[1] + 1)
            left = self._scroll[1]
        self._scroll = (max(0, top), max(0, left))

    def scroll(self, rows: int) -> None:
        """Turn the wheel."""
        self._scroll = (max(0, min(self._scroll[0] + rows, LAST_ROW - self.page)), self._scroll[1])

    def _full_columns(self) -> list[int]:
        end = self.box.x + self.box.width
        return [column for column, x, width in self._columns() if x + width <= end]

    def _columns(self) -> Iterator[tuple[int, int, int]]:
        """Columns in sight: number, left end, width."""
        frozen = self.book.frozen(self.sheet)[1]
        x, end, column = self.box.x + _SIDE, self.box.x + self.box.width, 0
        while x < end and column <= LAST_COLUMN:
            if column == frozen:
                column += self._scroll[1]
            width = self.book.column_width(self.sheet, column)
            yield column, x, width
            x += width
            column += 1

    def _rows(self) -> Iterator[tuple[int, int]]:
        """Rows in sight: number, top."""
        frozen = self.book.frozen(self.sheet)[0]
        row = 0
        for i in range(self.page):
            if row == frozen:
                row += self._scroll[0]
            yield row, self.box.y + _HEAD + _ROW * i
            row += 1

    def place_at(self, x: int, y: int) -> tuple[int | None, int | None]:
        """Row and column at a place; None beside the cells, on a header."""
        row = None if y < self.box.y + _HEAD else next((r for r, top in self._rows() if top <= y < top + _ROW), None)
        found = (c for c, left, width in self._columns() if left <= x < left + width)
        column = None if x < self.box.x + _SIDE else next(found, None)
        return row, column

    def press(self, event: Press) -> None:
        """Select what is clicked: a cell, with shift or dragging a rectangle, on a header a column or row."""
        row, column = self.place_at(event.x, event.y)
        extend = event.shift or event.drag
        last_row, last_column = self.book.extent(self.sheet)
        if row is not None and column is not None:
            if extend:
                self.cursor = (row, column)
            else:
                self.go(row, column)
        elif column is not None and not extend and event.y < self.box.y + _HEAD:
            self.select(Range(None, 0, column, max(last_row, 0), column))
        elif row is not None and not extend and event.x < self.box.x + _SIDE:
            self.select(Range(None, row, 0, row, max(last_column, 0)))

    def node(self, name: str, active: bool, editing: str | None, press: Callable[[Press], None]) -> Node:
        """The table with the cells in sight.

        Args:
            name: the document's name, for the node around the table.
            active: whether the cursor has the keyboard.
            editing: the text in the cell that is being edited; None where none is.
            press: what a mouse button does.
        """
        columns, rows = list(self._columns()), list(self._rows())
        area = self.selection
        several = self.anchor != self.cursor
        cells = []
        for (row, column), node in self._cells(rows, columns).items():
            chosen = several and area.top <= row <= area.bottom and area.left <= column <= area.right
            node.text = self.book.text(self.sheet, row, column)
            if chosen or (row, column) == self.cursor:
                here = (row, column) == self.cursor
                states = _PLAIN + ("selected",) * chosen + ("focused",) * (here and active)
                text = editing if here and editing is not None else node.text
                node = Node("table-cell", node.name, node.box, text, states)
            cells.append(node)
        box = Box(self.box.x + _SIDE, self.box.y + _HEAD, self.box.width - _SIDE, self.box.height - _HEAD)
        table = Node("table", f"Sheet {self.sheet}", box, "", _TABLE + ("focused",) * active, children=cells)
        document = Node("document-spreadsheet", name, box, states=("editable", "enabled", "showing", "visible"))
        document.children.append(table)
        paint = partial(self._paint, cells=cells, columns=columns, rows=rows, editing=editing)
        return Node("scroll-pane", "", self.box, children=[document], paint=paint, press=press, wheel=self.scroll)

    def _cells(self, rows: list[tuple[int, int]], columns: list[tuple[int, int, int]]) -> dict[Place, Node]:
        """The nodes of the cells in sight, row by row; they are kept until others come into sight."""
        places = (tuple(rows), tuple(columns))
        if self._kept[0] != places:
            right, bottom = self.box.x + self.box.width, self.box.y + self.box.height
            self._kept = (
                places,
                {
                    (row, column): Node(
                        "table-cell",
                        address(row, column),
                        Box(x, y, min(width, right - x), min(_ROW, bottom - y)),
                        states=_PLAIN,
                    )
                    for row, y in rows
                    for column, x, width in columns
                },
            )
        return self._kept[1]

    def _paint(
        self,
        canvas: Canvas,
        _: Node,
        cells: list[Node],
        columns: list[tuple[int, int, int]],
        rows: list[tuple[int, int]],
        editing: str | None,
    ) -> None:
        box, area = self.box, self.selection
        right, bottom = box.x + box.width, box.y + box.height
        canvas.rectangle(box, WHITE)
        canvas.rectangle(Box(box.x, box.y, box.width, _HEAD), GREY)
        canvas.rectangle(Box(box.x, box.y, _SIDE, box.height), GREY)
        for column, x, width in columns:
            head = Box(x, box.y, width, _HEAD)
            if area.left <= column <= area.right:
                canvas.rectangle(head, BLUE)
            canvas.text(head, address(0, column)[:-1], align="center")
            canvas.line(x + width - 1, box.y, x + width - 1, bottom)
        for row, y in rows:
            head = Box(box.x, y, _SIDE, _ROW)
            if area.top <= row <= area.bottom:
                canvas.rectangle(head, BLUE)
            canvas.text(head, str(row + 1), align="center")
            canvas.line(box.x, y + _ROW - 1, right, y + _ROW - 1)
        width = len(columns)
        for i, node in enumerate(cells):
            self._paint_cell(canvas, node, rows[i // width][0], columns[i % width][0], editing)

    def _paint_cell(self, canvas: Canvas, node: Node, row: int, column: int, editing: str | None) -> None:
        if node.box is None:
            return
        here = (row, column) == self.cursor
        if "selected" in node.states and not here:
            canvas.rectangle(node.box, (205, 225, 247), LINE)
        if node.text:
            edited = here and editing is not None
            value = self.book.value(self.sheet, row, column)
            align = (
                "right" if isinstance(value, (int, float)) and not isinstance(value, bool) and not edited else "left"
            )
            canvas.text(node.box, node.text, align=align)
            if self.book.is_bold(self.sheet, row, column):
                canvas.text(node.box._replace(x=node.box.x + 1), node.text, align=align)
        if here:
            x, y, width, height = node.box
            canvas.rectangle(Box(x - 1, y - 1, width + 1, height + 1), outline=BLUE)
            if editing is not None:
                caret = min(x + 4 + text_width(editing), x + width - 2)
                canvas.line(caret, y + 3, caret, y + height - 5, (20, 20, 20))
