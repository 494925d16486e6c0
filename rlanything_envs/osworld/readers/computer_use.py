"""``computer_use``: the calls that Qwen's models for desktops write, from Qwen2.5-VL on.

``<tool_call>{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [500, 250]}}</tool_call>``;
the object may also stand alone, with name and arguments or with the arguments only. Qwen3-VL's coordinates run from 0
to 1000; those of Qwen2.5-VL are pixels of the picture that it reads (``relative_coordinates=(1932, 1092)``).
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rlanything_envs.errors import Unreadable
from rlanything_envs.osworld.actions import MOST_CALLS, objects_in
from rlanything_envs.osworld.readers.calls import CLICKS, Arguments, Step, move, press, step, steps_of_call

__all__ = ["EXAMPLE", "MANUAL", "steps", "written"]

MANUAL = """\
Send one action a message, as a tool call:
<tool_call>
{{"name": "computer_use", "arguments": {{"action": "left_click", "coordinate": [{x}, {y}]}}}}
</tool_call>
- left_click, right_click, middle_click, double_click, triple_click, mouse_move, left_click_drag: coordinate.
- type: text. key: keys, a list. scroll, hscroll: pixels, up or right where positive. wait.
- terminate: status, success or failure.
{coordinates}"""

EXAMPLE = '<tool_call>{"name": "computer_use", "arguments": {"action": ...}}</tool_call>'
_BEGIN, _END = "<tool_call>", "</tool_call>"
_WAITS_S = 2.0
"""Seconds of a wait between two calls."""


def steps(said: str) -> list[Step]:
    """The steps of the calls of an answer in their order; none where there is no call."""
    return [part for call in _calls(said) for part in _steps(call)]


def written(code: str) -> list[str]:
    """The answers that do what code of keys, texts and pauses does: the reverse of `steps`, for demonstrations.

    Args:
        code: Calls of ``pyautogui.press``, ``hotkey`` and ``write``, and of ``time.sleep``, with constants; or DONE or
            FAIL.

    Raises:
        ValueError: It is something else.
    """
    if code in ("DONE", "FAIL"):
        return [_answer([{"action": "terminate", "status": "success" if code == "DONE" else "failure"}])]
    calls: list[dict[str, Any]] = []
    for line in ast.parse(code).body:
        match line:
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(module), name), args, keywords)):
                values = [ast.literal_eval(value) for value in args]
                times = [ast.literal_eval(word.value) for word in keywords if word.arg == "presses"]
            case _:
                raise ValueError(f"{ast.unparse(line)!r:.80} is not a call")
        match module, name:
            case "pyautogui", "press":
                calls += [{"action": "key", "keys": values}] * (times[0] if times else 1)
            case "pyautogui", "hotkey":
                calls.append({"action": "key", "keys": values})
            case "pyautogui", "write":
                calls.append({"action": "type", "text": values[0]})
            case "time", "sleep":
                calls += [{"action": "wait", "time": _WAITS_S}] * math.ceil(values[0] / _WAITS_S)
            case _:
                raise ValueError(f"computer_use has no action for {module}.{name}")
    return [_answer(calls[first : first + MOST_CALLS]) for first in range(0, len(calls), MOST_CALLS)]


def _answer(calls: Sequence[Mapping[str, Any]]) -> str:
    named = [json.dumps({"name": "computer_use", "arguments": call}, ensure_ascii=False) for call in calls]
    return "\n".join(f"{_BEGIN}\n{call}\n{_END}" for call in named)


def _calls(text: str) -> list[Mapping[str, Any]]:
    if _BEGIN not in text:
        return [value for value in objects_in(text) if {"name", "arguments"} <= value.keys() or "action" in value]
    calls: list[Mapping[str, Any]] = []
    for part in text.split(_BEGIN)[1:]:
        try:
            call = json.loads(part.partition(_END)[0])
        except (ValueError, RecursionError):
            raise Unreadable("what stands in <tool_call> is not JSON") from None
        if not isinstance(call, dict):
            raise Unreadable("what stands in <tool_call> is not an object")
        calls.append(call)
        if len(calls) > MOST_CALLS:
            raise Unreadable(f"there are more than {MOST_CALLS} calls in it; send fewer")
    return calls


def _steps(call: Mapping[str, Any]) -> list[Step]:
    values = call
    if "arguments" in call:
        if call.get("name") != "computer_use":
            raise Unreadable(f"there is no tool {call.get('name')!r:.80}; call computer_use")
        values = call["arguments"]
    if not isinstance(values, Mapping):
        raise Unreadable(f"arguments must be an object, not {values!r:.80}")
    return steps_of_call(values, "action", _steps_of)


def _steps_of(action: Any, given: Arguments) -> list[Step]:
    match action:
        case "left_click" | "right_click" | "middle_click" | "double_click" | "triple_click":
            return [step("CLICK", **given.place("coordinate"), **CLICKS[action])]
        case "mouse_move":
            return [step("MOVE_TO", **given.place("coordinate", required=True))]
        case "left_click_drag":
            given.take("duration")
            return [step("DRAG_TO", **given.place("coordinate", required=True))]
        case "type":
            return [step("TYPING", text=given.take("text"))]
        case "key":
            return [press(given.keys("keys"))]
        case "scroll" | "hscroll":
            moved, amount = move(given.place("coordinate")), given.take("pixels")
            return [*moved, step("SCROLL", dy=amount) if action == "scroll" else step("SCROLL", dx=amount)]
        case "wait":
            given.take("time")
            return [step("WAIT")]
        case "terminate":
            return [step("DONE" if given.choice("status", ("success", "failure"), "success") == "success" else "FAIL")]
    raise Unreadable(f"computer_use has no action {action!r:.80}")
