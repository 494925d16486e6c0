"""Random play on desktops: clicks, keys, and words of the screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from rlanything_envs.conversation import Turn

__all__ = ["guess"]

_KEYS = ("enter", "tab", "escape", "delete", "down", "up", "left", "right", "home", "end", "f2")
_CHORDS = ("a", "c", "v", "s", "z", "x")
_LAST_X, _LAST_Y = 1280, 720
"""Exclusive limits of the clicks, in pixels: the smallest screen in use."""


def guess(turn: Turn, rng: np.random.Generator) -> str:
    """A random answer: a click, a key, a chord, a typed word of the screen, or ``DONE``."""
    match int(rng.integers(9)):
        case 0 | 1 | 2:
            return f"pyautogui.click({int(rng.integers(_LAST_X))}, {int(rng.integers(_LAST_Y))})"
        case 3 | 4:
            return f"pyautogui.press({_pick(_KEYS, rng)!r})"
        case 5 | 6:
            return f"pyautogui.hotkey('ctrl', {_pick(_CHORDS, rng)!r})"
        case 7:
            return f"pyautogui.write({_pick(turn.text.split() or ['a'], rng)!r})"
        case _:
            return "DONE"


def _pick(choices: Sequence[str], rng: np.random.Generator) -> str:
    return choices[int(rng.integers(len(choices)))]
