"""PyAutoGUI's functions on an X display: what agents of desktop tasks call, quick and without its traps.

The interface is PyAutoGUI's (https://pyautogui.readthedocs.io); this is a separate implementation on the XTEST
extension, because PyAutoGUI is in no Debian release. It differs where PyAutoGUI on X11 loses input:

* every character can be typed: ``<`` is ``<``, and what the keymap lacks is put on spare keys first;
* a call returns when the application has dealt with it, and the presses of one call are kept apart in the same way:
  LibreOffice drops text that follows an arrow key too soon; ``PAUSE`` is 0.01 s more (there: 0.1 s in all);
* a drag moves in steps, because applications overlook one that jumps;
* ``FAILSAFE`` is off.

Not here: locating pictures on the screen, message boxes, windows.
"""

from typing import Any

from . import easing, keyboard, mouse, picture
from .easing import *  # noqa: F403 # the names in `__all__` there, which are the interface
from .keyboard import *  # noqa: F403
from .keynames import KEYBOARD_KEYS
from .mouse import *  # noqa: F403
from .picture import *  # noqa: F403
from .state import FailSafeException, PyAutoGUIException, Size, sleep

__all__ = ["FAILSAFE", "KEYBOARD_KEYS", "LEFT", "MIDDLE", "PAUSE", "PRIMARY", "RIGHT", "SECONDARY"]
__all__ += ["FailSafeException", "PyAutoGUIException", "Size", "sleep"]
__all__ += [*easing.__all__, *keyboard.__all__, *mouse.__all__, *picture.__all__]

PAUSE: float = 0.01
"""Seconds after each call."""

FAILSAFE: bool = False
"""Whether a pointer in a corner of the screen stops the program with a `FailSafeException`."""

LEFT, MIDDLE, RIGHT, PRIMARY, SECONDARY = "left", "middle", "right", "left", "right"


def __getattr__(name: str) -> Any:
    raise AttributeError(f"this desktop's pyautogui has no {name!r}; it has the mouse, keyboard and screen functions")
