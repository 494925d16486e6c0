"""Messages of the environment to a reader of text: task, instructions, result of an action, and screen."""

from __future__ import annotations

from rlanything_envs.osworld.coordinates import Scale, along
from rlanything_envs.osworld.desktop.observation import GuestOutput
from rlanything_envs.osworld.readers import READERS
from rlanything_verifiers.plain_text import printable_lines

__all__ = [
    "CRASHED",
    "DONE",
    "FAIL",
    "FAILED",
    "MAX_MESSAGE_LENGTH",
    "MAX_TEXT_LENGTH",
    "how_to_act",
    "later",
    "opening",
    "ran",
    "unreadable",
]

MAX_MESSAGE_LENGTH = 2_000
"""In code points."""
MAX_TEXT_LENGTH = 32_768
"""Longest text in code points; instructions have at most 10,000, the screen is shortened to 12,000."""

_OUTPUT_LENGTH = 600

FAILED = "The desktop failed: this is not the agent's fault, and the task counts for nothing."
CRASHED = "The desktop no longer works after what was done to it: the task has failed."
DONE = "DONE: the task is over."
FAIL = "FAIL: the task is over; it was called infeasible."

_PYAUTOGUI = """\
Send one action a message: Python code in a fenced block that calls pyautogui, or a word.
- pyautogui has click, doubleClick, rightClick, moveTo, dragTo, scroll, write, press, hotkey and others.
- WAIT: let some time pass.
- DONE: the task is done.
- FAIL: the task cannot be done.
{coordinates}
For example:
```python
pyautogui.click({x}, {y})
```"""

_COMPUTER_13 = """\
Send one action a message, a JSON object: {{"action_type": "CLICK", "parameters": {{"x": {x}, "y": {y}}}}}
- MOVE_TO, CLICK, RIGHT_CLICK, DOUBLE_CLICK, DRAG_TO: x, y; CLICK also button and num_clicks.
- MOUSE_DOWN, MOUSE_UP: button. SCROLL: dx, dy. TYPING: text. PRESS, KEY_DOWN, KEY_UP: key. HOTKEY: keys.
- WAIT: let some time pass. DONE: the task is done. FAIL: the task cannot be done.
{coordinates}"""


_MARKS = "mark_3 stands for the middle of the element with the number 3: pyautogui.click(mark_3)."

_MANUALS = {
    "pyautogui": _PYAUTOGUI,
    "computer_13": _COMPUTER_13,
    **{name: reader.manual for name, reader in READERS.items()},
}


def opening(instruction: str, manual: str, seen: str, turns: int) -> str:
    """The first message: the task, how to act, and the screen.

    Args:
        instruction: the task in words.
        manual: see `how_to_act`.
        seen: the elements on the screen, a line each.
        turns: number of turns.
    """
    return f"Task: {instruction}\n\n{manual}\n\n{_screen(seen)}\n{_turns_left(turns)}"


def how_to_act(
    actions: str, screen: tuple[int, int], scale: Scale, instructions: bool = True, marks: bool = False
) -> str:
    """How to write an action, and where coordinates begin and end.

    Args:
        actions: name of the action space.
        screen: width and height in pixels.
        scale: coordinates of the far edges of the screen; 0 for pixels.
        instructions: whether to explain how to write an action, besides the coordinates.
        marks: whether elements have numbers that stand for their places.
    """
    width, height = screen
    if scale:
        right, below = along(scale, 0), along(scale, 1)
        x, y = f"{right / 4:g}", f"{below / 2:g}"
        ends = f"{right:g}" if right == below else f"{right:g} and {below:g}"
        coordinates = f"x and y run from 0 to {ends}, from the left and the upper edge of the screen."
    else:
        x, y = str(width // 4), str(height // 2)
        coordinates = f"x and y are pixels from the left and the upper edge; the screen has {width} by {height}."
    manual = _MANUALS[actions] if instructions else "{coordinates}"
    if marks:
        manual = manual.replace("{coordinates}", f"{_MARKS}\n{{coordinates}}")
    return manual.format(coordinates=coordinates, x=x, y=y)


def later(message: str, seen: str, turns: int) -> str:
    """A later message: the result of the action, and the screen."""
    return "\n".join([*([message] if message else []), _screen(seen), _turns_left(turns)])


def unreadable(reason: str) -> str:
    """The answer to a text that is not an action."""
    return _shorten(f"No action was taken: {reason}.", MAX_MESSAGE_LENGTH)


def ran(done: GuestOutput) -> str:
    """Result of the agent's code; empty where it succeeded and printed nothing."""
    lines = []
    said = printable_lines(done.error.strip())
    if done.returncode != 0:
        last = said.splitlines()[-1:] or ["no message"]
        lines.append(f"The action failed with exit status {done.returncode}: {_shorten(last[0], _OUTPUT_LENGTH)}")
    elif said:
        lines.append(f"The action warned: {_shorten(said, _OUTPUT_LENGTH)}")
    if printed := printable_lines(done.output.strip()):
        lines.append(f"The action printed: {_shorten(printed, _OUTPUT_LENGTH)}")
    return "\n".join(lines)


def _screen(seen: str) -> str:
    return f"Screen:\n{seen or '(nothing that can be read)'}"


def _turns_left(turns: int) -> str:
    return "No turns left." if turns == 0 else f"Turns left: {turns}."


def _shorten(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
