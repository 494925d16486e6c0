"""Windows in front of a window: questions, names to type, files to choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from rlanything_envs.osworld.desktop.simulator.drawing import BLUE, DARK, LIGHT, WHITE, Box, Canvas
from rlanything_envs.osworld.desktop.simulator.files import HOME, Disk
from rlanything_envs.osworld.desktop.simulator.keys import Key
from rlanything_envs.osworld.desktop.simulator.nodes import SHOWN, Node, Press
from rlanything_envs.osworld.desktop.simulator.text_buffer import Clipboard, TextBuffer
from rlanything_envs.osworld.desktop.simulator.widgets import button, entry, label, tick_box

__all__ = ["Answer", "Dialog", "FileDialog", "Question", "Row", "Tick"]

_WIDTH, _ROW, _TITLE, _GAP = 460, 34, 17, 8
_BUTTON = 110

Answer = Callable[[], str | None]
"""Action of a button. A returned text is an error, which the dialog stays open to show."""


@dataclass(slots=True)
class Tick:
    """A box to tick."""

    name: str
    checked: bool = False


Row = str | tuple[str, TextBuffer] | Tick
"""A text, an entry with its caption, or a box to tick."""


class Dialog:
    """Labels, entries and boxes one below the other, and a row of buttons.

    Args:
        title: in its title bar.
        rows: its content from the top: a text, an entry with its caption, or a box to tick.
        buttons: names and actions; Enter presses the last one, Escape the first.
        role: ``dialog`` or ``alert``.
        focus_default: start with the keyboard on the last button instead of the first row.
    """

    def __init__(
        self,
        title: str,
        rows: Sequence[Row],
        buttons: Sequence[tuple[str, Answer]],
        role: str = "dialog",
        focus_default: bool = False,
    ) -> None:
        self.title, self.role = title, role
        self.rows, self.buttons = list(rows), list(buttons)
        self.problem = ""
        self.closed = False
        inputs = len(self._inputs())
        self.focus = inputs + len(buttons) - 1 if focus_default or not inputs else 0

    def _inputs(self) -> list[TextBuffer | Tick]:
        found: list[TextBuffer | Tick] = []
        for row in self.rows:
            if isinstance(row, Tick):
                found.append(row)
            elif isinstance(row, tuple):
                found.append(row[1])
        return found

    @property
    def _height(self) -> int:
        return _TITLE + _GAP + _ROW * (len(self.rows) + bool(self.problem) + 1) + _GAP

    def answer(self, index: int) -> None:
        """Press a button."""
        self.problem = self.buttons[index][1]() or ""
        self.closed = not self.problem

    def cancel(self) -> None:
        """Action of Escape and of closing the dialog."""
        self.answer(0)

    def key(self, key: Key, clipboard: Clipboard) -> None:
        """Do what a key does."""
        inputs = self._inputs()
        focused = inputs[self.focus] if self.focus < len(inputs) else None
        count = len(inputs) + len(self.buttons)
        match key.combo:
            case "Escape":
                self.cancel()
            case "Tab":
                self._focus((self.focus + 1) % count)
            case "shift+Tab":
                self._focus((self.focus - 1) % count)
            case "Return" | "KP_Enter":
                self.answer(self.focus - len(inputs) if self.focus >= len(inputs) else len(self.buttons) - 1)
            case " " if focused is None:
                self.answer(self.focus - len(inputs))
            case " " if isinstance(focused, Tick):
                focused.checked = not focused.checked
            case "Left" | "Right" if focused is None:
                step = 1 if key.combo == "Right" else -1
                self.focus = max(len(inputs), min(self.focus + step, count - 1))
            case _ if key.combo.startswith("alt+"):
                self._mnemonic(key.name)
            case _ if isinstance(focused, TextBuffer):
                focused.key(key, clipboard)

    def _focus(self, index: int) -> None:
        inputs, self.focus = self._inputs(), index
        if index < len(inputs) and isinstance(entered := inputs[index], TextBuffer):
            entered.select_all()

    def _mnemonic(self, letter: str) -> None:
        for i, (name, _) in enumerate(self.buttons):
            if name.lower().startswith(letter):
                self.answer(i)
                return

    def node(self, screen: Box, active: bool) -> Node:
        """The dialog in the middle of the screen."""
        height = self._height
        box = Box(screen.x + (screen.width - _WIDTH) // 2, screen.y + (screen.height - height) // 2, _WIDTH, height)
        children = [_title_bar(self.title, box)]
        y = box.y + _TITLE + _GAP
        for row in self.rows:
            children += self._row(row, Box(box.x + 12, y, _WIDTH - 24, _ROW - 4))
            y += _ROW
        if self.problem:
            children.append(label(self.problem, Box(box.x + 12, y, _WIDTH - 24, _ROW - 4)))
            y += _ROW
        children += self._buttons(box, y)
        states = ("active",) * active + ("modal", *SHOWN)
        name = "Question" if self.role == "alert" else self.title
        return Node(self.role, name, box, states=states, children=children, paint=_paint_frame)

    def _row(self, row: Row, box: Box) -> list[Node]:
        if isinstance(row, str):
            return [label(row, box)]
        index = self._inputs().index(row if isinstance(row, Tick) else row[1])
        focused = index == self.focus
        if isinstance(row, Tick):
            return [tick_box(row.name, box, row.checked, focused, partial(self._toggle, row, index))]
        caption, buffer = row
        left = 110 if caption else 0
        place = Box(box.x + left, box.y, box.width - left, box.height)
        nodes = [label(caption, Box(box.x, box.y, left, box.height))] if caption else []
        return [*nodes, entry(buffer, place, focused, partial(setattr, self, "focus", index), name=caption)]

    def _toggle(self, tick: Tick, index: int) -> None:
        tick.checked, self.focus = not tick.checked, index

    def _buttons(self, box: Box, y: int) -> list[Node]:
        nodes, first = [], len(self._inputs())
        x = box.x + box.width - (_BUTTON + 6) * len(self.buttons) - 6
        for i, (name, _) in enumerate(self.buttons):
            place = Box(x + (_BUTTON + 6) * i, y, _BUTTON, _ROW - 4)
            focused, default = self.focus == first + i, i == len(self.buttons) - 1
            nodes.append(button(name, place, partial(self.answer, i), focused=focused, default=default))
        return nodes


class Question(Dialog):
    """A question and its answers."""

    def __init__(self, lines: Sequence[str], buttons: Sequence[tuple[str, Answer]], title: str = "Question") -> None:
        super().__init__(title, list(lines), buttons, "alert", focus_default=True)


class FileDialog(Dialog):
    """Choose a file to open, or a place to save to: a name can be typed, an entry of the folder double-clicked.

    Args:
        title: in its title bar.
        disk: the files.
        folder: where it starts.
        name: initial text of the entry.
        accept: takes the absolute path that was chosen.
        button_name: of the button that accepts.
    """

    _ROWS = 12

    def __init__(
        self, title: str, disk: Disk, folder: str, name: str, accept: Callable[[str], str | None], button_name: str
    ) -> None:
        self._disk, self._accept = disk, accept
        self._folder = folder if disk.is_folder(folder) else HOME
        self._name = TextBuffer(name)
        self._first = 0
        super().__init__(title, [("Name:", self._name)], [("Cancel", lambda: None), (button_name, self._chosen)])
        self._name.select(0, len(name.rpartition(".")[0]) or len(name))

    @property
    def _height(self) -> int:
        return super()._height + _ROW + 24 * self._ROWS

    def _chosen(self) -> str | None:
        if not self._name.text.strip():
            return "Type a name."
        path = self._disk.absolute(self._name.text, self._folder)
        if self._disk.is_folder(path):
            self._enter(path)
            return " "
        return self._accept(path)

    def _enter(self, path: str) -> None:
        self._folder, self._first = path, 0
        self._name.text = ""
        self._name.select_all()

    def _names(self) -> list[str]:
        names = [name for name in self._disk.names(self._folder) if not name.startswith(".")]
        return [".."] * (self._folder != "/") + names

    def _buttons(self, box: Box, y: int) -> list[Node]:
        rows: list[Node] = [label(self._folder, Box(box.x + 12, y, box.width - 24, _ROW - 8))]
        table = Box(box.x + 12, y + _ROW - 4, box.width - 24, 24 * self._ROWS)
        names = self._names() if self._disk.is_folder(self._folder) else []
        cells = []
        for i, name in enumerate(names[self._first : self._first + self._ROWS]):
            place = Box(table.x, table.y + 24 * i, table.width, 24)
            cells.append(Node("table-cell", name, place, name, paint=_paint_row, press=partial(self._pressed, name)))
        scroll = partial(self._scroll, len(names))
        rows.append(Node("table", "", table, children=cells, paint=_paint_list, wheel=scroll))
        return rows + super()._buttons(box, y + _ROW + 24 * self._ROWS)

    def _scroll(self, count: int, rows: int) -> None:
        self._first = max(0, min(self._first + rows, count - self._ROWS))

    def _pressed(self, name: str, event: Press) -> None:
        if event.button != 1 or event.drag:
            return
        path = self._disk.absolute(name, self._folder)
        if self._disk.is_folder(path):
            if event.clicks == 2:
                self._enter(path)
            return
        self._name.text = name
        self._name.select_all()
        if event.clicks == 2:
            self.answer(1)


def _title_bar(title: str, box: Box) -> Node:
    return Node("", box=Box(box.x, box.y, box.width, _TITLE), paint=partial(_paint_title, title=title))


def _paint_title(canvas: Canvas, node: Node, title: str) -> None:
    if node.box is not None:
        canvas.rectangle(node.box, BLUE)
        canvas.text(node.box, title, WHITE, "center")


def _paint_frame(canvas: Canvas, node: Node) -> None:
    if node.box is not None:
        canvas.rectangle(node.box, LIGHT, DARK)


def _paint_list(canvas: Canvas, node: Node) -> None:
    if node.box is not None:
        canvas.rectangle(node.box, WHITE, DARK)


def _paint_row(canvas: Canvas, node: Node) -> None:
    if node.box is not None:
        canvas.text(node.box, node.name)
