"""``anthropic``: the inputs of Anthropic's computer tool as JSON, ``{"action": "left_click", "coordinate": [1, 2]}``.

A whole ``tool_use`` block is read too. Coordinates are pixels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlanything_envs.errors import Unreadable
from rlanything_envs.osworld.actions import objects_in
from rlanything_envs.osworld.readers.calls import (
    CLICKS,
    Arguments,
    Step,
    held,
    keys_in,
    move,
    press,
    step,
    steps_of_call,
)

__all__ = ["EXAMPLE", "MANUAL", "steps"]

MANUAL = """\
Send one action a message, a JSON object: {{"action": "left_click", "coordinate": [{x}, {y}]}}
- left_click, right_click, middle_click, double_click, triple_click: coordinate, and text for keys that are held.
- mouse_move: coordinate. left_click_drag: start_coordinate and coordinate. left_mouse_down, left_mouse_up.
- scroll: coordinate, scroll_direction and scroll_amount. type: text. key: text, such as ctrl+s.
- hold_key: text and duration. wait, screenshot. DONE alone: the task is done. FAIL alone: it cannot be done.
{coordinates}"""

EXAMPLE = '{"action": "left_click", "coordinate": [1, 2]}'
_DIRECTIONS = {"up": ("dy", 1), "down": ("dy", -1), "right": ("dx", 1), "left": ("dx", -1)}
_MOST_STEPS = 100

_MOST_KEYS = 50
"""Keys, or combinations of keys, of one ``key`` action."""


def steps(said: str) -> list[Step]:
    """The steps of the calls of an answer in their order; none where there is no call."""
    inputs = [value.get("input", value) for value in objects_in(said) if _is_call(value)]
    return [part for given in inputs for part in _steps(given)]


def _is_call(value: Mapping[str, Any]) -> bool:
    return "action" in value or (value.get("name") == "computer" and "input" in value)


def _steps(values: Any) -> list[Step]:
    if not isinstance(values, Mapping):
        raise Unreadable(f"input must be an object, not {values!r:.80}")
    return steps_of_call(values, "action", _steps_of)


def _steps_of(action: Any, given: Arguments) -> list[Step]:
    match action:
        case "left_click" | "right_click" | "middle_click" | "double_click" | "triple_click":
            return _holding(given, [step("CLICK", **given.place("coordinate"), **CLICKS[action])])
        case "mouse_move":
            return [step("MOVE_TO", **given.place("coordinate", required=True))]
        case "left_click_drag":
            return [*move(given.place("start_coordinate")), step("DRAG_TO", **given.place("coordinate", required=True))]
        case "left_mouse_down" | "left_mouse_up":
            return [*move(given.place("coordinate")), step("MOUSE_DOWN" if action == "left_mouse_down" else "MOUSE_UP")]
        case "scroll":
            moved = move(given.place("coordinate"))
            axis, sign = _DIRECTIONS[given.choice("scroll_direction", tuple(_DIRECTIONS))]
            amount = sign * given.number("scroll_amount", _MOST_STEPS, 3)
            return _holding(given, [*moved, step("SCROLL", **{axis: amount})])
        case "type":
            return [step("TYPING", text=given.take("text"))]
        case "key":  # as xdotool takes it: keys after one another between blanks
            text = given.take("text")
            parts = text.split() if isinstance(text, str) and text.strip() else [text]
            if len(parts) > _MOST_KEYS:
                raise Unreadable(f"key: there are more than {_MOST_KEYS} keys in it; send fewer")
            return [press(keys_in(part)) for part in parts]
        case "hold_key":
            return held(keys_in(given.take("text")), [given.hold("duration")])
        case "wait" | "screenshot":
            given.take("duration")
            return [step("WAIT")]
    raise Unreadable(f"there is no action {action!r:.80}")


def _holding(given: Arguments, steps: list[Step]) -> list[Step]:
    """The steps while the keys of ``text`` are held."""
    text = given.take("text")
    return held([] if text in (None, "") else keys_in(text), steps)
