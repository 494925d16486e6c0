"""Base class of windows: a title bar, menus, dialogs in front, and a place for the application."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from rlanything_envs.osworld.desktop.simulator.dialogs import Dialog
from rlanything_envs.osworld.desktop.simulator.drawing import GREY, LIGHT, Box, Canvas
from rlanything_envs.osworld.desktop.simulator.keys import Key
from rlanything_envs.osworld.desktop.simulator.menus import BAR_HEIGHT, MenuBar, MenuItem
from rlanything_envs.osworld.desktop.simulator.nodes import Node
from rlanything_envs.osworld.desktop.simulator.widgets import on_press

if TYPE_CHECKING:
    from rlanything_envs.osworld.desktop.simulator.screen import Screen

__all__ = ["Window"]

TITLE_HEIGHT = 17
"""As high as openbox makes it."""


class Window(ABC):
    """An application's window; it always fills the screen.

    Args:
        screen: where it is.

    Attributes:
        application: its application's name in the tree.
        window_class: its class, as window managers list it.
        dialogs: dialogs in front of it; only the last one accepts input.
        area: the place below the menus.
    """

    application: str
    window_class: str

    def __init__(self, screen: Screen) -> None:
        width, height = screen.size
        self.screen = screen
        self.dialogs: list[Dialog] = []
        self.menu = MenuBar(self.menus, TITLE_HEIGHT, width)
        top = TITLE_HEIGHT + BAR_HEIGHT
        self.area = Box(0, top, width, height - top)

    @property
    @abstractmethod
    def title(self) -> str:
        """Text of the title bar."""

    @abstractmethod
    def menus(self) -> Mapping[str, Sequence[MenuItem]]:
        """Its menus, as they are now."""

    @abstractmethod
    def content(self, active: bool) -> list[Node]:
        """Nodes below the menus.

        Args:
            active: whether the window has the keyboard.
        """

    @abstractmethod
    def handle(self, key: Key) -> None:
        """Handle a key that menus and dialogs did not take."""

    def terminal_text(self) -> str | None:
        """The text of its terminal; None where it has none."""
        return None

    def ask_close(self) -> None:
        """Close, or ask first."""
        self.screen.remove(self)

    def ask(self, dialog: Dialog) -> None:
        """Put a dialog in front."""
        self.dialogs.append(dialog)

    def tell(self, message: str) -> None:
        """Show an error message."""
        self.ask(Dialog("Error", [message], [("OK", lambda: None)], "alert"))

    def key(self, key: Key) -> None:
        """Give a key to whatever has the keyboard."""
        if self.dialogs:
            self.dialogs[-1].key(key, self.screen.clipboard)
        elif not self.menu.key(key):
            self.handle(key)

    def settle(self) -> None:
        """Drop the dialogs that were answered."""
        self.dialogs = [dialog for dialog in self.dialogs if not dialog.closed]

    def nodes(self) -> list[Node]:
        """The window and its dialogs, the topmost last."""
        width, height = self.screen.size
        box = Box(0, 0, width, height)
        active = not self.dialogs
        children = [_title_bar(self), self.menu.bar(), *self.content(active and not self.menu.is_open)]
        children += self.menu.overlay(box)
        states = ("active",) * active + ("enabled", "resizable", "sensitive", "showing", "visible")
        found = [Node("frame", self.title, box, states=states, children=children, paint=_paint_frame)]
        for i, dialog in enumerate(self.dialogs):
            found.append(Node("", box=box, press=lambda _: None))  # a window behind a dialog accepts no input
            found.append(dialog.node(box, active=i == len(self.dialogs) - 1))
        return found

    def bare(self) -> Node:
        """The window when others are in front: it is there, and nothing of it can be seen."""
        return Node("frame", self.title, None, states=("enabled", "resizable", "sensitive"))


def _title_bar(window: Window) -> Node:
    width, _ = window.screen.size
    close = Box(width - TITLE_HEIGHT, 0, TITLE_HEIGHT, TITLE_HEIGHT)
    cross = Node("", box=close, paint=_paint_cross, press=on_press(window.ask_close))
    paint = partial(_paint_title, title=window.title)
    return Node("", box=Box(0, 0, width, TITLE_HEIGHT), children=[cross], paint=paint)


def _paint_title(canvas: Canvas, node: Node, title: str) -> None:
    if node.box is not None:
        canvas.rectangle(node.box, GREY)
        canvas.text(node.box, title, align="center")


def _paint_cross(canvas: Canvas, node: Node) -> None:
    if node.box is not None:
        x, y, size, _ = node.box
        canvas.line(x + 5, y + 5, x + size - 5, y + size - 5, (20, 20, 20))
        canvas.line(x + 5, y + size - 5, x + size - 5, y + 5, (20, 20, 20))


def _paint_frame(canvas: Canvas, node: Node) -> None:
    if node.box is not None:
        canvas.rectangle(node.box, LIGHT)
