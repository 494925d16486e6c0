"""The pointer and its buttons."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from .easing import linear
from .state import Point, PyAutoGUIException, Size, action, display

__all__ = [
    "click",
    "doubleClick",
    "drag",
    "dragRel",
    "dragTo",
    "hscroll",
    "leftClick",
    "middleClick",
    "mouseDown",
    "mouseUp",
    "move",
    "moveRel",
    "moveTo",
    "onScreen",
    "position",
    "rightClick",
    "scroll",
    "size",
    "tripleClick",
    "vscroll",
]

Place = Any
"""A number, a pair of numbers or None: what PyAutoGUI accepts as x."""

Tween = Callable[[float], float]

_BUTTONS: dict[Any, int] = {"left": 1, "primary": 1, "middle": 2, "right": 3, "secondary": 3, 1: 1, 2: 2, 3: 3}
_STEP = 0.02
"""Seconds between two places of a movement that takes time."""
_SHORTEST_DRAG = 0.16
"""Seconds of the quickest drag; toolkits start one only when they see the pointer move with the button down."""


def _button(name: Any) -> int:
    try:
        return _BUTTONS[name.lower() if isinstance(name, str) else name]
    except (KeyError, TypeError):
        raise PyAutoGUIException(f"no mouse button is called {name!r}: left, middle, right, 1, 2 or 3") from None


def _place(x: Place, y: Place) -> Point:
    """Where a call points to; what it leaves out is where the pointer is.

    Raises:
        PyAutoGUIException: the place is the name of a picture; there is nothing here that finds pictures.
    """
    if isinstance(x, str):
        raise PyAutoGUIException(f"cannot look for the picture {x!r} on the screen; give x and y")
    if isinstance(x, Sequence):
        values = list(x)
        if len(values) == 4:  # a box: its middle
            return Point(int(values[0] + values[2] / 2), int(values[1] + values[3] / 2))
        x, y = values
    here = display().position()
    if isinstance(y, Sequence):
        raise PyAutoGUIException("y must be a number")
    return Point(here[0] if x is None else int(x), here[1] if y is None else int(y))


def _glide(target: Point, duration: float, tween: Tween) -> None:
    if display().pressed():
        duration = max(duration, _SHORTEST_DRAG)
    start, begin = display().position(), time.monotonic()
    steps = int(duration / _STEP)
    for i in range(1, steps):
        done = tween(i / steps)
        display().move(round(start[0] + (target.x - start[0]) * done), round(start[1] + (target.y - start[1]) * done))
        time.sleep(max(0.0, begin + duration * i / steps - time.monotonic()))
    if steps:
        time.sleep(max(0.0, begin + duration - time.monotonic()))
    display().move(*target)


def position(x: int | None = None, y: int | None = None) -> Point:
    """Where the pointer is; a coordinate that is given replaces the real one."""
    here = display().position()
    return Point(here[0] if x is None else int(x), here[1] if y is None else int(y))


def size() -> Size:
    """Width and height of the screen."""
    return Size(*display().size())


def onScreen(x: Place, y: Place = None) -> bool:
    """Whether a place is on the screen."""
    place, (width, height) = _place(x, y), display().size()
    return 0 <= place.x < width and 0 <= place.y < height


@action
def moveTo(x: Place = None, y: Place = None, duration: float = 0.0, tween: Tween = linear) -> None:
    """Move the pointer to a place."""
    _glide(_place(x, y), duration, tween)


def _shifted(x_offset: Place, y_offset: Place) -> Point:
    if isinstance(x_offset, Sequence) and not isinstance(x_offset, str):
        x_offset, y_offset = x_offset
    here = display().position()
    for offset in (x_offset, y_offset):
        if isinstance(offset, (Sequence, str)):
            raise PyAutoGUIException("an offset must be a number")
    return Point(here[0] + int(x_offset or 0), here[1] + int(y_offset or 0))


@action
def moveRel(xOffset: Place = None, yOffset: Place = None, duration: float = 0.0, tween: Tween = linear) -> None:
    """Move the pointer by an offset."""
    _glide(_shifted(xOffset, yOffset), duration, tween)


move = moveRel


def _drag(target: Point, duration: float, tween: Tween, button: Any, mouse_down_up: bool) -> None:
    number = _button(button)
    if mouse_down_up:
        display().button(number, True)
    _glide(target, duration, tween)
    if mouse_down_up:
        time.sleep(_STEP)
        display().button(number, False)


@action
def dragTo(
    x: Place = None,
    y: Place = None,
    duration: float = 0.0,
    tween: Tween = linear,
    button: Any = "left",
    mouseDownUp: bool = True,
) -> None:
    """Move to a place with a button held down."""
    _drag(_place(x, y), duration, tween, button, mouseDownUp)


@action
def dragRel(
    xOffset: Place = 0,
    yOffset: Place = 0,
    duration: float = 0.0,
    tween: Tween = linear,
    button: Any = "left",
    mouseDownUp: bool = True,
) -> None:
    """Move by an offset with a button held down."""
    _drag(_shifted(xOffset, yOffset), duration, tween, button, mouseDownUp)


drag = dragRel


def _aim(x: Place, y: Place, duration: float, tween: Tween) -> None:
    if x is not None or y is not None:
        _glide(_place(x, y), duration, tween)


@action
def mouseDown(
    x: Place = None, y: Place = None, button: Any = "left", duration: float = 0.0, tween: Tween = linear
) -> None:
    """Press a button and keep it down."""
    _aim(x, y, duration, tween)
    display().button(_button(button), True)


@action
def mouseUp(
    x: Place = None, y: Place = None, button: Any = "left", duration: float = 0.0, tween: Tween = linear
) -> None:
    """Release a button."""
    _aim(x, y, duration, tween)
    display().button(_button(button), False)


@action
def click(
    x: Place = None,
    y: Place = None,
    clicks: int = 1,
    interval: float = 0.0,
    button: Any = "left",
    duration: float = 0.0,
    tween: Tween = linear,
) -> None:
    """Press and release a button, ``clicks`` times."""
    number = _button(button)
    _aim(x, y, duration, tween)
    for i in range(int(clicks)):
        if i:
            time.sleep(interval)
        display().button(number, True)
        display().button(number, False)


def leftClick(*args: Any, **kwargs: Any) -> None:
    """`click` with the left button."""
    click(*args, **{**kwargs, "button": "left"})


def rightClick(x: Place = None, y: Place = None, interval: float = 0.0, duration: float = 0.0, **kwargs: Any) -> None:
    """`click` with the right button."""
    click(x, y, 1, interval, "right", duration, **kwargs)


def middleClick(x: Place = None, y: Place = None, interval: float = 0.0, duration: float = 0.0, **kwargs: Any) -> None:
    """`click` with the middle button."""
    click(x, y, 1, interval, "middle", duration, **kwargs)


def doubleClick(
    x: Place = None, y: Place = None, interval: float = 0.0, button: Any = "left", duration: float = 0.0, **kwargs: Any
) -> None:
    """Two clicks."""
    click(x, y, 2, interval, button, duration, **kwargs)


def tripleClick(
    x: Place = None, y: Place = None, interval: float = 0.0, button: Any = "left", duration: float = 0.0, **kwargs: Any
) -> None:
    """Three clicks."""
    click(x, y, 3, interval, button, duration, **kwargs)


def _wheel(clicks: float, forward: int, back: int) -> None:
    number = forward if clicks >= 0 else back
    for _ in range(abs(int(clicks))):
        display().button(number, True)
        display().button(number, False)


@action
def scroll(clicks: float, x: Place = None, y: Place = None) -> None:
    """Turn the wheel: up for a positive number of clicks, down for a negative one."""
    _aim(x, y, 0.0, linear)
    _wheel(clicks, 4, 5)


vscroll = scroll


@action
def hscroll(clicks: float, x: Place = None, y: Place = None) -> None:
    """Turn the wheel sideways: right for a positive number of clicks, left for a negative one."""
    _aim(x, y, 0.0, linear)
    _wheel(clicks, 7, 6)
