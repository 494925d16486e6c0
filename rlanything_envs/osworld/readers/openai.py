"""``openai``: the actions of OpenAI's computer tool as JSON, ``{"type": "click", "button": "left", "x": 1, "y": 2}``.

A whole ``computer_call`` is read too, with its ``action`` or its list of ``actions``. Coordinates are pixels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlanything_envs.errors import Unreadable
from rlanything_envs.osworld.actions import MOST_CALLS, objects_in
from rlanything_envs.osworld.readers.calls import Arguments, Step, held, key_of, press, step, steps_of_call

__all__ = ["EXAMPLE", "MANUAL", "steps"]

MANUAL = """\
Send one action a message, a JSON object: {{"type": "click", "button": "left", "x": {x}, "y": {y}}}
- click: x, y, button. double_click, move: x, y. drag: path, a list of {{"x": ..., "y": ...}}.
- scroll: x, y, scroll_x and scroll_y in pixels, down and right where positive. type: text. keypress: keys, a list.
- wait, screenshot. DONE alone: the task is done. FAIL alone: the task cannot be done.
{coordinates}"""

EXAMPLE = '{"type": "click", "button": "left", "x": 1, "y": 2}'
_WHEEL = 100
"""Pixels of one step of the wheel."""
_MOST_PIXELS = 10_000
_MOST_POINTS = 50


def steps(said: str) -> list[Step]:
    """The steps of the calls of an answer in their order; none where there is no call."""
    actions = [action for value in objects_in(said) if "type" in value for action in _actions(value)]
    if len(actions) > MOST_CALLS:
        raise Unreadable(f"there are more than {MOST_CALLS} actions in it; send fewer")
    return [part for action in actions for part in steps_of_call(action, "type", _holding)]


def _actions(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found: Any = [value]
    if value["type"] == "computer_call":
        found = value["actions"] if value.get("actions") else [value.get("action")]
    if not isinstance(found, list) or not all(isinstance(action, Mapping) for action in found):
        raise Unreadable("computer_call has neither an action nor a list of actions")
    return found


def _holding(kind: Any, given: Arguments) -> list[Step]:
    """The steps of an action while its ``keys`` are held; of ``keypress`` they are the action itself."""
    keys = given.take("keys") if kind != "keypress" else None
    steps = _steps_of(kind, given)
    if not isinstance(keys, list | None):
        raise Unreadable(f"{given.name}: keys must be a list of names of keys, not {keys!r:.80}")
    return held([key_of(key) for key in keys or ()], steps)


def _steps_of(kind: Any, given: Arguments) -> list[Step]:
    match kind:
        case "click":
            button = given.choice("button", ("left", "right", "wheel", "middle"), "left")
            return [step("CLICK", **_place(given), button="middle" if button == "wheel" else button)]
        case "double_click":
            return [step("DOUBLE_CLICK", **_place(given))]
        case "move":
            return [step("MOVE_TO", **_place(given))]
        case "drag":
            path = given.take("path")
            if not isinstance(path, list) or not 2 <= len(path) <= _MOST_POINTS:
                raise Unreadable(f"drag: path must be a list of 2 to {_MOST_POINTS} points")
            points = [_point(point) for point in path]
            moves = [step("MOVE_TO", **point) for point in points]
            return [moves[0], step("MOUSE_DOWN"), *moves[1:], step("MOUSE_UP")]
        case "scroll":
            place = _place(given)
            right, down = (_wheel(given, f"scroll_{axis}") for axis in "xy")
            return [step("MOVE_TO", **place), step("SCROLL", dx=right, dy=-down)]
        case "type":
            return [step("TYPING", text=given.take("text"))]
        case "keypress":
            keys = given.keys("keys")  # with others a letter is named by its capital, as CTRL and A
            return [press(keys if len(keys) == 1 else [key.lower() for key in keys])]
        case "wait" | "screenshot":
            given.take("ms")
            return [step("WAIT")]
    raise Unreadable(f"there is no action of the type {kind!r:.80}")


def _place(given: Arguments) -> dict[str, Any]:
    return {"x": given.take("x"), "y": given.take("y")}


def _point(point: Any) -> dict[str, Any]:
    if isinstance(point, Mapping) and point.keys() == {"x", "y"}:
        return dict(point)
    if isinstance(point, list) and len(point) == 2:
        return {"x": point[0], "y": point[1]}
    raise Unreadable(f"drag: a point is {{'x': ..., 'y': ...}}, not {point!r:.80}")


def _wheel(given: Arguments, name: str) -> int:
    """Steps of the wheel for a distance: at least one for any that is not 0."""
    pixels = given.number(name, _MOST_PIXELS, 0)
    steps = round(pixels / _WHEEL)
    return steps if steps or not pixels else (1 if pixels > 0 else -1)
