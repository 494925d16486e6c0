"""The action space ``computer_13``: thirteen kinds of actions as small dictionaries, and three words.

``{"action_type": "CLICK", "parameters": {"x": 100, "y": 200}}``; the parameters may also be fields next to the type.
Each action becomes PyAutoGUI code that consists of checked numbers and quoted texts only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym

from rlanything_envs.errors import Unreadable
from rlanything_envs.osworld.actions import MAX_ACTION_LENGTH, Action, last_block, objects_in, without_thoughts
from rlanything_envs.osworld.coordinates import Scale, along, to_pixels

__all__ = ["ACTION_TYPES", "Computer13", "action_of", "read_dictionary"]

_MOST_CLICKS = 3
_MOST_KEYS = 8
_LONGEST_KEY = 32
_MOST_SCROLL = 1000
_BUTTONS = ("left", "right", "middle")


class _Reader:
    """The parameters of one action."""

    def __init__(self, kind: str, values: Mapping[str, Any], screen: tuple[int, int], scale: Scale) -> None:
        self._kind, self._values, self._screen, self._scale = kind, values, screen, scale

    def refuse(self, name: str, wanted: str) -> Unreadable:
        return Unreadable(f"{self._kind}: {name} must be {wanted}, not {self._values.get(name)!r:.80}")

    def number(self, name: str, default: float | None, most: float) -> float:
        value = self._values.get(name, default)
        right_kind = isinstance(value, int | float) and not isinstance(value, bool)
        if not right_kind or not abs(value) <= most:  # NaN fails this comparison
            raise self.refuse(name, f"a number up to {most:g}")
        return float(value)

    def place(self, required: bool) -> list[str]:
        """The coordinates as arguments of a call; none where the action is at the pointer."""
        if not required and self._values.get("x") is None and self._values.get("y") is None:
            return []
        arguments = []
        for axis, name in enumerate("xy"):
            size, scale = self._screen[axis], along(self._scale, axis)
            value = self.number(name, None, scale or size)
            pixel = to_pixels(value, size, scale) if scale else round(value)
            if pixel < 0:
                raise self.refuse(name, "on the screen")
            arguments.append(str(pixel))
        return arguments

    def button(self) -> str:
        if (value := self._values.get("button", "left")) not in _BUTTONS:
            raise self.refuse("button", "left, right or middle")
        return f"button={value!r}"

    def key(self, name: str = "key") -> str:
        value = self._values.get(name)
        if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_KEY:
            raise self.refuse(name, "the name of a key")
        return repr(value)

    def keys(self) -> str:
        keys = list(value) if isinstance(value := self._values.get("keys"), list | tuple) else []
        if not 0 < len(keys) <= _MOST_KEYS or not all(isinstance(k, str) and 0 < len(k) <= _LONGEST_KEY for k in keys):
            raise self.refuse("keys", f"a list of up to {_MOST_KEYS} names of keys")
        return ", ".join(map(repr, keys))

    def text(self) -> str:
        value = self._values.get("text")
        if not isinstance(value, str) or len(value) > MAX_ACTION_LENGTH:
            raise self.refuse("text", f"a text of up to {MAX_ACTION_LENGTH} characters")
        return repr(value)


def _call(function: str, *arguments: str) -> str:
    return f"pyautogui.{function}({', '.join(arguments)})"


def _click(p: _Reader) -> str:
    if (clicks := p.number("num_clicks", 1, _MOST_CLICKS)) not in range(1, _MOST_CLICKS + 1):
        raise p.refuse("num_clicks", f"1 to {_MOST_CLICKS}")
    return _call("click", *p.place(required=False), p.button(), *([f"clicks={clicks:.0f}"] if clicks > 1 else []))


def _scroll(p: _Reader) -> str:
    sideways, up = p.number("dx", 0, _MOST_SCROLL), p.number("dy", 0, _MOST_SCROLL)
    calls = [_call("hscroll", f"{round(sideways)}")] if round(sideways) else []
    return "; ".join([*calls, _call("vscroll", f"{round(up)}")] if round(up) or not calls else calls)


_CODE: dict[str, tuple[Callable[[_Reader], str], frozenset[str]]] = {
    "MOVE_TO": (lambda p: _call("moveTo", *p.place(required=True)), frozenset({"x", "y"})),
    "CLICK": (_click, frozenset({"button", "x", "y", "num_clicks"})),
    "MOUSE_DOWN": (lambda p: _call("mouseDown", p.button()), frozenset({"button"})),
    "MOUSE_UP": (lambda p: _call("mouseUp", p.button()), frozenset({"button"})),
    "RIGHT_CLICK": (lambda p: _call("rightClick", *p.place(required=False)), frozenset({"x", "y"})),
    "DOUBLE_CLICK": (lambda p: _call("doubleClick", *p.place(required=False)), frozenset({"x", "y"})),
    "DRAG_TO": (lambda p: _call("dragTo", *p.place(required=True), "button='left'"), frozenset({"x", "y"})),
    "SCROLL": (_scroll, frozenset({"dx", "dy"})),
    "TYPING": (lambda p: _call("write", p.text()), frozenset({"text"})),
    "PRESS": (lambda p: _call("press", p.key()), frozenset({"key"})),
    "KEY_DOWN": (lambda p: _call("keyDown", p.key()), frozenset({"key"})),
    "KEY_UP": (lambda p: _call("keyUp", p.key()), frozenset({"key"})),
    "HOTKEY": (lambda p: _call("hotkey", p.keys()), frozenset({"keys"})),
}
_WORDS = {"WAIT": Action(word="WAIT"), "DONE": Action(word="DONE"), "FAIL": Action(word="FAIL")}

ACTION_TYPES: tuple[str, ...] = (*_CODE, *_WORDS)
"""The thirteen kinds and the three words."""


def action_of(value: Mapping[str, Any], screen: tuple[int, int], scale: Scale = 0.0) -> Action:
    """The action of a dictionary.

    Args:
        value: ``action_type``, and the parameters under ``parameters`` or next to it.
        screen: width and height in pixels.
        scale: coordinates of the far edges of the screen; 0 for pixels.

    Raises:
        Unreadable: the type is unknown, or a parameter is unknown or out of range.
    """
    kind = value.get("action_type")
    if not isinstance(kind, str) or kind not in ACTION_TYPES:
        raise Unreadable(f"action_type {kind!r:.80} is unknown; choose from {', '.join(ACTION_TYPES)}")
    if kind in _WORDS:
        return _WORDS[kind]
    values = value.get("parameters", {name: item for name, item in value.items() if name != "action_type"})
    if not isinstance(values, Mapping):
        raise Unreadable(f"{kind}: parameters must be an object, not {values!r:.80}")
    code, known = _CODE[kind]
    if unknown := [str(name) for name in values if name not in known]:
        raise Unreadable(f"{kind} has no parameter {unknown[0]!r:.80}; it has {', '.join(sorted(known))}")
    return Action(code(_Reader(kind, values, screen, scale)))


def read_dictionary(text: str) -> Mapping[str, Any]:
    """The dictionary in a model's text: the last fenced block, else the last JSON object, else one of the words.

    Raises:
        Unreadable: there is none of these.
    """
    if len(text) > MAX_ACTION_LENGTH:
        raise Unreadable(f"the message is longer than {MAX_ACTION_LENGTH} characters; send a shorter one")
    said = without_thoughts(text)
    said = said if (block := last_block(said)) is None else block
    if (word := said.strip(" \n\t`*.!").upper()) in _WORDS:
        return {"action_type": word}
    if not (found := [value for value in objects_in(said) if "action_type" in value]):
        raise Unreadable('there is no action in it; send {"action_type": ..., "parameters": {...}} as JSON')
    return found[-1]


class Computer13(gym.Space[dict[str, Any]]):
    """The dictionaries that `action_of` reads.

    Args:
        screen: width and height in pixels.
        scale: coordinate of the far edge of the screen; 0 for pixels.
        seed: seed of `sample`.
    """

    def __init__(self, screen: tuple[int, int], scale: Scale = 0.0, seed: int | None = None) -> None:
        self.screen, self.scale = screen, scale
        super().__init__(seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """False: an action is not an array of fixed size."""
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> dict[str, Any]:
        """A random click, key press or word; mask and probability are not supported.

        Raises:
            ValueError: a mask or probability was given.
        """
        if mask is not None or probability is not None:
            raise ValueError("Computer13.sample takes neither mask nor probability")
        kind = ACTION_TYPES[int(self.np_random.integers(len(ACTION_TYPES)))]
        return {"action_type": kind, "parameters": {name: self._sampled(name) for name in self._parameters(kind)}}

    @staticmethod
    def _parameters(kind: str) -> list[str]:
        return sorted(_CODE[kind][1]) if kind in _CODE else []

    def _sampled(self, name: str) -> Any:
        if name in "xy":
            value = float(self.np_random.random())
            axis = "xy".index(name)
            return value * along(self.scale, axis) if self.scale else int(value * self.screen[axis])
        small = int(self.np_random.integers(1, 4))
        values = {"button": _BUTTONS[small - 1], "num_clicks": small, "dx": small, "dy": -small, "text": "a" * small}
        return values.get(name, ["ctrl", "a"] if name == "keys" else "abc"[small - 1])

    def contains(self, x: Any) -> bool:
        """Whether `x` can be read."""
        try:
            action_of(x, self.screen, self.scale)
        except (Unreadable, AttributeError):
            return False
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Computer13) and (self.screen, self.scale) == (other.screen, other.scale)

    def __hash__(self) -> int:
        return hash((Computer13, self.screen, self.scale))

    def __repr__(self) -> str:
        return f"Computer13({self.screen}, scale={self.scale})"
