"""Keys and text."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .keynames import KEYSYM_NAMES
from .state import action, display, gap
from .x11 import keysym_of, keysym_of_character

__all__ = ["hold", "hotkey", "isValidKey", "keyDown", "keyUp", "press", "shortcut", "typewrite", "write"]

_AFTER_TEXT = 0.12
"""Seconds after typed text. A GTK entry looks for completions 0.1 s after a letter, and until then the Enter of a file
dialog is lost."""
_DRAIN = 0.3
"""Seconds for applications to read typed text before the spare keys change their meaning again."""


def _keysym(key: str) -> int:
    """The keysym of a key name or a single character; 0 for anything else."""
    if len(key) == 1:
        return keysym_of_character(key)
    return keysym_of(KEYSYM_NAMES.get(key.lower(), ""))


def isValidKey(key: str) -> bool:
    """Whether a name is a key that can be pressed."""
    return isinstance(key, str) and _keysym(key) != 0


def _send(key: Any, down: bool) -> None:
    """Press or release one key, with shift where its character needs it; an unknown name does nothing, as upstream."""
    keysym = _keysym(key) if isinstance(key, str) else 0
    if not keysym:
        print(f"pyautogui: no key is called {key!r}", file=sys.stderr)
        return
    screen = display()
    screen.learn([keysym])
    shift = screen.needs_shift(keysym)
    if shift:
        screen.key(keysym_of("Shift_L"), True)
    screen.key(keysym, down)
    if shift:
        screen.key(keysym_of("Shift_L"), False)


@action
def keyDown(key: str) -> None:
    """Press a key and keep it down."""
    _send(key, True)


@action
def keyUp(key: str) -> None:
    """Release a key."""
    _send(key, False)


def _tap(key: str) -> None:
    _send(key, True)
    _send(key, False)


@action
def press(keys: str | Sequence[str], presses: int = 1, interval: float = 0.0) -> None:
    """Press and release a key, or each of a list of keys, ``presses`` times."""
    wanted = [keys] if isinstance(keys, str) else list(keys)
    for i in range(int(presses) * len(wanted)):
        if i:
            gap()
            time.sleep(interval)
        _tap(wanted[i % len(wanted)])


@action
def hotkey(*keys: str | Sequence[str], interval: float = 0.0) -> None:
    """Press keys one after the other and release them in the opposite order."""
    wanted = keys if len(keys) != 1 or isinstance(keys[0], str) else list(keys[0])
    for key in wanted:
        _send(key, True)
        time.sleep(interval)
    for key in reversed(wanted):
        _send(key, False)
        time.sleep(interval)


shortcut = hotkey


@contextmanager
def hold(keys: str | Sequence[str], interval: float = 0.0) -> Iterator[None]:
    """Keep keys down while a block runs."""
    wanted = [keys] if isinstance(keys, str) else list(keys)
    for key in wanted:
        keyDown(key, _pause=False)
        time.sleep(interval)
    try:
        yield
    finally:
        for key in reversed(wanted):
            keyUp(key, _pause=False)
            time.sleep(interval)


@action
def write(message: str | Sequence[str], interval: float = 0.0) -> None:
    """Type a text, or press the keys of a list."""
    room = max(1, display().spare_keys)
    batch: list[str] = []
    new: set[int] = set()
    for key in message:
        keysym = _keysym(key)
        if keysym and not display().knows(keysym) and keysym not in new:
            if len(new) == room:
                _type(batch, new, interval)
                time.sleep(_DRAIN)
                batch, new = [], set()
            new.add(keysym)
        batch.append(key)
    _type(batch, new, interval)


typewrite = write


def _type(keys: list[str], new: set[int], interval: float) -> None:
    """Letters need no gap between them; a key that does something gets one before and after, and so does the end."""
    display().learn(new)
    for i, key in enumerate(keys):
        _tap(key)
        acts = _acts(key)
        if acts and i + 1 < len(keys):
            gap()
        elif not acts and (i + 1 == len(keys) or _acts(keys[i + 1])):
            gap()
            time.sleep(_AFTER_TEXT)
            gap()
        time.sleep(interval)


def _acts(key: str) -> bool:
    return len(key) > 1 or key in "\n\r\t"
