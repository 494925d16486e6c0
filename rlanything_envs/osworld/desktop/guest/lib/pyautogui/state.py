"""What all functions share: the display, the pause after a call, the fail-safe."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from .x11 import Display

__all__ = ["FailSafeException", "Point", "PyAutoGUIException", "Size", "action", "display", "gap", "sleep"]


_ANSWER_SECONDS = 3.0
_IDLE_SECONDS = 3.0
_LOOK_AGAIN = 0.002

_deaf = 0
"""A window that did not answer."""


class PyAutoGUIException(Exception):
    """A call that cannot be carried out."""


class FailSafeException(PyAutoGUIException):
    """The pointer was moved into a corner while ``FAILSAFE`` was on."""


class Point(NamedTuple):
    """A place on the screen in pixels."""

    x: int
    y: int


class Size(NamedTuple):
    """Width and height in pixels."""

    width: int
    height: int


@functools.lru_cache(maxsize=1)
def display() -> Display:
    """The connection of this process, opened when it is first needed."""
    return Display()


def sleep(seconds: float) -> None:
    """Wait."""
    time.sleep(seconds)


def gap() -> None:
    """Let the application act on what was sent, then wait ``pyautogui.PAUSE``.

    A fixed pause is no help on a busy machine. LibreOffice moves its cursor some time after it has read an arrow key,
    and text that comes meanwhile goes to the old place. So: until the active window has answered a ping, which it
    does after reading all that came before, and its process then waits for new events. A window that takes
    no part in this is not waited for, and one that hangs only once.
    """
    global _deaf
    screen = display()
    window = screen.active_window()
    if window and window != _deaf:
        if screen.ping(window, _ANSWER_SECONDS):
            _wait_until_idle(screen.process_of(window))
        elif screen.active_window() == window:
            _deaf = window
    time.sleep(float(sys.modules[__package__ or "pyautogui"].PAUSE))


def _wait_until_idle(pid: int) -> None:
    """Until the main thread of a process sleeps; it is asked twice, as it may wait for a moment while it works."""
    end, seen = time.monotonic() + _IDLE_SECONDS, 0
    while pid and seen < 2 and time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/task/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return
        seen = seen + 1 if state == "S" else 0
        time.sleep(_LOOK_AGAIN)


def action(function: Callable[..., Any]) -> Callable[..., Any]:
    """Honour ``FAILSAFE`` before a call and ``PAUSE`` after it, unless it is called with ``_pause=False``."""

    @functools.wraps(function)
    def call(*args: Any, _pause: bool = True, logScreenshot: Any = None, **kwargs: Any) -> Any:
        if sys.modules[__package__ or "pyautogui"].FAILSAFE:
            (x, y), (width, height) = display().position(), display().size()
            if x in (0, width - 1) and y in (0, height - 1):
                raise FailSafeException(f"the pointer is in the corner ({x}, {y}) and pyautogui.FAILSAFE is on")
        result = function(*args, **kwargs)
        if _pause:
            gap()
        return result

    return call
