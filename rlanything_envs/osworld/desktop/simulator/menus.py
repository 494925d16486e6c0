"""Menus: a row of them at the top of a window, and those that a right click opens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from rlanything_envs.osworld.desktop.simulator.drawing import BLUE, GREY, LINE, WHITE, Box, Canvas, text_width
from rlanything_envs.osworld.desktop.simulator.keys import Key
from rlanything_envs.osworld.desktop.simulator.nodes import SHOWN, Node, Press
from rlanything_envs.osworld.desktop.simulator.widgets import on_press

__all__ = ["BAR_HEIGHT", "MenuBar", "MenuItem"]

BAR_HEIGHT = 25
_ROW = 25

Menus = Mapping[str, Sequence["MenuItem"]]


@dataclass(frozen=True, slots=True)
class MenuItem:
    """One entry of a menu.

    Attributes:
        name: its label.
        action: its action.
        keys: the keys that do the same, as text.
        enabled: whether it can be chosen.
    """

    name: str
    action: Callable[[], object]
    keys: str = ""
    enabled: bool = True


class MenuBar:
    """The open menu of a window and its chosen entry.

    Args:
        menus: makes the menus, as they are now.
        top: where the bar is.
        width: its width.
    """

    def __init__(self, menus: Callable[[], Menus], top: int, width: int) -> None:
        self._menus = menus
        self._top, self._width = top, width
        self._open: str | None = None
        self._popup: tuple[Sequence[MenuItem], int, int] | None = None
        self._chosen = 0

    @property
    def is_open(self) -> bool:
        """Whether a menu has the keyboard."""
        return self._open is not None or self._popup is not None

    def close(self) -> None:
        """Close whatever is open."""
        self._open = self._popup = None

    def popup(self, items: Sequence[MenuItem], x: int, y: int) -> None:
        """Open a menu at a place."""
        self._open, self._popup, self._chosen = None, (items, x, y), -1

    def key(self, key: Key) -> bool:
        """Handle a key; returns whether it belongs to a menu."""
        names = list(self._menus())
        if not self.is_open:
            if key.combo == "F10" and names:
                return self._toggle(names[0])
            letter = key.combo.removeprefix("alt+")
            found = [name for name in names if len(letter) == 1 and name.lower().startswith(letter)]
            return bool(key.combo.startswith("alt+") and found) and self._toggle(found[0])
        items = self._items()
        match key.combo:
            case "Escape" | "F10":
                self.close()
            case "Down" | "Up":
                self._step(1 if key.combo == "Down" else -1)
            case "Left" | "Right" if self._open in names:
                step = 1 if key.combo == "Right" else -1
                self._toggle(names[(names.index(str(self._open)) + step) % len(names)])
            case "Return" | "KP_Enter" | " ":
                if 0 <= self._chosen < len(items):
                    self._choose(items[self._chosen])
            case _ if key.char:
                self._letter(key.char.lower())
        return True

    def bar(self) -> Node:
        """The row of menus, with the one that is open."""
        x, children = 0, []
        for name in self._menus():
            width = text_width(name) + 18
            children.append(self._title(name, Box(x, self._top, width, BAR_HEIGHT)))
            x += width
        box = Box(0, self._top, self._width, BAR_HEIGHT)
        return Node("menu-bar", "", box, children=children, paint=partial(_paint_bar))

    def overlay(self, screen: Box) -> list[Node]:
        """The frontmost nodes: the open menu's entries, and the area that closes it when clicked."""
        if not self.is_open:
            return []
        shield = Node("", box=screen, press=lambda _: self.close())
        if self._popup is not None:
            items, x, y = self._popup
            box = self._frame(items, x, y, screen)
            menu = Node("menu", "", box, children=self._rows(items, box), paint=_paint_menu)
            return [shield, Node("window", "", box, states=("active", *SHOWN), children=[menu])]
        titles = {node.name: node.box for node in self.bar().children}
        name = str(self._open)
        title = titles.get(name) or Box(0, self._top, 0, BAR_HEIGHT)
        items = self._items()
        box = self._frame(items, title.x, self._top + BAR_HEIGHT, screen)
        return [shield, Node("", box=box, children=self._rows(items, box), paint=_paint_menu)]

    def _items(self) -> Sequence[MenuItem]:
        if self._popup is not None:
            return self._popup[0]
        return self._menus().get(self._open or "", ())

    def _title(self, name: str, box: Box) -> Node:
        states = (*SHOWN, "selectable") + ("selected",) * (name == self._open)
        toggle = partial(self._toggle, name)
        return Node("menu", name, box, "", states, ("click",), paint=_paint_title, press=on_press(toggle))

    def _toggle(self, name: str) -> bool:
        self._open, self._popup, self._chosen = (None if self._open == name else name), None, 0
        return True

    def _step(self, step: int) -> None:
        items = self._items()
        for _ in items:
            self._chosen = (self._chosen + step) % len(items) if self._chosen >= 0 or step > 0 else len(items) - 1
            if items[self._chosen].enabled:
                return

    def _letter(self, letter: str) -> None:
        for item in self._items():
            if item.enabled and item.name.lower().startswith(letter):
                self._choose(item)
                return

    def _choose(self, item: MenuItem) -> None:
        if item.enabled:
            self.close()
            item.action()

    @staticmethod
    def _frame(items: Sequence[MenuItem], x: int, y: int, screen: Box) -> Box:
        width = max((text_width(item.name) + text_width(item.keys) for item in items), default=0) + 60
        height = _ROW * len(items)
        right, bottom = screen.x + screen.width, screen.y + screen.height
        return Box(max(0, min(x, right - width)), max(0, min(y, bottom - height)), width, height)

    def _rows(self, items: Sequence[MenuItem], box: Box) -> list[Node]:
        rows = []
        for i, item in enumerate(items):
            place = Box(box.x, box.y + _ROW * i, box.width, _ROW)
            usable = ("enabled", "sensitive") * item.enabled
            states = (*usable, "selectable", "showing", "visible") + ("selected",) * (i == self._chosen)
            paint = partial(_paint_item, keys=item.keys)
            press = self._presser(item)
            rows.append(Node("menu-item", item.name, place, "", states, ("click",), paint=paint, press=press))
        return rows

    def _presser(self, item: MenuItem) -> Callable[[Press], None]:
        return on_press(lambda: self._choose(item))


def _paint_bar(canvas: Canvas, node: Node) -> None:
    if node.box is not None:
        canvas.rectangle(node.box, (250, 249, 248))


def _paint_title(canvas: Canvas, node: Node) -> None:
    if node.box is not None:
        if "selected" in node.states:
            canvas.rectangle(node.box, GREY)
        canvas.text(node.box, node.name, align="center")


def _paint_menu(canvas: Canvas, node: Node) -> None:
    if node.box is not None:
        x, y, width, height = node.box
        canvas.rectangle(Box(x - 1, y - 1, width + 2, height + 2), WHITE, LINE)


def _paint_item(canvas: Canvas, node: Node, keys: str) -> None:
    if node.box is None:
        return
    if "selected" in node.states:
        canvas.rectangle(node.box, BLUE)
    usable = (20, 20, 20) if "enabled" in node.states else LINE
    x, y, width, height = node.box
    canvas.text(Box(x + 10, y, width - 10, height), node.name, usable)
    canvas.text(Box(x, y, width - 10, height), keys, usable, "right")
