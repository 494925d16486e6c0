"""PyAutoGUI's functions on the simulated screen, with the parameters of the real desktop's."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from rlanything_envs.osworld.desktop.simulator.files import DiskError
from rlanything_envs.osworld.desktop.simulator.keys import keysym_name
from rlanything_envs.osworld.desktop.simulator.screen import Screen

__all__ = ["Point", "Robot", "RobotError", "Size", "TookTooLong"]

_SECONDS = 90.0
"""Time limit of an action in seconds of the simulated clock; the real client's limit."""
_MOST_EVENTS = 5000
_PICTURE_EVENTS = 50
"""How many keys a look at the screen counts for: it is drawn for it."""
_BUTTONS = {"left": 1, "primary": 1, "middle": 2, "right": 3, "secondary": 3}
_FARTHEST = 100_000

Place = Any
"""A number, a pair of numbers or None: what PyAutoGUI accepts as x."""


class RobotError(Exception):
    """A call that cannot be carried out; on the real desktop a ``PyAutoGUIException``."""


class TookTooLong(Exception):
    """The action would have been stopped by now."""


class Point(NamedTuple):
    """A place on the screen in pixels."""

    x: int
    y: int


class Size(NamedTuple):
    """Width and height in pixels."""

    width: int
    height: int


class Robot:
    """Input of one action to the screen.

    Args:
        screen: the screen.

    Attributes:
        PAUSE: seconds after each call.
        FAILSAFE: has no effect here: the pointer in a corner stops nothing.
        complaints: lines for the standard error.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._events = 0
        self._end = screen.time + _SECONDS
        self.PAUSE: Any = 0.01
        self.FAILSAFE: Any = False
        self.complaints: list[str] = []

    # --- time ---

    def sleep(self, seconds: float) -> None:
        """Let simulated time pass."""
        value = _number(seconds)
        if value < 0:
            raise RobotError("sleep length must be non-negative")
        self._screen.time += value
        if self._screen.time > self._end:
            raise TookTooLong

    def pause(self) -> None:
        """Steps after each call."""
        self.sleep(self.PAUSE)

    def _count(self, events: int = 1) -> None:
        self._events += events
        if self._events > _MOST_EVENTS:
            raise RobotError(f"more than {_MOST_EVENTS} keys, clicks and turns of the wheel in one action")

    # --- keyboard ---

    def isValidKey(self, key: str) -> bool:
        """Whether a name is a key that can be pressed."""
        return isinstance(key, str) and keysym_name(key) is not None

    def _send(self, key: object, down: bool) -> None:
        name = keysym_name(key) if isinstance(key, str) else None
        if name is None:
            if down:
                self.complaints.append(f"pyautogui: no key is called {key!r}")
            return
        self._count()
        if down:
            self._screen.key_down(name)
        else:
            self._screen.key_up(name)

    def keyDown(self, key: str) -> None:
        """Press a key and keep it down."""
        self._send(key, True)

    def keyUp(self, key: str) -> None:
        """Release a key."""
        self._send(key, False)

    def _tap(self, key: object) -> None:
        self._send(key, True)
        self._send(key, False)

    def press(self, keys: str | Sequence[str], presses: int = 1, interval: float = 0.0) -> None:
        """Press and release a key, or each of a list of keys, ``presses`` times."""
        wanted = [keys] if isinstance(keys, str) else _list(keys)
        for _ in range(_times(presses)):
            self._count()
            for key in wanted:
                self._tap(key)
                self.sleep(interval)

    def hotkey(self, *keys: str | Sequence[str], interval: float = 0.0) -> None:
        """Press keys one after the other and release them in the opposite order."""
        wanted = list(keys) if len(keys) != 1 or isinstance(keys[0], str) else _list(keys[0])
        for key in wanted:
            self._send(key, True)
            self.sleep(interval)
        for key in reversed(wanted):
            self._send(key, False)

    shortcut = hotkey

    @contextmanager
    def hold(self, keys: str | Sequence[str], interval: float = 0.0) -> Iterator[None]:
        """Keep keys down while a block runs."""
        wanted = [keys] if isinstance(keys, str) else _list(keys)
        for key in wanted:
            self._send(key, True)
            self.sleep(interval)
        try:
            yield
        finally:
            for key in reversed(wanted):
                self._send(key, False)

    def write(self, message: str | Sequence[str], interval: float = 0.0) -> None:
        """Type a text, or press the keys of a list."""
        for key in message if isinstance(message, str) else _list(message):
            self._tap(key)
            self.sleep(interval)

    typewrite = write

    # --- mouse ---

    def position(self, x: int | None = None, y: int | None = None) -> Point:
        """Where the pointer is; a coordinate that is given replaces the real one."""
        here = self._screen.pointer
        return Point(here[0] if x is None else _pixel(x), here[1] if y is None else _pixel(y))

    def size(self) -> Size:
        """Width and height of the screen."""
        return Size(*self._screen.size)

    def onScreen(self, x: Place, y: Place = None) -> bool:
        """Whether a place is on the screen."""
        place, (width, height) = self._place(x, y), self._screen.size
        return 0 <= place.x < width and 0 <= place.y < height

    def _place(self, x: Place, y: Place) -> Point:
        if isinstance(x, str):
            raise RobotError(f"cannot look for the picture {x!r} on the screen; give x and y")
        if isinstance(x, (list, tuple)):
            if len(x) == 4:  # a box: its middle
                return Point(_pixel(_number(x[0]) + _number(x[2]) / 2), _pixel(_number(x[1]) + _number(x[3]) / 2))
            if len(x) != 2:
                raise RobotError("a place has two numbers, a box four")
            x, y = x
        return self.position(x, y)

    def _aim(self, x: Place, y: Place, duration: object) -> None:
        if x is not None or y is not None:
            self._go(self._place(x, y), duration)

    def _go(self, place: Point, duration: object) -> None:
        self._count()
        self.sleep(max(0.0, _number(duration)))
        self._screen.move(*place)

    def moveTo(self, x: Place = None, y: Place = None, duration: float = 0.0, tween: object = None) -> None:
        """Move the pointer to a place."""
        self._go(self._place(x, y), duration)

    def moveRel(
        self, xOffset: Place = None, yOffset: Place = None, duration: float = 0.0, tween: object = None
    ) -> None:
        """Move the pointer by an offset."""
        self._go(self._shifted(xOffset, yOffset), duration)

    move = moveRel

    def _shifted(self, x: Place, y: Place) -> Point:
        if isinstance(x, (list, tuple)) and len(x) == 2:
            x, y = x
        here = self._screen.pointer
        return Point(here[0] + _pixel(x or 0), here[1] + _pixel(y or 0))

    def dragTo(
        self,
        x: Place = None,
        y: Place = None,
        duration: float = 0.0,
        tween: object = None,
        button: object = "left",
        mouseDownUp: bool = True,
    ) -> None:
        """Move to a place with a button held down."""
        self._drag(self._place(x, y), duration, button, mouseDownUp)

    def dragRel(
        self,
        xOffset: Place = 0,
        yOffset: Place = 0,
        duration: float = 0.0,
        tween: object = None,
        button: object = "left",
        mouseDownUp: bool = True,
    ) -> None:
        """Move by an offset with a button held down."""
        self._drag(self._shifted(xOffset, yOffset), duration, button, mouseDownUp)

    drag = dragRel

    def _drag(self, place: Point, duration: object, button: object, down_up: object) -> None:
        number = _button(button)
        if down_up:
            self._screen.button_down(number)
        self._go(place, duration)
        if down_up:
            self._screen.button_up(number)

    def mouseDown(
        self, x: Place = None, y: Place = None, button: object = "left", duration: float = 0.0, tween: object = None
    ) -> None:
        """Press a button and keep it down."""
        self._aim(x, y, duration)
        self._count()
        self._screen.button_down(_button(button))

    def mouseUp(
        self, x: Place = None, y: Place = None, button: object = "left", duration: float = 0.0, tween: object = None
    ) -> None:
        """Release a button."""
        self._aim(x, y, duration)
        self._screen.button_up(_button(button))

    def click(
        self,
        x: Place = None,
        y: Place = None,
        clicks: int = 1,
        interval: float = 0.0,
        button: object = "left",
        duration: float = 0.0,
        tween: object = None,
    ) -> None:
        """Press and release a button, ``clicks`` times."""
        number = _button(button)
        self._aim(x, y, duration)
        for i in range(_times(clicks)):
            if i:
                self.sleep(interval)
            self._count(2)
            self._screen.button_down(number)
            self._screen.button_up(number)

    def leftClick(self, *args: Any, **kwargs: Any) -> None:
        """`click` with the left button."""
        self.click(*args, **{**kwargs, "button": "left"})

    def rightClick(
        self, x: Place = None, y: Place = None, interval: float = 0.0, duration: float = 0.0, **kwargs: Any
    ) -> None:
        """`click` with the right button."""
        self.click(x, y, 1, interval, "right", duration, **kwargs)

    def middleClick(
        self, x: Place = None, y: Place = None, interval: float = 0.0, duration: float = 0.0, **kwargs: Any
    ) -> None:
        """`click` with the middle button."""
        self.click(x, y, 1, interval, "middle", duration, **kwargs)

    def doubleClick(
        self,
        x: Place = None,
        y: Place = None,
        interval: float = 0.0,
        button: object = "left",
        duration: float = 0.0,
        **kwargs: Any,
    ) -> None:
        """Two clicks."""
        self.click(x, y, 2, interval, button, duration, **kwargs)

    def tripleClick(
        self,
        x: Place = None,
        y: Place = None,
        interval: float = 0.0,
        button: object = "left",
        duration: float = 0.0,
        **kwargs: Any,
    ) -> None:
        """Three clicks."""
        self.click(x, y, 3, interval, button, duration, **kwargs)

    def scroll(self, clicks: float, x: Place = None, y: Place = None) -> None:
        """Turn the wheel: up for a positive number of clicks, down for a negative one."""
        self._aim(x, y, 0.0)
        turns = _pixel(clicks)
        self._count(abs(turns))
        self._screen.wheel(-turns)

    vscroll = scroll

    def hscroll(self, clicks: float, x: Place = None, y: Place = None) -> None:
        """Turn the wheel sideways; nothing here scrolls sideways."""
        self._aim(x, y, 0.0)
        _number(clicks)

    # --- the screen ---

    def screenshot(self, imageFilename: str | None = None, region: Sequence[int] | None = None) -> None:
        """The screen, stored as PNG where a file is named; there is no image to work with here."""
        self._count(_PICTURE_EVENTS)
        if imageFilename is None:
            return
        image = self._screen.draw().image
        if region is not None:
            left, top, width, height = (_pixel(value) for value in (*_list(region), 0, 0, 0, 0)[:4])
            screen_width, screen_height = self._screen.size
            inside = 0 <= left < left + width <= screen_width and 0 <= top < top + height <= screen_height
            if not inside:
                raise RobotError("the region is not on the screen")
            image = image.crop((left, top, left + width, top + height))
        data = io.BytesIO()
        image.save(data, "PNG")
        try:
            self._screen.disk.write(self._screen.disk.absolute(str(imageFilename)), data.getvalue())
        except DiskError as error:
            raise RobotError(str(error)) from error

    def pixel(self, x: int, y: int) -> tuple[int, int, int]:
        """Red, green and blue of one place."""
        self._count(_PICTURE_EVENTS)
        if not self.onScreen(x, y):
            raise RobotError(f"({x}, {y}) is not on the screen")
        red, green, blue = self._screen.draw().pixels()[_pixel(y), _pixel(x)].tolist()
        return red, green, blue

    def pixelMatchesColor(self, x: int, y: int, expectedRGBColor: Sequence[int], tolerance: int = 0) -> bool:
        """Whether one place has a colour, give or take a tolerance for each channel."""
        wanted = [_number(value) for value in _list(expectedRGBColor)]
        found = self.pixel(x, y)
        return len(wanted) == 3 and all(abs(a - b) <= _number(tolerance) for a, b in zip(found, wanted, strict=True))


def _number(value: object) -> float:
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise RobotError(f"{value!r} is not a number")
    return float(value)


def _pixel(value: object) -> int:
    number = int(_number(value))
    if abs(number) > _FARTHEST:
        raise RobotError(f"{number} is too far away")
    return number


def _times(value: object) -> int:
    return max(0, min(int(_number(value)), _MOST_EVENTS + 1))


def _list(value: object) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise RobotError(f"{value!r} is not a list")
    return list(value)


def _button(name: object) -> int:
    number = _BUTTONS.get(name.lower()) if isinstance(name, str) else name if name in (1, 2, 3) else None
    if not isinstance(number, int):
        raise RobotError(f"no mouse button is called {name!r}: left, middle, right, 1, 2 or 3")
    return number
