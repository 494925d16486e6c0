"""The screen with its windows, its pointer and its keyboard: it receives input and gives observations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rlanything_envs.osworld.desktop.simulator.background import Background
from rlanything_envs.osworld.desktop.simulator.drawing import Canvas
from rlanything_envs.osworld.desktop.simulator.files import HOME, Disk
from rlanything_envs.osworld.desktop.simulator.keys import MODIFIERS, Key
from rlanything_envs.osworld.desktop.simulator.nodes import Node, Press, draw, hit, wheel_at
from rlanything_envs.osworld.desktop.simulator.text_buffer import Clipboard

if TYPE_CHECKING:
    from rlanything_envs.osworld.desktop.simulator.window import Window

__all__ = ["NotSimulated", "ProgramError", "Screen", "Start"]

_MOST_WINDOWS = 12
_DOUBLE_CLICK_SECONDS = 0.4
_DOUBLE_CLICK_PIXELS = 5
_WHEEL_ROWS = 3
_SEA = (44, 93, 115)


class ProgramError(Exception):
    """A program that cannot be started.

    Attributes:
        status: its exit status: 127 where there is no such program.
    """

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


class NotSimulated(ProgramError):
    """A program, or a part of one, that the simulator has not; a real desktop may have it."""


Start = Callable[["Screen", list[str], str], None]
"""Starts a program: the screen, its words, the working directory. Raises `ProgramError`."""


class Screen:
    """One desktop session.

    Args:
        size: width and height in pixels.
        start: starts programs.

    Attributes:
        disk: its files.
        clipboard: the copied text.
        pointer: where the mouse pointer is.
        time: seconds that have passed on the simulated clock.
        windows: the open ones in the order in which they were opened.
        wallpaper: the path of the picture behind the windows.
    """

    def __init__(self, size: tuple[int, int], start: Start) -> None:
        self.size = size
        self._start = start
        self.disk = Disk()
        self.clipboard = Clipboard()
        self.pointer = (size[0] // 2, size[1] // 2)
        self.time = 0.0
        self.windows: list[Window] = []
        self.wallpaper: str | None = None
        self.background = Background(size, self.disk, self.start)
        self._stack: list[Window] = []
        self._held: set[str] = set()
        self._switches = 0
        self._pressed: Callable[[Press], None] | None = None
        self._last_press = (-1.0, 0, 0, 0, 0)
        self._scene: Node | None = None

    # --- windows ---

    @property
    def active(self) -> Window | None:
        """The window in front."""
        return self._stack[-1] if self._stack else None

    def start(self, words: list[str], folder: str = HOME) -> None:
        """Start a program; ProgramError where it cannot be."""
        self._start(self, words, folder)
        self.changed()

    def add(self, window: Window) -> None:
        """Show a new window in front.

        Raises:
            ProgramError: too many windows are open.
        """
        if len(self.windows) >= _MOST_WINDOWS:
            raise ProgramError(f"{window.application}: {_MOST_WINDOWS} windows are open; close one first")
        self.windows.append(window)
        self._stack.append(window)
        self.changed()

    def remove(self, window: Window) -> None:
        """Take a window away, whatever it has not saved."""
        self.windows.remove(window)
        self._stack.remove(window)
        self.changed()

    def raise_window(self, window: Window) -> None:
        """Put a window in front."""
        self._stack.remove(window)
        self._stack.append(window)
        self.changed()

    def find(self, name: str, strict: bool = False, by_class: bool = False) -> Window | None:
        """The first window whose title (or class) contains a name, or is it when ``strict``; case counts only then."""
        for window in self.windows:
            text = window.window_class if by_class else window.title
            if (text == name) if strict else (name.lower() in text.lower()):
                return window
        return None

    # --- input ---

    def key_down(self, name: str) -> None:
        """Press a key.

        Args:
            name: its X name, or the character.
        """
        if name in MODIFIERS:
            self._held.add(MODIFIERS[name])
            return
        self._key(Key.of(name, frozenset(self._held)))

    def key_up(self, name: str) -> None:
        """Release a key."""
        held = MODIFIERS.get(name)
        if held:
            self._held.discard(held)
            if held == "alt":
                self._switches = 0

    def _key(self, key: Key) -> None:
        window = self.active
        if key.plain == "alt+Tab":
            self._switch()
        elif window is None:
            self._try(lambda: self.background.key(key))
        elif key.combo == "alt+F4":
            if window.dialogs:
                window.dialogs[-1].cancel()
            else:
                window.menu.close()
                window.ask_close()
        else:
            self._try(lambda: window.key(key))
        self.changed()

    def _try(self, act: Callable[[], object]) -> None:
        """Run an action that may start a program; a failure is shown to the user."""
        try:
            act()
        except ProgramError as error:
            if self.active is not None:
                self.active.tell(str(error))

    def _switch(self) -> None:
        """Go to the window that was in front before; pressed again with alt down, to the one before that."""
        if len(self._stack) > 1:
            self._switches = self._switches % (len(self._stack) - 1) + 1
            self.raise_window(self._stack[-1 - self._switches])

    def move(self, x: int, y: int) -> None:
        """Move the pointer; outside of the screen it stays at the edge."""
        width, height = self.size
        self.pointer = (max(0, min(x, width - 1)), max(0, min(y, height - 1)))
        if self._pressed is not None:
            self._pressed(self._press(1, drag=True))
            self.changed()

    def button_down(self, button: int) -> None:
        """Press a mouse button."""
        when, x, y, last, count = self._last_press
        near = abs(self.pointer[0] - x) < _DOUBLE_CLICK_PIXELS and abs(self.pointer[1] - y) < _DOUBLE_CLICK_PIXELS
        again = button == last and near and self.time - when < _DOUBLE_CLICK_SECONDS
        count = count % 3 + 1 if again else 1
        self._last_press = (self.time, *self.pointer, button, count)
        node = hit(self.scene(), *self.pointer)
        if node is None or node.press is None:
            return
        if button == 1:
            self._pressed = node.press
        press, event = node.press, self._press(button, count)
        self._try(lambda: press(event))
        self.changed()

    def button_up(self, button: int) -> None:
        """Release a mouse button."""
        if button == 1:
            self._pressed = None

    def wheel(self, clicks: int) -> None:
        """Turn the wheel: down for a positive number."""
        turn = wheel_at(self.scene(), *self.pointer)
        if turn is not None:
            turn(clicks * _WHEEL_ROWS)
            self.changed()

    def _press(self, button: int, count: int = 1, drag: bool = False) -> Press:
        return Press(*self.pointer, button, count, "shift" in self._held, "ctrl" in self._held, drag)

    # --- output ---

    def changed(self) -> None:
        """Invalidate the cached tree after a change."""
        self._scene = None
        for window in self.windows:
            window.settle()

    def scene(self) -> Node:
        """The current tree of the screen."""
        if self._scene is None:
            top = self.active
            applications: dict[str, Node] = {}
            for window in self.windows:
                node = applications.setdefault(window.application, Node("application", window.application, states=()))
                node.children += window.nodes() if window is top else [window.bare()]
            first = [] if top else [self.background.node()]
            self._scene = Node("desktop-frame", children=[*first, *applications.values()])
        return self._scene

    def draw(self) -> Canvas:
        """A picture of it, with the pointer."""
        canvas = Canvas(*self.size, _SEA)
        draw(self.scene(), canvas)
        canvas.pointer(*self.pointer)
        return canvas
