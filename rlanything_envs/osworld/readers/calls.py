"""What the readers share: calls in a text, their parameters, names of keys, and the way to PyAutoGUI code.

A reader turns its calls into actions of ``computer_13``, which checks and writes every number and text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rlanything_envs.errors import Unreadable
from rlanything_envs.osworld.actions import Action, last_word
from rlanything_envs.osworld.computer_13 import action_of
from rlanything_envs.osworld.coordinates import Scale

__all__ = ["CLICKS", "Arguments", "Step", "held", "key_of", "keys_in", "move", "press", "run", "step"]
__all__ += ["steps_of_call", "word_of"]

PAUSE = "time.sleep(2)"
"""Code of a WAIT that is not the last call."""
_LONGEST_HOLD = 10.0
"""Seconds for which a key is held."""

_KEYS = {
    "arrowup": "up",
    "arrowdown": "down",
    "arrowleft": "left",
    "arrowright": "right",
    "page_up": "pageup",
    "page_down": "pagedown",
    "prior": "pageup",
    "next": "pagedown",
    "control": "ctrl",
    "control_l": "ctrl",
    "control_r": "ctrlright",
    "shift_l": "shift",
    "shift_r": "shiftright",
    "alt_l": "alt",
    "alt_r": "altright",
    "option": "alt",
    "cmd": "win",
    "command": "win",
    "super": "win",
    "super_l": "win",
    "meta": "win",
    "caps_lock": "capslock",
    "num_lock": "numlock",
    "kp_enter": "enter",
    "menu": "apps",
    **{"minus": "-", "plus": "+", "equal": "=", "slash": "/", "backslash": "\\", "period": ".", "comma": ","},
    **{"semicolon": ";", "apostrophe": "'", "grave": "`", "underscore": "_", "question": "?", "exclam": "!"},
    **{"bracketleft": "[", "bracketright": "]", "asterisk": "*", "numbersign": "#", "at": "@", "colon": ":"},
    **{f"kp_{name}": name for name in ("add", "subtract", "multiply", "divide", "decimal")},
    **{f"kp_{digit}": f"num{digit}" for digit in range(10)},
}
"""Names of X, of browsers and of other systems, and PyAutoGUI's name; the desktop reports a name that no key has."""

CLICKS: dict[str, dict[str, Any]] = {
    "left_click": {},
    "right_click": {"button": "right"},
    "middle_click": {"button": "middle"},
    "double_click": {"num_clicks": 2},
    "triple_click": {"num_clicks": 3},
}
"""Parameters of a click by the names of Qwen's and Anthropic's tools."""

Step = Mapping[str, Any] | str
"""An action of ``computer_13``, or the code of a pause."""


def step(kind: str, **parameters: Any) -> Step:
    """An action of ``computer_13``; parameters that are None are left out."""
    return {"action_type": kind, "parameters": {name: value for name, value in parameters.items() if value is not None}}


def run(steps: Sequence[Step], screen: tuple[int, int], scale: Scale) -> Action:
    """One action for a sequence of steps.

    Raises:
        Unreadable: A parameter is out of range, or something follows the end of the task.
    """
    code: list[str] = []
    word = None
    for number, item in enumerate(steps):
        action = Action(item) if isinstance(item, str) else action_of(item, screen, scale)
        if action.word == "WAIT" and number < len(steps) - 1:
            action = Action(PAUSE)
        elif action.word is not None and number < len(steps) - 1:
            raise Unreadable("a call follows the one that ends the task; end it in the last call")
        code += [action.code] if action.code else []
        word = action.word
    return Action("\n".join(code), word)


def word_of(text: str, example: str) -> Action:
    """The action of a text without a call: its last line is WAIT, DONE or FAIL.

    Raises:
        Unreadable: It is not; the message shows the example.
    """
    word = last_word(text)
    if word is None:
        raise Unreadable(f"there is no action in it; send {example}, or WAIT, DONE or FAIL alone in the last line")
    return Action(word=word)


