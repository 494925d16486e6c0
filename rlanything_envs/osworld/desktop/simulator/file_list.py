"""The list of a folder's files: order, selection, how it looks."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from functools import partial

from rlanything_envs.osworld.desktop.simulator.drawing import BLUE, LIGHT, LINE, WHITE, Box, Canvas
from rlanything_envs.osworld.desktop.simulator.files import Disk, File
from rlanything_envs.osworld.desktop.simulator.keys import Key
from rlanything_envs.osworld.desktop.simulator.nodes import SHOWN, Node, Press
from rlanything_envs.osworld.desktop.simulator.shell_words import fits

__all__ = ["FileList", "paint_cell"]

_HEAD, _ROW = 25, 28
_TYPES = {
    ".csv": "CSV document",
    ".jpg": "JPEG image",
    ".json": "JSON document",
    ".log": "application log",
    ".md": "Markdown document",
    ".pdf": "PDF document",
    ".png": "PNG image",
    ".py": "Python script",
    ".sh": "shell script",
    ".txt": "plain text document",
    ".xlsx": "Microsoft Excel Worksheet",
}


class FileList:
    """One folder: folders first, then by name; what is selected, and which row has the cursor.

    Args:
        disk: the files.
        path: the folder's absolute path.

    Attributes:
        selected: names of the selected files.
        hidden: whether names that start with a dot are shown.
    """

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk, self.path = disk, path
        self.selected: set[str] = set()
        self.hidden = False
        self._cursor = self._mark = self._sought = ""
        self._first = 0
        self._rows = 1

    def names(self) -> list[str]:
        """The visible rows."""
        if not self._disk.is_folder(self.path):
            return []
        names = [name for name in self._disk.names(self.path) if self.hidden or not name.startswith(".")]
        return sorted(names, key=lambda name: (not self._disk.is_folder(self.full(name)), name.lower(), name))

    def chosen(self) -> list[str]:
        """The selected names in their order."""
        return [name for name in self.names() if name in self.selected]

    def full(self, name: str) -> str:
        """The absolute path of a name."""
        return f"{self.path.rstrip('/')}/{name}"

    def select(self, name: str) -> None:
        """Select one name."""
        self.selected, self._cursor, self._mark = {name}, name, name
        self._show(name)

    def select_all(self) -> None:
        """Select everything."""
        self.selected = set(self.names())

    def select_like(self, pattern: str, exact: bool) -> None:
        """Select the names that a pattern of the shell matches, in any case unless ``exact``."""
        names = [n for n in self.names() if fits(n, pattern) or (not exact and fits(n.lower(), pattern.lower()))]
        self.selected = set(names)
        if names:
            self._cursor = self._mark = names[0]

    def step(self, key: Key) -> None:
        """Move the cursor as an arrow, Home, End, PageUp or PageDown does."""
        self._sought, names = "", self.names()
        if not names:
            return
        at = names.index(self._cursor) if self._cursor in names else 0
        moves = {"Home": -len(names), "End": len(names), "Up": -1, "Down": 1, "Prior": -self._rows, "Next": self._rows}
        to = max(0, min(at + moves[key.plain], len(names) - 1))
        if key.shift and self._mark in names:
            self._extend(names, names[to])
        elif not self.selected and key.plain in ("Up", "Down"):
            self.select(names[at])  # as in GTK: where nothing is selected, an arrow only selects the row it is on
        elif to == at and not self.selected:
            self._cursor = names[at]
        else:
            self.select(names[to])

    def seek(self, letter: str) -> None:
        """Select the first name that starts with the typed text."""
        self._sought += letter.lower()
        found = [name for name in self.names() if name.lower().startswith(self._sought)]
        if found:
            self.select(found[0])

    def forget(self) -> None:
        """Reset the typed text."""
        self._sought = ""

    def press(self, name: str, event: Press) -> None:
        """Change the selection by a mouse button."""
        names = self.names()
        if event.button == 3:
            if name not in self.selected:
                self.select(name)
        elif event.ctrl:
            self.selected ^= {name}
            self._cursor = self._mark = name
        elif event.shift and self._mark in names and name in names:
            self._extend(names, name)
        else:
            self.select(name)

    def _extend(self, names: list[str], name: str) -> None:
        low, high = sorted((names.index(self._mark), names.index(name)))
        self.selected, self._cursor = set(names[low : high + 1]), name
        self._show(name)

    def _show(self, name: str) -> None:
        """Scroll so that a row is in sight."""
        names = self.names()
        if name in names:
            place = names.index(name)
            self._first = max(place - self._rows + 1, min(self._first, place))

    def _scroll(self, rows: int) -> None:
        self._first += rows

    def resize(self, box: Box) -> None:
        """Tell it how large it is, before rows are counted."""
        self._rows = max(1, (box.height - _HEAD) // _ROW)

    def node(
        self, box: Box, focused: bool, press: Callable[[str, Press], None], elsewhere: Callable[[Press], None]
    ) -> Node:
        """The table.

        Args:
            box: its place.
            focused: whether it has the keyboard.
            press: action of a mouse button on a name.
            elsewhere: its action outside of the names.
        """
        names = self.names()
        self.selected &= set(names)
        self._first = max(0, min(self._first, len(names) - self._rows))
        widths = (box.width - 64 - 180 - 90, 64, 180, 90)
        lefts = [box.x + sum(widths[:i]) for i in range(4)]
        heads = [
            Node("table-column-header", name, Box(left, box.y, wide, _HEAD), paint=_paint_head)
            for name, left, wide in zip(("Name", "Size", "Type", "Date Modified"), lefts, widths, strict=True)
        ]
        cells = []
        for row, name in enumerate(names[self._first : self._first + self._rows]):
            states = (*SHOWN, "focusable", "selectable") + ("selected",) * (name in self.selected)
            marked = states + ("focused",) * (focused and name == self._cursor)
            does = partial(press, name)
            for i, text in enumerate((name, *self._details(name))):
                place = Box(lefts[i], box.y + _HEAD + _ROW * row, widths[i], _ROW)
                said = states if i else marked
                cells.append(Node("table-cell", text, place, text, said, ("activate",), [], paint_cell, does))
        own = (*SHOWN, "focusable") + ("focused",) * focused
        return Node("table", "", box, "", own, (), heads + cells, _paint_list, elsewhere, self._scroll)

    def _details(self, name: str) -> tuple[str, str, str]:
        node = self._disk.find(self.full(name))
        if isinstance(node, File):
            kind = _TYPES.get(posixpath.splitext(name)[1].lower(), "plain text document")
            return _size(len(node.data)), kind, "Today"
        return "4.0 KiB", "folder", "Today"

    def status(self) -> str:
        """Number of selected items, or of all."""
        wanted = self.chosen() or self.names()
        nodes = [self._disk.find(self.full(name)) for name in wanted]
        sizes = [len(node.data) for node in nodes if isinstance(node, File)]
        folders = len(wanted) - len(sizes)
        parts = [f"{folders} folder{'s' * (folders != 1)}"] * bool(folders)
        parts += [f"{len(sizes)} file{'s' * (len(sizes) != 1)}: {_size(sum(sizes))}"] * bool(sizes)
        return ("Selection: " if self.selected else "") + ("  |  ".join(parts) or "0 files")


def _size(count: int) -> str:
    if count < 1024:
        return f"{count} byte{'s' * (count != 1)}"
    return f"{count / 1024:.1f} KiB" if count < 1024 * 1024 else f"{count / 1024 / 1024:.1f} MiB"


def _paint_list(canvas: Canvas, node: Node) -> None:
    if node.box is not None:
        canvas.rectangle(node.box, WHITE, LINE)


def _paint_head(canvas: Canvas, node: Node) -> None:
    if node.box is not None:
        canvas.rectangle(node.box, LIGHT, LINE)
        canvas.text(node.box, node.name, (90, 90, 90))


def paint_cell(canvas: Canvas, node: Node) -> None:
    """Paint a name in a list, selected or not."""
    if node.box is not None:
        selected = "selected" in node.states
        if selected:
            canvas.rectangle(node.box, BLUE)
        canvas.text(node.box, node.name, WHITE if selected else (20, 20, 20))
