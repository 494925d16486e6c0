"""``ui_tars``: the lines that UI-TARS writes, ``Action: click(start_box='(500,500)')``.

Places are points or boxes, in the notation of version 1 (``<|box_start|>(x,y)<|box_end|>``), of 1.5
(``<point>x y</point>``) or bare. Coordinates run from 0 to 1000; those of models on Qwen2.5-VL are pixels of the
picture that they read (``relative_coordinates=(1932, 1092)``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rlanything_envs.errors import Unreadable
from rlanything_envs.osworld.actions import MOST_CALLS
from rlanything_envs.osworld.readers.calls import Arguments, Step, key_of, keys_in, move, press, step

__all__ = ["EXAMPLE", "MANUAL", "steps"]

MANUAL = """\
Send one action a message, after a thought:
Thought: ...
Action: click(start_box='({x},{y})')
- click, left_double, right_single, hover: start_box. drag: start_box and end_box.
- type(content='...'), with \\n at the end to press enter. hotkey(key='ctrl c'). press and release: key.
- scroll(start_box='...', direction='down'), or up, right, left. wait().
- finished(): the task is done. call_user(): it cannot be done.
{coordinates}"""

EXAMPLE = "Action: click(start_box='(500,500)')"
_LABEL = re.compile(r"^[ \t]*Action:", re.MULTILINE)
_NAME = re.compile(r"\s*([a-z_]{1,20})\s*\(\s*")
_ARGUMENT = re.compile(r"([a-z_]{1,20})\s*=\s*(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")\s*,?\s*", re.DOTALL)
_QUOTED = re.compile(r"\s*(type|finished)\s*\(\s*content\s*=\s*(['\"])")
_ESCAPE = re.compile(r"\\([n'\"\\])")
_TAGS = re.compile(r"<\|box_start\|>|<\|box_end\|>|</?point>|</?bbox>")
_PLACE = re.compile(r"[(\[]?\s*(\d{1,5}(?:\.\d{1,6})?)(?:[\s,]+(\d{1,5}(?:\.\d{1,6})?)){1,3}\s*[)\]]?")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_STEPS = 5
"""Steps of the wheel for one scroll."""


def steps(said: str) -> list[Step]:
    """The steps of the calls after the last ``Action:`` in their order; none where there is no such line."""
    labels = list(_LABEL.finditer(said))
    found: list[Step] = []
    if not labels:
        return found
    for name, values in _calls(said[labels[-1].end() :].strip(" \t\n`")):
        given = Arguments(name, values)
        found += _steps_of(name, given)
        given.end()
    return found


def _calls(text: str) -> list[tuple[str, Mapping[str, str]]]:
    calls: list[tuple[str, Mapping[str, str]]] = []
    place = 0
    while place < len(text):
        if len(calls) == MOST_CALLS:
            raise Unreadable(f"there are more than {MOST_CALLS} calls in it; send fewer")
        name, values, place = _call(text, place)
        calls.append((name, values))
        while place < len(text) and text[place].isspace():
            place += 1
    if not calls:
        raise Unreadable(f"nothing follows Action:; send {EXAMPLE}")
    return calls


def _call(text: str, place: int) -> tuple[str, Mapping[str, str], int]:
    head = _NAME.match(text, place)
    if head is None:
        raise Unreadable(f"{text[place : place + 40]!r} is not a call; send {EXAMPLE}")
    values: dict[str, str] = {}
    at = head.end()
    while found := _ARGUMENT.match(text, at):
        if found[1] in values:
            raise Unreadable(f"the call of {head[1]} has {found[1]} twice")
        values[found[1]] = _ESCAPE.sub(_unescaped, found[2] if found[2] is not None else found[3])
        at = found.end()
    if text[at : at + 1] == ")":
        return head[1], values, at + 1
    # A text with quotes that are not escaped: it is the only call, and ends with the answer.
    quoted = _QUOTED.match(text, place)
    if quoted is not None and text.endswith(f"{quoted[2]})"):
        return quoted[1], {"content": _ESCAPE.sub(_unescaped, text[quoted.end() : -2])}, len(text)
    raise Unreadable(f"the call of {head[1]} is not whole, or not of the form {EXAMPLE}")


def _unescaped(found: re.Match[str]) -> str:
    return "\n" if found[1] == "n" else found[1]


def _steps_of(name: str, given: Arguments) -> list[Step]:
    match name:
        case "click" | "left_single":
            return [step("CLICK", **_place(given, required=True))]
        case "left_double":
            return [step("DOUBLE_CLICK", **_place(given, required=True))]
        case "right_single":
            return [step("RIGHT_CLICK", **_place(given, required=True))]
        case "hover":
            return [step("MOVE_TO", **_place(given, required=True))]
        case "drag" | "select":
            begin = _place(given, required=True)
            return [step("MOVE_TO", **begin), step("DRAG_TO", **_place(given, "end", required=True))]
        case "hotkey":
            text = given.take("key", given.take("hotkey"))
            keys = text.split() if isinstance(text, str) else []
            return [press([key_of(key) for key in keys] if len(keys) > 1 else keys_in(text))]
        case "press" | "keydown":
            return [step("KEY_DOWN", key=key_of(given.take("key")))]
        case "release" | "keyup":
            return [step("KEY_UP", key=key_of(given.take("key")))]
        case "type":
            return [step("TYPING", text=given.take("content"))]
        case "scroll":
            moved, direction = move(_place(given)), given.choice("direction", ("up", "down", "left", "right"))
            amount = _STEPS if direction in ("up", "right") else -_STEPS
            return [*moved, step("SCROLL", **{"dy" if direction in ("up", "down") else "dx": amount})]
        case "wait":
            return [step("WAIT")]
        case "finished":
            given.take("content")
            return [step("DONE")]
        case "call_user":
            given.take("content")
            return [step("FAIL")]
    raise Unreadable(f"there is no action {name!r}")


def _place(given: Arguments, which: str = "start", required: bool = False) -> dict[str, float]:
    """The centre of a box, or a point."""
    names = [f"{which}_box", f"{which}_point", *(["point"] if which == "start" else [])]
    texts = [text for name in names if (text := given.take(name)) is not None]
    if not texts and not required:
        return {}
    text = _TAGS.sub("", texts[0]).strip() if len(texts) == 1 else ""
    numbers = [float(number) for number in _NUMBER.findall(text)] if _PLACE.fullmatch(text) else []
    if len(numbers) not in (2, 4):
        raise Unreadable(f"{given.name}: {which}_box must be a place such as '(500,500)', not {texts!r:.80}")
    return {"x": (numbers[0] + numbers[-2]) / 2, "y": (numbers[1] + numbers[-1]) / 2}
