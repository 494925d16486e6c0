"""The background of the desktop: icons of programs and of files, and a menu of programs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rlanything_envs.osworld.desktop.simulator.drawing import BLUE, WHITE, Box, Canvas
from rlanything_envs.osworld.desktop.simulator.files import HOME, Disk
from rlanything_envs.osworld.desktop.simulator.keys import Key
from rlanything_envs.osworld.desktop.simulator.menus import MenuBar, MenuItem
from rlanything_envs.osworld.desktop.simulator.nodes import SHOWN, Node, Press

__all__ = ["Background"]

PROGRAMS = {
    "Files": ["thunar"],
    "Terminal": ["lxterminal"],
    "Text Editor": ["mousepad"],
}
"""Programs under the names that the real desktop's menu has for them."""

_FOLDER = f"{HOME}/Desktop"
_WIDTH, _HEIGHT = 130, 70


class Background:
    """The desktop's icons. A double click opens one; a right click opens the menu of programs.

    Args:
        size: width and height of the screen in pixels.
        disk: its files.
        start: starts a program with arguments.
    """

    def __init__(self, size: tuple[int, int], disk: Disk, start: Callable[[list[str]], None]) -> None:
        self._size, self._disk, self._start = size, disk, start
        self._selected = ""
        self._menu = MenuBar(dict, 0, 0)

    def key(self, key: Key) -> None:
        """Enter opens the icon that was clicked."""
        if self._menu.is_open:
            self._menu.key(key)
        elif key.combo == "Return" and self._selected:
            self._open(self._selected)

    def node(self) -> Node:
        """The whole background."""
        width, height = self._size
        box = Box(0, 0, width, height)
        files = self._disk.names(_FOLDER) if self._disk.is_folder(_FOLDER) else []
        names = [*PROGRAMS, *(name for name in files if not name.startswith("."))]
        rows = max(1, (height - 20) // _HEIGHT)
        icons = []
        for i, name in enumerate(names):
            place = Box(10 + i // rows * _WIDTH, 10 + i % rows * _HEIGHT, _WIDTH - 10, _HEIGHT - 10)
            if place.x + place.width < width:
                states = (*SHOWN, "focusable", "selectable") + ("selected",) * (name == self._selected)
                press = partial(self._pressed, name)
                icons.append(Node("icon", name, place, "", states, ("open",), paint=_paint_icon, press=press))
        frame = Node("frame", "Desktop", box, children=icons, press=self._elsewhere)
        return Node("application", "desktop", states=(), children=[frame, *self._menu.overlay(box)])

    def _pressed(self, name: str, event: Press) -> None:
        if not event.drag:
            self._selected = name
            if event.button == 1 and event.clicks == 2:
                self._open(name)

    def _elsewhere(self, event: Press) -> None:
        self._selected = ""
        if event.button == 3:
            items = [MenuItem(name, partial(self._start, words)) for name, words in PROGRAMS.items()]
            self._menu.popup(items, event.x, event.y)

    def _open(self, name: str) -> None:
        self._start(list(PROGRAMS.get(name) or ["xdg-open", f"{_FOLDER}/{name}"]))


def _paint_icon(canvas: Canvas, node: Node) -> None:
    if node.box is None:
        return
    x, y, width, height = node.box
    if "selected" in node.states:
        canvas.rectangle(node.box, BLUE)
    canvas.rectangle(Box(x + width // 2 - 14, y + 4, 28, 28), (230, 230, 230), (90, 90, 90))
    canvas.text(Box(x, y + 36, width, height - 36), node.name, WHITE, "center")
