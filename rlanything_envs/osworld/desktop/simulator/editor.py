"""The text editor, in the manner of Mousepad."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from functools import partial

from rlanything_envs.osworld.desktop.simulator.dialogs import Answer, FileDialog, Question
from rlanything_envs.osworld.desktop.simulator.drawing import LINE, WHITE, Box, Canvas, index_at, text_width
from rlanything_envs.osworld.desktop.simulator.files import HOME, DiskError
from rlanything_envs.osworld.desktop.simulator.keys import Key
from rlanything_envs.osworld.desktop.simulator.menus import MenuItem
from rlanything_envs.osworld.desktop.simulator.nodes import SHOWN, Node, Press
from rlanything_envs.osworld.desktop.simulator.screen import Screen
from rlanything_envs.osworld.desktop.simulator.searching import Search
from rlanything_envs.osworld.desktop.simulator.text_buffer import TextBuffer
from rlanything_envs.osworld.desktop.simulator.widgets import point_buffer
from rlanything_envs.osworld.desktop.simulator.window import Window

__all__ = ["Editor"]

_LINE, _INSET = 18, 4
_LONGEST = 200_000
"""Bytes of a file that can be opened."""


class Editor(Window):
    """One file, or a text without one.

    Args:
        screen: where it is.
        path: an absolute path; a new file is made when it is saved.

    Attributes:
        path: the file's absolute path; None for a text that was never saved.
    """

    application = "mousepad"
    window_class = "mousepad.Mousepad"

    def __init__(self, screen: Screen, path: str | None = None) -> None:
        super().__init__(screen)
        self.path: str | None = None
        self._buffer = TextBuffer(lines=True)
        self._saved = ""
        self._first = 0
        self._search = Search(lambda: self._buffer, self._show_cursor, _LONGEST)
        if path is not None:
            self._load(path)

    @property
    def title(self) -> str:
        """``*`` for unsaved changes, the path, the program."""
        shown = "Untitled 1" if self.path is None else self.path
        if shown.startswith(HOME + "/"):
            shown = "~" + shown[len(HOME) :]
        return f"{'*' if self.changed else ''}{shown} - Mousepad"

    @property
    def changed(self) -> bool:
        """Whether the text differs from the file."""
        return self._buffer.text != self._saved

    def menus(self) -> Mapping[str, Sequence[MenuItem]]:
        """File, Edit and Search, with the entries that do something here."""
        buffer, clipboard = self._buffer, self.screen.clipboard
        selected = bool(buffer.selected)
        return {
            "File": (
                MenuItem("New", self._new, "Ctrl+N"),
                MenuItem("Open...", self._ask_open, "Ctrl+O"),
                MenuItem("Save", self._save, "Ctrl+S"),
                MenuItem("Save As...", self._ask_save, "Shift+Ctrl+S"),
                MenuItem("Close Window", self.ask_close, "Ctrl+Q"),
            ),
            "Edit": (
                MenuItem("Undo", buffer.undo, "Ctrl+Z"),
                MenuItem("Redo", buffer.redo, "Ctrl+Y"),
                MenuItem("Cut", partial(buffer.cut, clipboard), "Ctrl+X", selected),
                MenuItem("Copy", partial(buffer.copy, clipboard), "Ctrl+C", selected),
                MenuItem("Paste", lambda: buffer.insert(clipboard.text), "Ctrl+V", bool(clipboard.text)),
                MenuItem("Delete Selection", lambda: buffer.insert(""), "Delete", selected),
                MenuItem("Select All", buffer.select_all, "Ctrl+A"),
            ),
            "Search": (
                MenuItem("Find", self._find, "Ctrl+F"),
                MenuItem("Find and Replace...", self._replace, "Ctrl+R"),
                MenuItem("Go to...", self._go_to, "Ctrl+L"),
            ),
        }

    def handle(self, key: Key) -> None:
        """Type, or do what a menu entry's keys do."""
        commands = {
            "ctrl+n": self._new,
            "ctrl+o": self._ask_open,
            "ctrl+s": self._save,
            "ctrl+shift+s": self._ask_save,
            "ctrl+q": self.ask_close,
            "ctrl+w": self.ask_close,
            "ctrl+f": self._find,
            "ctrl+r": self._replace,
            "ctrl+l": self._go_to,
        }
        command = commands.get(key.combo)
        if command is not None:
            command()
        elif self._buffer.key(key, self.screen.clipboard):
            self._show_cursor()

    # --- files ---

    def _load(self, path: str) -> str | None:
        disk = self.screen.disk
        try:
            data = disk.read(path) if disk.find(path) is not None else b""
        except DiskError as error:
            return error.reason
        if len(data) > _LONGEST:
            return f"The file is larger than {_LONGEST} bytes."
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return "The file is not UTF-8 text."
        self.path, self._saved, self._first = path, text, 0
        self._buffer = TextBuffer(text, lines=True)
        return None

    def load_or_tell(self, path: str) -> None:
        """Show a file, or say why it cannot be shown."""
        problem = self._load(path)
        if problem:
            self.tell(f'Failed to open "{path}". {problem}')

    @property
    def _folder(self) -> str:
        return posixpath.dirname(self.path) if self.path else HOME

    def _ask_open(self) -> None:
        self.ask(FileDialog("Open File", self.screen.disk, self._folder, "", self._show, "Open"))

    def _show(self, path: str) -> str | None:
        """Show a file here where there is nothing yet, else in another window."""
        if not self.screen.disk.is_file(path):
            return "There is no such file."
        if self.path is None and not self._buffer.text:
            return self._load(path)
        self.screen.start(["mousepad", path])
        return None

    def _save(self) -> None:
        """Save; a text without a name asks for one."""
        if self.path is None:
            self._ask_save()
        elif problem := self._store(self.path):
            self.tell(problem)

    def _ask_save(self) -> None:
        name = posixpath.basename(self.path) if self.path else ""
        self.ask(FileDialog("Save As", self.screen.disk, self._folder, name, self._save_as, "Save"))

    def _save_as(self, path: str) -> str | None:
        if path != self.path and self.screen.disk.is_file(path):
            lines = [f'A file named "{posixpath.basename(path)}" already exists.', "Do you want to replace it?"]
            self.ask(Question(lines, [("Cancel", lambda: None), ("Replace", partial(self._store, path))]))
            return None
        return self._store(path)

    def _store(self, path: str) -> str | None:
        """Write the text as UTF-8; returns an error message, or None."""
        try:
            self.screen.disk.write(path, self._buffer.text.encode(errors="replace"))
        except DiskError as error:
            return f"Failed to save the document. {error.reason}"
        self.path, self._saved = path, self._buffer.text
        return None

    def _new(self) -> None:
        self.screen.start(["mousepad"])

    def ask_close(self) -> None:
        """Close; where there are changes, ask whether to save them."""
        if not self.changed:
            self.screen.remove(self)
            return
        lines = [
            "Do you want to save the changes before closing?",
            "If you don't save the document, all the changes will be lost.",
        ]
        answers: list[tuple[str, Answer]] = [
            ("Cancel", lambda: None),
            ("Don't Save", partial(self.screen.remove, self)),
            ("Save", self._save_and_leave),
        ]
        self.ask(Question(lines, answers, "Save Changes"))

    def _save_and_leave(self) -> str | None:
        if self.path is None:
            self._ask_save()
            return None
        problem = self._store(self.path)
        if problem is None:
            self.screen.remove(self)
        return problem

    # --- searching ---

    def _find(self) -> None:
        self.ask(self._search.finding())

    def _replace(self) -> None:
        self.ask(self._search.replacing())

    def _go_to(self) -> None:
        self.ask(self._search.going())

    # --- showing ---

    @property
    def _rows(self) -> int:
        return max(1, (self.area.height - 2 * _INSET) // _LINE)

    def _show_cursor(self) -> None:
        line, _ = self._buffer.line_of(self._buffer.cursor)
        self._first = max(line - self._rows + 1, min(self._first, line))

    def _scroll(self, rows: int) -> None:
        self._first = max(0, min(self._first + rows, self._buffer.text.count("\n")))

    def content(self, active: bool) -> list[Node]:
        """The text."""
        states = ("editable", *SHOWN, "focusable", "multi_line") + ("focused",) * active
        paint = partial(self._paint, active=active)
        node = Node("text", "", self.area, self._buffer.text, states, paint=paint, press=self._press)
        node.wheel = self._scroll
        return [Node("scroll-pane", "", self.area, children=[node])]

    def _press(self, event: Press) -> None:
        line = self._first + max(0, (event.y - self.area.y - _INSET) // _LINE)
        start = self._buffer.place_of(line, 0)
        text = self._buffer.text[start : self._buffer.place_of(line, 1 << 30)]
        point_buffer(self._buffer, event, start + index_at(text, event.x - self.area.x - _INSET))

    def _paint(self, canvas: Canvas, _: Node, active: bool) -> None:
        canvas.rectangle(self.area, WHITE, LINE)
        first, last = self._buffer.selection
        start = self._buffer.place_of(self._first, 0)
        y = self.area.y + _INSET
        for text in self._buffer.text[start:].split("\n", self._rows)[: self._rows]:
            left = self.area.x + _INSET
            if first < start + len(text) + 1 and last > start:
                begin = text_width(text[: max(0, first - start)])
                end = text_width(text[: last - start]) + (4 if last > start + len(text) else 0)
                canvas.rectangle(Box(left + begin, y, end - begin, _LINE), (180, 213, 247))
            canvas.text(Box(left - 3, y, self.area.width - _INSET, _LINE), text)
            if active and start <= self._buffer.cursor <= start + len(text):
                x = left + text_width(text[: self._buffer.cursor - start])
                canvas.line(x, y, x, y + _LINE - 2, (20, 20, 20))
            y += _LINE
            start += len(text) + 1
