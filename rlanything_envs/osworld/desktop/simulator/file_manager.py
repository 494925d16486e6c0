"""The file manager, in the manner of Thunar's list of details."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from rlanything_envs.osworld.desktop.simulator.dialogs import Answer, Dialog, Question, Tick
from rlanything_envs.osworld.desktop.simulator.drawing import WHITE, Box
from rlanything_envs.osworld.desktop.simulator.file_list import FileList, paint_cell
from rlanything_envs.osworld.desktop.simulator.files import HOME, DiskError
from rlanything_envs.osworld.desktop.simulator.keys import Key
from rlanything_envs.osworld.desktop.simulator.menus import MenuItem
from rlanything_envs.osworld.desktop.simulator.nodes import SHOWN, Node, Press
from rlanything_envs.osworld.desktop.simulator.screen import ProgramError, Screen
from rlanything_envs.osworld.desktop.simulator.text_buffer import TextBuffer
from rlanything_envs.osworld.desktop.simulator.widgets import button, entry, panel
from rlanything_envs.osworld.desktop.simulator.window import Window

__all__ = ["FileManager"]

_TOOLS, _SIDE, _STATUS = 42, 170, 25


class FileManager(Window):
    """One folder as a list: folders first, then by name.

    Args:
        screen: where it is.
        path: the folder's absolute path.
    """

    application = "thunar"
    window_class = "thunar.Thunar"

    def __init__(self, screen: Screen, path: str) -> None:
        super().__init__(screen)
        self._list = self._listed(path)
        self._location = TextBuffer(_shown(path))
        self._in_location = False
        self._past: list[str] = []
        self._future: list[str] = []

    def _listed(self, path: str) -> FileList:
        files = FileList(self.screen.disk, path)
        files.resize(self._list_box)
        return files

    @property
    def _path(self) -> str:
        return self._list.path

    @property
    def title(self) -> str:
        """The folder's name, the program."""
        return f"{posixpath.basename(self._path) or 'File System'} - Thunar"

    def menus(self) -> Mapping[str, Sequence[MenuItem]]:
        """File, Edit, View and Go, with the entries that do something here."""
        clipboard = self.screen.clipboard
        some, one = bool(self._list.selected), len(self._list.selected) == 1
        return {
            "File": (
                MenuItem("New Window", self._new_window, "Ctrl+N"),
                MenuItem("Create Folder...", self._ask_folder, "Shift+Ctrl+N"),
                MenuItem("Open", self._open, "Return", some),
                MenuItem("Close Window", self.ask_close, "Ctrl+Q"),
            ),
            "Edit": (
                MenuItem("Cut", partial(self._copy, True), "Ctrl+X", some),
                MenuItem("Copy", partial(self._copy, False), "Ctrl+C", some),
                MenuItem("Paste", self._paste, "Ctrl+V", bool(clipboard.files)),
                MenuItem("Delete", self._ask_delete, "Delete", some),
                MenuItem("Select all Files", self._list.select_all, "Ctrl+A"),
                MenuItem("Select by Pattern...", self._ask_pattern, "Ctrl+S"),
                MenuItem("Rename...", self._ask_name, "F2", one),
            ),
            "View": (MenuItem("Show Hidden Files", self._toggle_hidden, "Ctrl+H"),),
            "Go": (
                MenuItem("Open Parent", self._up, "Alt+Up", self._path != "/"),
                MenuItem("Back", self._back, "Alt+Left", bool(self._past)),
                MenuItem("Forward", self._forward, "Alt+Right", bool(self._future)),
                MenuItem("Home", partial(self._go, HOME), "Alt+Home"),
                MenuItem("Desktop", partial(self._go, f"{HOME}/Desktop")),
                MenuItem("Open Location...", self._focus_location, "Ctrl+L"),
            ),
        }

    def handle(self, key: Key) -> None:
        """Move through the list, or do what a menu entry's keys do."""
        if self._in_location:
            self._type_location(key)
            return
        commands: dict[str, Callable[[], object]] = {
            "ctrl+n": self._new_window,
            "ctrl+shift+n": self._ask_folder,
            "ctrl+q": self.ask_close,
            "ctrl+w": self.ask_close,
            "Return": self._open,
            "KP_Enter": self._open,
            "ctrl+x": partial(self._copy, True),
            "ctrl+c": partial(self._copy, False),
            "ctrl+v": self._paste,
            "Delete": self._ask_delete,
            "shift+Delete": self._ask_delete,
            "ctrl+a": self._list.select_all,
            "ctrl+s": self._ask_pattern,
            "F2": self._ask_name,
            "ctrl+h": self._toggle_hidden,
            "alt+Up": self._up,
            "BackSpace": self._back,
            "alt+Left": self._back,
            "alt+Right": self._forward,
            "alt+Home": partial(self._go, HOME),
            "ctrl+l": self._focus_location,
        }
        command = commands.get(key.combo)
        if command is not None:
            self._list.forget()
            command()
        elif key.plain in ("Up", "Down", "Home", "End", "Prior", "Next"):
            self._list.step(key)
        elif key.combo == "Escape":
            self._list.forget()
        elif key.char in ("/", "~"):  # the beginning of a path
            self._list.forget()
            self._focus_location()
            self._type_location(key)
        elif key.char:
            self._list.seek(key.char)

    def _toggle_hidden(self) -> None:
        self._list.hidden = not self._list.hidden

    # --- folders ---

    def _go(self, path: str, remember: bool = True) -> None:
        if not self.screen.disk.is_folder(path):
            self.tell(f'Failed to open "{path}". No such file or directory.')
            return
        if remember and path != self._path:
            self._past, self._future = [*self._past[-100:], self._path], []
        old, hidden = self._path, self._list.hidden
        self._list, self._location, self._in_location = self._listed(path), TextBuffer(_shown(path)), False
        self._list.hidden = hidden
        if posixpath.dirname(old) == path and old != path:
            self._list.select(posixpath.basename(old))

    def _up(self) -> None:
        if self._path != "/":
            self._go(posixpath.dirname(self._path))

    def _back(self) -> None:
        if self._past:
            self._future.append(self._path)
            self._go(self._past.pop(), remember=False)

    def _forward(self) -> None:
        if self._future:
            self._past.append(self._path)
            self._go(self._future.pop(), remember=False)

    def _new_window(self) -> None:
        self.screen.start(["thunar", self._path])

    def _focus_location(self) -> None:
        self._in_location = True
        self._location.select_all()

    def _type_location(self, key: Key) -> None:
        if key.combo in ("Return", "KP_Enter"):
            self._go(self.screen.disk.absolute(self._location.text, self._path))
        elif key.combo in ("Escape", "Tab"):
            self._in_location, self._location = False, TextBuffer(_shown(self._path))
        else:
            self._location.key(key, self.screen.clipboard)

    # --- files ---

    def _open(self) -> None:
        chosen = self._list.chosen()
        folders = [name for name in chosen if self.screen.disk.is_folder(self._list.full(name))]
        if len(chosen) == 1 and folders:
            self._go(self._list.full(chosen[0]))
            return
        for name in chosen[:5]:
            try:
                self.screen.start(["xdg-open", self._list.full(name)])
            except ProgramError as error:
                self.tell(str(error))
                return

    def _copy(self, cut: bool) -> None:
        if self._list.selected:
            paths = tuple(self._list.full(name) for name in self._list.chosen())
            self.screen.clipboard.put_text("\n".join(paths))
            self.screen.clipboard.files, self.screen.clipboard.cut = paths, cut

    def _paste(self) -> None:
        clipboard, disk, pasted = self.screen.clipboard, self.screen.disk, set()
        for source in clipboard.files:
            name = posixpath.basename(source)
            target = self._list.full(name)
            if source == target and clipboard.cut:
                continue
            if disk.find(target) is not None:
                target = self._free_name(name)
            try:
                (disk.move if clipboard.cut else disk.copy)(source, target)
            except DiskError as error:
                self.tell(f'Failed to paste "{name}". {error.reason}.')
                break
            pasted.add(posixpath.basename(target))
        if clipboard.cut:
            clipboard.put_text("")
        self._list.selected = pasted or self._list.selected

    def _free_name(self, name: str) -> str:
        """A free path for a copy in the folder of a file of the same name."""
        stem, suffix = posixpath.splitext(name)
        number = 1
        while self.screen.disk.find(path := self._list.full(f"{stem} (copy {number}){suffix}")) is not None:
            number += 1
        return path

    def _ask_folder(self) -> None:
        name = TextBuffer("New Folder")
        name.select_all()
        answers: list[tuple[str, Answer]] = [("Cancel", lambda: None), ("Create", partial(self._make_folder, name))]
        self.ask(Dialog("Create New Folder", ["Enter the name:", ("", name)], answers))

    def _make_folder(self, name: TextBuffer) -> str | None:
        problem = _bad_name(name.text)
        if problem:
            return problem
        try:
            self.screen.disk.make_folder(self._list.full(name.text))
        except DiskError as error:
            return f"Failed to create the folder. {error.reason}."
        self._list.select(name.text)
        return None

    def _ask_pattern(self) -> None:
        pattern, exact = TextBuffer(""), Tick("Case sensitive")
        answers: list[tuple[str, Answer]] = [
            ("Cancel", lambda: None),
            ("Select", lambda: self._list.select_like(pattern.text, exact.checked)),
        ]
        self.ask(Dialog("Select by Pattern", [("Pattern:", pattern), exact], answers))

    def _ask_name(self) -> None:
        chosen = self._list.chosen()
        if len(chosen) != 1:
            return
        name = TextBuffer(chosen[0])
        stem = chosen[0].rpartition(".")[0]
        folder = self.screen.disk.is_folder(self._list.full(chosen[0]))
        name.select(0, len(chosen[0] if folder or not stem else stem))
        answers: list[tuple[str, Answer]] = [
            ("Cancel", lambda: None),
            ("Rename", partial(self._rename, chosen[0], name)),
        ]
        self.ask(Dialog(f'Rename "{chosen[0]}"', ["Enter the new name:", ("", name)], answers))

    def _rename(self, old: str, name: TextBuffer) -> str | None:
        new = name.text
        problem = _bad_name(new)
        if problem:
            return problem
        if new == old:
            return None
        if self.screen.disk.find(self._list.full(new)) is not None:
            return f'A file named "{new}" is already there.'
        try:
            self.screen.disk.move(self._list.full(old), self._list.full(new))
        except DiskError as error:
            return f"Failed to rename. {error.reason}."
        self._list.select(new)
        return None

    def _ask_delete(self) -> None:
        chosen = self._list.chosen()
        if not chosen:
            return
        what = f'"{chosen[0]}"?' if len(chosen) == 1 else f"the {len(chosen)} selected files?"
        lines = [f"Are you sure that you want to permanently delete {what}"]
        lines.append("If you delete a file, it is permanently lost.")
        self.ask(Question(lines, [("Cancel", lambda: None), ("Delete", partial(self._delete, chosen))]))

    def _delete(self, names: list[str]) -> str | None:
        for name in names:
            try:
                self.screen.disk.remove(self._list.full(name))
            except DiskError as error:
                return f"Failed to delete {name!r}. {error.reason}."
        self._list.selected = set()
        return None

    # --- showing ---

    def content(self, active: bool) -> list[Node]:
        """Tools, places, the list and a line about it."""
        x, y, width, height = self.area
        status = Box(x + _SIDE, y + height - _STATUS, width - _SIDE, _STATUS)
        focused = active and not self._in_location
        files = self._list.node(self._list_box, focused, self._pressed, self._pressed_nothing)
        text = self._list.status()
        return [
            self._tools(Box(x, y, width, _TOOLS), active),
            self._places(Box(x, y + _TOOLS, _SIDE, height - _TOOLS)),
            files,
            Node("status-bar", text, status, paint=lambda canvas, node: canvas.text(status, text)),
        ]

    @property
    def _list_box(self) -> Box:
        x, y, width, height = self.area
        return Box(x + _SIDE, y + _TOOLS, width - _SIDE, height - _TOOLS - _STATUS)

    def _tools(self, box: Box, active: bool) -> Node:
        x, y, width, height = box
        tools = [("Back", "<", self._back, bool(self._past)), ("Forward", ">", self._forward, bool(self._future))]
        tools += [("Open Parent", "^", self._up, self._path != "/"), ("Home", "~", partial(self._go, HOME), True)]
        nodes = [
            button(name, Box(x + 4 + 37 * i, y + 4, 35, height - 8), action, shown=sign, enabled=usable)
            for i, (name, sign, action, usable) in enumerate(tools)
        ]
        place = Box(x + 156, y + 4, width - 162, height - 8)
        nodes.append(entry(self._location, place, active and self._in_location, self._focus_location))
        return panel("tool-bar", box, nodes)

    def _places(self, box: Box) -> Node:
        cells = []
        for i, (name, path) in enumerate((("user", HOME), ("Desktop", f"{HOME}/Desktop"), ("File System", "/"))):
            place = Box(box.x + 2, box.y + 6 + 26 * i, box.width - 4, 24)
            states = (*SHOWN, "selectable") + ("selected",) * (path == self._path)
            press = partial(self._pressed_place, path)
            cells.append(Node("table-cell", name, place, name, states, ("activate",), paint=paint_cell, press=press))
        return panel("table", box, cells, fill=WHITE)

    def _pressed_place(self, path: str, event: Press) -> None:
        if event.button == 1 and not event.drag:
            self._go(path)

    def _pressed(self, name: str, event: Press) -> None:
        if event.drag:
            return
        self._in_location = False
        self._list.press(name, event)
        if event.button == 3:
            self._context(event)
        elif event.clicks == 2 and not (event.ctrl or event.shift):
            self._open()

    def _pressed_nothing(self, event: Press) -> None:
        if not event.drag:
            self._in_location, self._list.selected = False, set()
            if event.button == 3:
                self._context(event)

    def _context(self, event: Press) -> None:
        menus = self.menus()
        items = [item for item in menus["Edit"] if item.name != "Select all Files"]
        wanted = [menus["File"][2], *items] if self._list.selected else [menus["File"][1], menus["Edit"][2]]
        self.menu.popup(wanted, event.x, event.y)


def _shown(path: str) -> str:
    return path if path.endswith("/") else path + "/"


def _bad_name(name: str) -> str | None:
    return "This is no name for a file." if not name.strip() or "/" in name or name in (".", "..") else None
