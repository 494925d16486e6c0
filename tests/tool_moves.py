"""Actions of the domains as agents write them and as they call them, for tests that compare the two."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import partial
from typing import Any

__all__ = ["Move", "alfworld_move", "desktop_moves"]


@dataclass(frozen=True)
class Move:
    """One action, as an agent writes it and as it calls it."""

    text: str
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


_VERBS = {
    "go to ": ("go_to", "receptacle"),
    "open ": ("open_receptacle", "receptacle"),
    "close ": ("close_receptacle", "receptacle"),
    "use ": ("use", "thing"),
    "examine ": ("examine", "name"),
}
_PAIRS = {"take": " from ", "move": " to ", "clean": " with ", "heat": " with ", "cool": " with ", "slice": " with "}


def alfworld_move(command: str) -> Move:
    say = partial(Move, f"I go on.\nAction: {command}")
    if command in ("look", "inventory", "help"):
        return say(command)
    for verb, (tool, name) in _VERBS.items():
        if command.startswith(verb):
            return say(tool, {name: command.removeprefix(verb)})
    verb, _, rest = command.partition(" ")
    thing, _, other = rest.partition(_PAIRS[verb])
    return say(verb, {"thing": thing, "knife" if verb == "slice" else "receptacle": other})


def desktop_moves(proof: tuple[str, ...]) -> list[Move]:
    """A proof's PyAutoGUI calls one by one."""
    moves = []
    for call in (node.value for line in proof for node in ast.parse(line).body if isinstance(node, ast.Expr)):
        assert isinstance(call, ast.Call)
        if ast.unparse(call.func) == "time.sleep":
            moves.append(Move("WAIT", "wait"))
            continue
        name = ast.unparse(call.func).removeprefix("pyautogui.")
        args, keywords = map(ast.literal_eval, call.args), {k.arg: ast.literal_eval(k.value) for k in call.keywords}
        values = list(args)
        times = keywords.pop("presses", 1)
        assert not keywords
        made = _called(name, values)
        code = f"pyautogui.{name}({', '.join(map(repr, values))})"
        moves += [Move(f"So:\n```python\n{code}\n```", *made)] * times
    return [*moves, Move("DONE", "done")]


def _called(name: str, values: list[Any]) -> tuple[str, dict[str, Any]]:
    places = {"click": "click", "doubleClick": "double_click", "rightClick": "right_click"}
    if name in places:
        return places[name], dict(zip("xy", values, strict=True))
    if name == "hotkey":
        return "hotkey", {"keys": values}
    (value,) = values
    return {"press": ("press", {"key": value}), "write": ("type_text", {"text": value})}[name]
