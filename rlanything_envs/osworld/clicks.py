"""Places where an action clicks, read from its text, and marks for them on a picture of the screen."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from PIL import Image, ImageDraw

from rlanything_envs.errors import InfrastructureError, Unreadable
from rlanything_envs.osworld.actions import read_action
from rlanything_envs.osworld.computer_13 import action_of, read_dictionary
from rlanything_envs.osworld.desktop.observation import Pixels

__all__ = ["Click", "ClickFinder", "clicks_of", "mark_clicks"]

_MOST = 50
"""Clicks of one action that are read."""

_RED, _WHITE = (225, 29, 72), (255, 255, 255)

Kind = Literal["click", "double", "right", "drag", "scroll"]

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("click", "leftClick", "middleClick", "mouseDown", "mouseUp"), "click"),
    **dict.fromkeys(("doubleClick", "tripleClick"), "double"),
    "rightClick": "right",
    **dict.fromkeys(("dragTo", "dragRel", "drag"), "drag"),
    **dict.fromkeys(("scroll", "hscroll"), "scroll"),
}
_MOVES = {"move": True, "moveRel": True, "moveTo": False, "drag": True, "dragRel": True, "dragTo": False}
"""Calls that move the pointer, and whether by a distance."""


@dataclass(frozen=True, slots=True)
class Click:
    """A place on the screen, in pixels, and what was done there; of a drag, where it ended."""

    kind: Kind
    x: int
    y: int


def clicks_of(action: Any, screen: tuple[int, int] = (1920, 1080)) -> list[Click]:
    """The clicks of an action as far as its text says where they are; a place that the code computes is left out.

    Args:
        action: PyAutoGUI code or prose around it, or a mapping of ``computer_13`` or with code as ``command``.
        screen: Width and height in pixels.
    """
    try:
        code = _code(action, screen)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
    except (Unreadable, SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found: list[Click] = []
    at: tuple[int, int] | None = None
    for node in tree.body:
        call = node.value if isinstance(node, ast.Expr) else None
        name = call.func.attr if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else ""
        if not isinstance(call, ast.Call) or name not in {*_KINDS, *_MOVES} or len(found) == _MOST:
            continue
        if (place := _place(call, name, at)) is None and name in _MOVES:
            at = None  # wherever it went
            continue
        at = place or at
        if name in _KINDS and at is not None:
            found.append(Click(_KINDS[name], *at))
    return found


class ClickFinder:
    """Finds where the actions of an environment clicked: by their text, or by the pointer, where that has moved.

    Args:
        env: Any environment; one without a desktop has no clicks.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        self._env: Any = env.unwrapped
        self._pointer: tuple[int, int] | None = None

    def reset(self) -> None:
        """Forget the last episode; the next one has begun."""
        self._pointer = self._now()

    def find(self) -> list[Click]:
        """Clicks of the action that was taken last."""
        before, self._pointer = self._pointer, self._now()
        if self._pointer is None:
            return []
        if (found := clicks_of(getattr(self._env, "code", ""))) or before is None or before == self._pointer:
            return found
        return [Click("click", *self._pointer)]

    def _now(self) -> tuple[int, int] | None:
        try:  # the property itself fails where the action has broken the desktop
            if (client := getattr(self._env, "client", None)) is None:
                return None
            x, y = client.cursor_position()
        except InfrastructureError:
            return None
        return int(x), int(y)


def mark_clicks(screen: Pixels, clicks: Sequence[Click]) -> Pixels:
    """A copy of a screen with a ring around each click: two for a double click, a square for the right button."""
    if not clicks:
        return screen
    picture = Image.fromarray(screen)
    draw = ImageDraw.Draw(picture)
    radius = max(8, picture.width // 56)
    for click in clicks:
        for color, width in ((_WHITE, 6), (_RED, 3)):
            _mark(draw, click, radius, color, width)
    return np.asarray(picture, np.uint8)


def _mark(draw: ImageDraw.ImageDraw, click: Click, radius: int, color: tuple[int, int, int], width: int) -> None:
    def box(size: float) -> tuple[float, float, float, float]:
        return click.x - size, click.y - size, click.x + size, click.y + size

    if click.kind == "right":
        draw.rectangle(box(radius), outline=color, width=width)
    else:
        draw.ellipse(box(radius), outline=color, width=width)
    if click.kind == "double":
        draw.ellipse(box(radius * 1.6), outline=color, width=width)
    if click.kind == "scroll":
        draw.line((click.x, click.y - 2 * radius, click.x, click.y + 2 * radius), fill=color, width=width)
    draw.ellipse(box(width), fill=color)


def _code(action: Any, screen: tuple[int, int]) -> str:
    if isinstance(action, Mapping):
        if "command" in action:
            return _code(str(action["command"]), screen)
        return action_of(action, screen).code
    text = str(action)
    try:
        code = read_action(text).code
    except Unreadable:
        code = ""
    if not code and "action_type" in text:
        return action_of(read_dictionary(text), screen).code
    return code


def _place(call: ast.Call, name: str, at: tuple[int, int] | None) -> tuple[int, int] | None:
    """Where the pointer is after a call; None where the code does not say."""
    first = 1 if name in ("scroll", "hscroll") else 0
    given = call.args[first : first + 2]
    names = {word.arg: word.value for word in call.keywords}
    x, y = (names.get(word, given[number] if number < len(given) else None) for number, word in enumerate("xy"))
    if x is None and y is None and name not in _MOVES:
        return at
    if (values := [_number(part) for part in (x, y)])[0] is None or values[1] is None:
        return None
    if not _MOVES.get(name, False):
        return values[0], values[1]
    return None if at is None else (at[0] + values[0], at[1] + values[1])


def _number(node: ast.expr | None) -> int | None:
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -1, node.operand
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 100_000:
        return None
    return sign * round(value)
