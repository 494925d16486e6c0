"""The base of the kinds of generated tasks: a state of the desktop with evaluator levels, one goal each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream

__all__ = [
    "DESKTOP",
    "Kind",
    "Level",
    "State",
    "agreed",
    "draw_several",
    "launched",
    "named",
    "opened",
    "pressed",
    "terminal",
    "typed",
]

DESKTOP = "/home/user/Desktop"


@dataclass(frozen=True, slots=True)
class Level:
    """One goal on a state."""

    goal: str
    """The instruction."""
    evaluator: Mapping[str, Any]
    """Decides whether it is done; in OSWorld's form."""
    after: Mapping[str, bytes | None]
    """The oracle: the files that are other when it is done; None where one is gone, a path with ``/`` is a folder."""
    steps: float
    """Number of a person's steps (choose a file, type a text, save), which orders the levels."""
    hints: Sequence[str] = ()
    """Sentences that tell how."""
    keys: Sequence[str] = ()
    """PyAutoGUI lines that do it by keyboard and mouse; empty where none are known."""
    modes: Mapping[str, str] = field(default_factory=dict)
    """Permissions that are other when it is done."""


@dataclass(frozen=True, slots=True)
class State:
    """A state of the desktop with its levels, from easy to hard."""

    files: Mapping[str, bytes]
    levels: Sequence[Level]
    opened: Sequence[Mapping[str, Any]]
    """Set-up steps after the files are there."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of generated task."""

    name: str
    apps: tuple[str, ...]
    """The programs it is about, under OSWorld's names."""
    make: Callable[[RngStream, Words], State]


def opened(path: str) -> dict[str, Any]:
    """The set-up step that opens a file or a folder in its program."""
    return {"type": "open", "parameters": {"path": path}}


def launched(*command: str) -> dict[str, Any]:
    """The set-up step that starts a program."""
    return {"type": "launch", "parameters": {"command": list(command)}}


def terminal() -> dict[str, Any]:
    """The set-up step that opens a terminal in the home directory."""
    return launched("gnome-terminal")


def draw_several(rng: RngStream, words: Sequence[str], count: int) -> list[str]:
    """Different words in random order."""
    return [words[i] for i in rng.shuffled(len(words))[:count]]


def typed(text: str) -> str:
    """The PyAutoGUI line that types a text."""
    return f"pyautogui.write({text!r})"


def pressed(*keys: str) -> str:
    """The PyAutoGUI line that presses keys in turn; ``ctrl+s`` is two at once, ``down*3`` one three times."""
    lines: list[str] = []
    for key in keys:
        name, _, times = key.partition("*")
        count = int(times or 1)
        if "+" in name and len(name) > 1:
            lines += [f"pyautogui.hotkey({', '.join(map(repr, name.split('+')))})"] * count
        elif count:
            lines.append(f"pyautogui.press({name!r}{f', presses={count}' if count > 1 else ''})")
    return "; ".join(lines)


def named(name: str) -> str:
    """The PyAutoGUI line that answers a dialog with an entry for a name."""
    return f"{pressed('ctrl+a')}; {typed(name)}; {agreed()}"


def agreed() -> str:
    """The PyAutoGUI line that presses Enter in a dialog.

    The button stays pressed for a quarter of a second before the dialog does what it says.
    """
    return f"{pressed('enter')}; time.sleep(0.5)"