def key_of(name: Any) -> str:
    """PyAutoGUI's name of a key."""
    if not isinstance(name, str) or not name:
        raise Unreadable(f"{name!r:.80} is not the name of a key")
    lower = name.lower()
    return name if len(name) == 1 else _KEYS.get(lower, lower)


def keys_in(text: Any, separator: str = "+") -> list[str]:
    """Names of keys in a text such as ``ctrl+s``; the separator at the end is a key itself."""
    if not isinstance(text, str) or not text.strip():
        raise Unreadable(f"{text!r:.80} is not the name of a key")
    names = [name for name in text.strip().split(separator) if name]
    if not names or text.strip().endswith(2 * separator):
        names.append(separator)
    return [key_of(name) for name in names]


def press(keys: Sequence[str]) -> Step:
    """One key, or several together."""
    return step("PRESS", key=keys[0]) if len(keys) == 1 else step("HOTKEY", keys=list(keys))


def move(place: Mapping[str, Any]) -> list[Step]:
    """A move to a place; none where there is no place."""
    return [step("MOVE_TO", **place)] if place else []


def held(keys: Sequence[str], steps: Sequence[Step]) -> list[Step]:
    """Steps while keys are held."""
    down, up = [step("KEY_DOWN", key=key) for key in keys], [step("KEY_UP", key=key) for key in reversed(keys)]
    return [*down, *steps, *up]


class Arguments:
    """The parameters of one call; each is read once, and what is left over is refused.

    Args:
        name: Name of the action, for messages.
        values: Parameters as the model wrote them.
    """

    def __init__(self, name: str, values: Mapping[str, Any]) -> None:
        self.name, self._values = name, dict(values)

    def take(self, name: str, default: Any = None) -> Any:
        """A parameter of any type."""
        return self._values.pop(name, default)

    def place(self, name: str, required: bool = False) -> dict[str, Any]:
        """A coordinate ``[x, y]`` as x and y; nothing where it is left out and not required."""
        value = self.take(name)
        if value is None and not required:
            return {}
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise Unreadable(f"{self.name}: {name} must be [x, y], not {value!r:.80}")
        return {"x": value[0], "y": value[1]}

    def keys(self, name: str) -> list[str]:
        """A list of names of keys, at least one, as PyAutoGUI's names."""
        value = self.take(name)
        if not isinstance(value, list) or not value:
            raise Unreadable(f"{self.name}: {name} must be a list of names of keys, not {value!r:.80}")
        return [key_of(key) for key in value]

    def number(self, name: str, most: float, default: float | None = None) -> float:
        """A number from 0 to ``most``, or with a sign down to its negative."""
        value = self.take(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= most:
            raise Unreadable(f"{self.name}: {name} must be a number up to {most:g}, not {value!r:.80}")
        return float(value)

    def hold(self, name: str) -> str:
        """Code of a pause of so many seconds."""
        return f"time.sleep({max(0.0, self.number(name, _LONGEST_HOLD)):g})"

    def choice(self, name: str, choices: Sequence[str], default: str | None = None) -> str:
        """One of some words."""
        value = self.take(name, default)
        if not isinstance(value, str) or value not in choices:
            raise Unreadable(f"{self.name}: {name} must be {', '.join(choices)}, not {value!r:.80}")
        return value

    def end(self) -> None:
        """Refuse parameters that were not read."""
        if left := [name for name, value in self._values.items() if value is not None]:
            raise Unreadable(f"{self.name} has no parameter {left[0]!r:.80}")


def steps_of_call(values: Mapping[str, Any], key: str, steps_of: Callable[[Any, Arguments], list[Step]]) -> list[Step]:
    """The steps of a call whose action is the parameter ``key``; all others must be read.

    Args:
        values: Parameters as the model wrote them.
        key: Name of the parameter that names the action.
        steps_of: The steps of an action from its name and the other parameters.

    Raises:
        Unreadable: The call cannot be read as a whole.
    """
    action = values.get(key)
    given = Arguments(f"{action!s:.40}", {name: value for name, value in values.items() if name != key})
    steps = steps_of(action, given)
    given.end()
    return steps
