"""Commands in few words as PyAutoGUI code, and their form.

A command is one of few: ``click 2``, ``line 3``, ``cell b 4``, ``press save``, ``type <2> = <3>``, ``done``, ``fail``.
It is a restricted language: places are things on the screen by number, and what can be typed is made of strings of the
task and a few literals. The code is ordinary code of the environment, the same on every backend.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rlanything_envs.errors import Unreadable
from rlanything_envs.osworld.short.screen import Screen
from rlanything_envs.osworld.short.slots import Slots
from rlanything_envs.osworld.short.words import COLUMNS, COUNTS, DONE, KEYS, LITERALS

__all__ = ["MAX_PIECES", "code_of"]

MAX_PIECES = 12
"""Most pieces of one ``type`` command."""

_NAMED = {"\n": "enter", "\t": "tab"}


def code_of(command: str, screen: Screen, slots: Slots) -> str:
    """The environment's action for a command.

    Raises:
        Unreadable: The text is not a command; the message gives the reason.
    """
    verb, *rest = command.split() or [""]
    if verb in DONE and not rest:
        return verb.upper()
    if verb == "press" and len(rest) == 1 and rest[0] in KEYS:
        return KEYS[rest[0]]
    if verb == "click" and len(rest) == 1:
        number = _number(rest[0])
        if number > len(screen.targets):
            raise Unreadable(f"{command!r}: there are {len(screen.targets)} things to click on")
        target = screen.targets[number - 1]
        return f"pyautogui.click({target.x}, {target.y})"
    if verb == "line" and len(rest) == 1:
        return "; ".join(["pyautogui.hotkey('ctrl', 'home')", *_times("down", _number(rest[0]) - 1), _SELECT])
    if verb == "cell" and len(rest) == 2 and rest[0] in COLUMNS:
        down, right = _number(rest[1]) - 1, COLUMNS.index(rest[0])
        return "; ".join(["pyautogui.hotkey('ctrl', 'home')", *_times("down", down), *_times("right", right)])
    if verb == "type" and 1 <= len(rest) <= MAX_PIECES:
        return "; ".join(_typing([_text(piece, slots) for piece in rest]))
    raise Unreadable(f"{command[:80]!r} is not a command")


_SELECT = "pyautogui.press('home'); pyautogui.hotkey('shift', 'end')"


def _number(word: str) -> int:
    if word not in COUNTS:
        raise Unreadable(f"{word[:20]!r} is not a number from 1 to {len(COUNTS)}")
    return int(word)


def _times(key: str, presses: int) -> list[str]:
    return [f"pyautogui.press({key!r}, presses={presses})"] if presses else []


def _text(piece: str, slots: Slots) -> str:
    text = LITERALS.get(piece) or slots.text(piece)
    if text is None:
        raise Unreadable(f"{piece[:20]!r} is neither a string of the task nor a literal")
    return text


def _typing(texts: Sequence[str]) -> Iterator[str]:
    """Keys for line ends and tabs, text for the rest."""
    run = ""
    for text in texts:
        if text not in _NAMED:
            run += text
            continue
        if run:
            yield f"pyautogui.write({run!r})"
        run = ""
        yield f"pyautogui.press({_NAMED[text]!r})"
    if run:
        yield f"pyautogui.write({run!r})"
