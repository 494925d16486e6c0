"""The spreadsheet, in the manner of LibreOffice Calc."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from rlanything_envs.osworld.desktop.simulator.cells import edit_text, read_typed, shown
from rlanything_envs.osworld.desktop.simulator.dialogs import Answer, Dialog, Row, Tick
from rlanything_envs.osworld.desktop.simulator.document import Document
from rlanything_envs.osworld.desktop.simulator.files import DiskError
from rlanything_envs.osworld.desktop.simulator.formulas import Range, address, place_of
from rlanything_envs.osworld.desktop.simulator.grid import Grid
from rlanything_envs.osworld.desktop.simulator.keys import Key
from rlanything_envs.osworld.desktop.simulator.menus import MenuItem
from rlanything_envs.osworld.desktop.simulator.nodes import SHOWN, Box, Node, Press
from rlanything_envs.osworld.desktop.simulator.screen import Screen
from rlanything_envs.osworld.desktop.simulator.sheet_edits import SheetEdits
from rlanything_envs.osworld.desktop.simulator.text_buffer import TextBuffer
from rlanything_envs.osworld.desktop.simulator.widgets import button, entry, label, panel
from rlanything_envs.osworld.desktop.simulator.workbook import Workbook, WorkbookError

__all__ = ["Sheet"]

_TOOLS, _LINE, _TABS, _STATUS = 42, 34, 23, 20


class Sheet(Document):
    """A workbook and one of its sheets.

    Args:
        screen: where it is.
        path: an absolute path; None for a new workbook.
    """

    application = "soffice"
    window_class = "libreoffice.libreoffice-calc"
    new_name = "Untitled 1.xlsx"
    closing = ("Save Document?", "Save changes before closing?", "Your changes will be lost if you don't save them.")

    def __init__(self, screen: Screen, path: str | None = None) -> None:
        super().__init__(screen)
        self._use(Workbook())
        if path is not None:
            self.open(path)

    def _use(self, book: Workbook) -> None:
        x, y, width, height = self.area
        top = _TOOLS + _LINE
        box = Box(x, y + top, width, height - top - _TABS - _STATUS)
        self._book = book
        self._grids = {name: Grid(book, name, box) for name in book.sheets}
        self._sheet = book.sheets[0]
        self._edit: TextBuffer | None = None
        self._typed = False
        self._suggest = False
        self._name_box: TextBuffer | None = None
        self._tab_column: int | None = None

    @property
    def _grid(self) -> Grid:
        return self._grids[self._sheet]

    @property
    def _edits(self) -> SheetEdits:
        return SheetEdits(self._book, self._grid, self.screen.clipboard, self.tell)

    @property
    def title(self) -> str:
        """The file's name, the program."""
        return f"{posixpath.basename(self.path) if self.path else 'Untitled 1'} - LibreOffice Calc"

    def menus(self) -> Mapping[str, Sequence[MenuItem]]:
        """The menus, with the entries that do something here."""
        edits = self._edits
        return {
            "File": (
                MenuItem("Open...", self.ask_open, "Ctrl+O"),
                MenuItem("Save", self.save, "Ctrl+S"),
                MenuItem("Save As...", self.ask_save, "Ctrl+Shift+S"),
                MenuItem("Close", self.ask_close, "Ctrl+W"),
            ),
            "Edit": (
                MenuItem("Undo", self._undo, "Ctrl+Z"),
                MenuItem("Redo", self._redo, "Ctrl+Y"),
                MenuItem("Cut", edits.cut, "Ctrl+X"),
                MenuItem("Copy", edits.copy, "Ctrl+C"),
                MenuItem("Paste", edits.paste, "Ctrl+V"),
                MenuItem("Select All", self._select_all, "Ctrl+A"),
            ),
            "View": (MenuItem("Freeze Rows and Columns", self._freeze),),
            "Format": (MenuItem("Bold", edits.bold, "Ctrl+B"),),
            "Sheet": (
                MenuItem("Clear Cells...", self._ask_clear, "Backspace"),
                MenuItem("Fill Down", edits.fill_down, "Ctrl+D"),
                MenuItem("Insert Sheet at End...", self._add_sheet),
                MenuItem("Rename Sheet...", self._ask_sheet_name),
            ),
            "Data": (
                MenuItem("Sort...", lambda: None, enabled=False),  # greyed, so that the keys count the same entries
                MenuItem("Sort Ascending", partial(edits.sort, False)),
                MenuItem("Sort Descending", partial(edits.sort, True)),
            ),
        }

    # --- keys ---

    def handle(self, key: Key) -> None:
        """Move, start or go on editing, or do what a menu entry's keys do."""
        if self._name_box is not None:
            self._type_name(self._name_box, key)
        elif key.combo in ("ctrl+s", "ctrl+shift+s", "ctrl+o", "ctrl+w", "ctrl+q"):
            self._commit()
            commands: dict[str, Callable[[], object]] = {
                "ctrl+s": self.save,
                "ctrl+shift+s": self.ask_save,
                "ctrl+o": self.ask_open,
            }
            commands.get(key.combo, self.ask_close)()
        elif self._edit is not None:
            self._type(self._edit, key)
        elif key.char:
            self._begin(key.char)
        elif not self._move(key):
            self._command(key.combo)

    def _command(self, combo: str) -> None:
        edits = self._edits
        commands: dict[str, Callable[[], object]] = {
            "F2": partial(self._begin, None),
            "Delete": edits.clear,
            "BackSpace": self._ask_clear,
            "ctrl+c": edits.copy,
            "ctrl+x": edits.cut,
            "ctrl+v": edits.paste,
            "ctrl+z": self._undo,
            "ctrl+y": self._redo,
            "ctrl+shift+z": self._redo,
            "ctrl+a": self._select_all,
            "ctrl+b": edits.bold,
            "ctrl+d": edits.fill_down,
            "ctrl+Next": partial(self._step_sheet, 1),
            "ctrl+Prior": partial(self._step_sheet, -1),
        }
        if combo in commands:
            commands[combo]()

    def _move(self, key: Key) -> bool:
        """Move the cursor; whether the key does."""
        row, column = self._grid.cursor
        last_row, last_column = self._book.extent(self._sheet)
        page = self._grid.page
        targets = {
            "Left": (row, column - 1),
            "Right": (row, column + 1),
            "Up": (row - 1, column),
            "Down": (row + 1, column),
            "Home": (row, 0),
            "End": (row, last_column),
            "Prior": (row - page, column),
            "Next": (row + page, column),
            "ctrl+Home": (0, 0),
            "ctrl+End": (last_row, last_column),
        }
        steps = {"ctrl+Left": (0, -1), "ctrl+Right": (0, 1), "ctrl+Up": (-1, 0), "ctrl+Down": (1, 0)}
        if key.combo in ("Return", "KP_Enter", "shift+Return"):
            start = column if self._tab_column is None else self._tab_column
            self._grid.go(row + (-1 if key.shift else 1), column if key.shift else start)
            self._tab_column = None
        elif key.plain == "Tab":
            self._tab_column = column if self._tab_column is None else self._tab_column
            self._grid.go(row, column + (-1 if key.shift else 1))
        elif key.plain in targets or key.plain in steps:
            self._tab_column = None
            place = targets.get(key.plain) or self._edits.edge(*steps[key.plain])
            self._grid.go(*place, extend=key.shift)
        else:
            return False
        return True

    def _begin(self, text: str | None) -> None:
        """Edit the cell: from a typed letter, or what is in it."""
        row, column = self._grid.cursor
        content = self._book.content(self._sheet, row, column)
        number_format = self._book.number_format(self._sheet, row, column)
        self._edit = TextBuffer(edit_text(content, number_format) if text is None else text)
        self._typed = self._suggest = text is not None

    def _type(self, buffer: TextBuffer, key: Key) -> None:
        arrows = ("Left", "Right", "Up", "Down")
        if key.combo == "Escape":
            self._edit = None
        elif key.plain in ("Return", "KP_Enter", "Tab") or (self._typed and key.combo in arrows):
            self._commit()
            self._move(key)
        else:
            buffer.key(key, self.screen.clipboard)
            self._suggest = bool(key.char) and self._typed
            if key.combo == "F2":
                self._typed = False

    def _commit(self) -> None:
        """Store what was edited, completed where the column has a text that starts so."""
        if self._edit is None:
            return
        text = self._editing_text or ""
        self._edit = None
        content, number_format = read_typed(text)
        if not self._book.put(self._sheet, {self._grid.cursor: (content, number_format)}):
            self.tell("The sheet is full.")

    @property
    def _editing_text(self) -> str | None:
        """What the cell under edit shows: what was typed, and the rest of a text from its column."""
        if self._edit is None:
            return None
        text = self._edit.text
        if not self._suggest or not text[:1].isalpha() or self._edit.cursor != len(text):
            return text
        row, column = self._grid.cursor
        last, _ = self._book.extent(self._sheet)
        values = (
            self._book.content(self._sheet, r, column)
            for r, _ in self._book.used(self._sheet, Range(None, 0, column, last, column))
            if r != row
        )
        fits = sorted(v for v in values if isinstance(v, str) and v.lower().startswith(text.lower()))
        return fits[0] if fits else text

    # --- what menus do ---

    def _undo(self) -> None:
        self._turn_to(self._book.undo())

    def _redo(self) -> None:
        self._turn_to(self._book.redo())

    def _turn_to(self, sheet: str | None) -> None:
        self._sheet = sheet or self._sheet

    def _select_all(self) -> None:
        self._grid.select(Range(None, 0, 0, *self._book.extent(self._sheet)))

    def _freeze(self) -> None:
        frozen = self._book.frozen(self._sheet)
        self._book.freeze(self._sheet, (0, 0) if frozen != (0, 0) else self._grid.cursor)

    def _ask_clear(self) -> None:
        everything = Tick("Delete all", True)
        rows: list[Row] = ["Selection", everything]
        answers = [("Cancel", lambda: None), ("OK", lambda: self._edits.clear() if everything.checked else None)]
        self.ask(Dialog("Delete Contents", rows, answers))

    def _add_sheet(self) -> None:
        name = self._book.add_sheet()
        self._grids.setdefault(name, Grid(self._book, name, self._grid.box))
        self._sheet = name

    def _step_sheet(self, step: int) -> None:
        names = self._book.sheets
        self._sheet = names[max(0, min(names.index(self._sheet) + step, len(names) - 1))]

    def _ask_sheet_name(self) -> None:
        name = TextBuffer(self._sheet)
        name.select_all()
        answers: list[tuple[str, Answer]] = [
            ("Cancel", lambda: None),
            ("OK", partial(self._rename_sheet, self._sheet, name)),
        ]
        self.ask(Dialog("Rename Sheet", ["Name", ("", name)], answers))

    def _rename_sheet(self, old: str, name: TextBuffer) -> str | None:
        problem = self._book.rename_sheet(old, name.text)
        if problem is None:
            grid = self._grids.pop(old)
            grid.sheet = self._sheet = name.text
            self._grids[name.text] = grid
        return problem

    # --- files ---

    def open(self, path: str) -> None:
        """Show a file; a csv file asks how to read it, one that cannot be read says so."""
        if path.lower().endswith(".csv"):
            rows = ["Separated by: Comma", "Character set: Unicode (UTF-8)"]
            answers: list[tuple[str, Answer]] = [("Cancel", self._leave_empty), ("OK", partial(self._load, path))]
            self.ask(Dialog(f"Text Import - [{posixpath.basename(path)}]", rows, answers))
        elif problem := self._load(path):
            self.tell(problem)

    def _leave_empty(self) -> None:
        if self.path is None and self in self.screen.windows:
            self.screen.remove(self)

    def _load(self, path: str) -> str | None:
        try:
            book = Workbook(self.screen.disk.read(path), posixpath.basename(path))
        except (DiskError, WorkbookError) as error:
            return f"{posixpath.basename(path)} cannot be opened: {error}"
        self.path = path
        self._use(book)
        return None

    @property
    def changed(self) -> bool:
        """Whether the workbook differs from what was read or stored, or a cell is being edited."""
        return self._book.changed or self._edit is not None

    def show(self, path: str) -> str | None:
        """In another window."""
        self.screen.start(["xdg-open", path])
        return None

    def named(self, path: str) -> str:
        """With the suffix of a workbook where it has none."""
        return path if path.lower().endswith((".xlsx", ".csv")) else f"{path}.xlsx"

    def store(self, path: str) -> str | None:
        """Write an xlsx file, or csv where the name says so."""
        self._commit()
        self._book.set_kind(path)
        try:
            self.screen.disk.write(path, self._book.data(self._sheet))
        except DiskError as error:
            return f"Error saving the document: {error.reason}"
        self.path, self._book.changed = path, False
        return None

    # --- name box ---

    def _type_name(self, buffer: TextBuffer, key: Key) -> None:
        if key.combo in ("Return", "KP_Enter"):
            first, _, last = buffer.text.partition(":")
            start, end = place_of(first), place_of(last or first)
            if start is not None and end is not None:
                rows, columns = sorted((start[0], end[0])), sorted((start[1], end[1]))
                self._grid.select(Range(None, rows[0], columns[0], rows[1], columns[1]))
            self._name_box = None
        elif key.combo in ("Escape", "Tab"):
            self._name_box = None
        else:
            buffer.key(key, self.screen.clipboard)

    def _focus_name(self) -> None:
        if self._name_box is None:
            self._commit()
            self._name_box = TextBuffer(self._address)
            self._name_box.select_all()

    @property
    def _address(self) -> str:
        area = self._grid.selection
        first, last = address(area.top, area.left), address(area.bottom, area.right)
        return first if first == last else f"{first}:{last}"

    # --- showing ---

    def content(self, active: bool) -> list[Node]:
        """Tools, the input line, the cells, the tabs and a line about the selection."""
        x, y, width, height = self.area
        in_cells = active and self._name_box is None
        name = f"file://{self.path or '/Untitled 1'} - LibreOffice Spreadsheets"
        tabs, status = Box(x, y + height - _TABS - _STATUS, width, _TABS), Box(x, y + height - _STATUS, width, _STATUS)
        return [
            self._tools(Box(x, y, width, _TOOLS)),
            self._input(Box(x, y + _TOOLS, width, _LINE), active),
            self._grid.node(name, in_cells, self._editing_text, self._press),
            self._tabs(tabs),
            panel("status-bar", status, self._status(status)),
        ]

    def _tools(self, box: Box) -> Node:
        edits = self._edits
        tools: dict[str, Callable[[], object]] = {
            "Open": self.ask_open,
            "Save": self.save,
            "Cut": edits.cut,
            "Copy": edits.copy,
            "Paste": edits.paste,
            "Undo": self._undo,
            "Redo": self._redo,
            "Sort Ascending": partial(edits.sort, False),
            "Sort Descending": partial(edits.sort, True),
            "Freeze Rows and Columns": self._freeze,
            "Bold": edits.bold,
        }
        nodes, left = [], box.x + 4
        for name, action in tools.items():
            wide = 30 + 7 * len(name)
            place = Box(left, box.y + 5, wide, box.height - 10)
            nodes.append(button(name, place, partial(self._commit_and, action)))
            left += wide + 4
        return panel("tool-bar", box, nodes, name="Standard")

    def _commit_and(self, action: Callable[[], object]) -> None:
        self._commit()
        action()

    def _input(self, box: Box, active: bool) -> Node:
        named = self._name_box or TextBuffer(self._address)
        left = Box(box.x + 4, box.y + 3, 126, box.height - 6)
        right = Box(box.x + 140, box.y + 3, box.width - 146, box.height - 6)
        row, column = self._grid.cursor
        content = self._book.content(self._sheet, row, column)
        number_format = self._book.number_format(self._sheet, row, column)
        line = self._edit or TextBuffer(edit_text(content, number_format))
        boxes = [
            entry(named, left, active and self._name_box is not None, self._focus_name, name="Name Box"),
            entry(line, right, False, self._focus_line, name="Input line"),
        ]
        return panel("tool-bar", box, boxes, name="Formula Tool Bar")

    def _focus_line(self) -> None:
        if self._edit is None:
            self._begin(None)

    def _tabs(self, box: Box) -> Node:
        nodes = [button("Add", Box(box.x + 4, box.y + 1, 40, box.height - 2), self._add_sheet, shown="+")]
        left = box.x + 50
        for name in self._book.sheets:
            wide = 24 + 8 * len(name)
            tab = Box(left, box.y, wide, box.height)
            states = (*SHOWN, "selectable") + ("selected",) * (name == self._sheet)
            node = button(name, tab, lambda: None, role="page-tab", pressed=name == self._sheet)
            node.states, node.actions, node.press = states, (), partial(self._press_tab, name)
            nodes.append(node)
            left += wide
        return panel("page-tab-list", box, nodes)

    def _press_tab(self, name: str, event: Press) -> None:
        if not event.drag:
            self._commit()
            self._sheet = name
            if event.clicks == 2:
                self._ask_sheet_name()

    def _status(self, box: Box) -> list[Node]:
        names = self._book.sheets
        first = f"Sheet {names.index(self._sheet) + 1} of {len(names)}"
        numbers = [
            value
            for place in self._book.used(self._sheet, self._grid.selection)
            if isinstance(value := self._book.value(self._sheet, *place), (int, float)) and not isinstance(value, bool)
        ]
        total = shown(sum(numbers)) if numbers else "0"
        average = shown(sum(numbers) / len(numbers)) if numbers else ""
        third = box.width // 2
        return [
            label(first, Box(box.x + 4, box.y, third - 4, box.height)),
            label(f"Average: {average}; Sum: {total}", Box(box.x + third, box.y, third - 4, box.height), "right"),
        ]

    def _press(self, event: Press) -> None:
        """A mouse button on the cells."""
        row, column = self._grid.place_at(event.x, event.y)
        if self._edit is not None and not event.drag:
            text = self._edit.text
            if row is not None and column is not None and text.startswith("=") and text[-1] in "=(,;+-*/^&<>:":
                self._edit.insert(address(row, column))  # a click while a formula waits for a cell names it
                return
            self._commit()
        self._name_box = self._tab_column = None
        if event.button == 1:
            self._grid.press(event)
            if event.clicks == 2 and not event.drag and row is not None and column is not None:
                self._begin(None)
        elif event.button == 3 and row is not None and column is not None:
            area = self._grid.selection
            if not (area.top <= row <= area.bottom and area.left <= column <= area.right):
                self._grid.go(row, column)
            menus = self.menus()
            self.menu.popup([*menus["Edit"][2:5], menus["Sheet"][0]], event.x, event.y)
