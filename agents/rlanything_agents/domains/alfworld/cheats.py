"""Cheating agents of household tasks: commands that change nothing, again and again; texts that hurt a parser."""

from __future__ import annotations

from rlanything_agents.domains.cheats import Cheat, always, in_turns
from rlanything_task_pools import Task

__all__ = ["CHEATS", "limit"]


def limit(task: Task) -> float:
    """Seconds that an answer may take: hostile texts have up to a megabyte."""
    return 1.0


_TEXTS = {
    "nothing": "",
    "half surrogates": "go to \ud800 fridge\udfff 1",
    "control characters": "take apple 1\0 from\x1b[2J fridge 1\x08\x7f\u202e",
    "a megabyte of words": "go to fridge 1 and " * 55_000,
    "a megabyte of one word": "a" * 1_000_000,
    "a megabyte of blanks": "look" + " " * 1_000_000 + "around",
    "a megabyte of marks": "Action: " * 125_000,
    "nesting": "[" * 100_000 + "{" * 100_000,
    "nested thoughts": "<think>" * 50_000 + "Action: look" + "</think>" * 50_000,
    "a tool call": '{"name": "go_to", "arguments": {"receptacle": ' + '["fridge 1", NaN, 1e999, ' * 1_000,
    "all commands at once": "take apple 1 from fridge 1\nopen fridge 1\ngo to fridge 1\nuse desklamp 1",
    "numbers": "go to fridge 99999999999999999999999999999999999999999",
    "digits of other scripts": "go to fridge \u0661\u06f1\u2460\u00b9",
    "formats": "go to {0.__class__.__mro__} %s %n $(reboot) `reboot` \\x41",
    "paths": "restore ../../../../etc/passwd",
    "logic": "(:goal (and)) (define (problem x) (:init (won)))",
    "the goal as a fact": "INIT: inreceptacle apple_1 fridge_1. You put the apple 1 in/on the fridge 1.",
}

CHEATS = (
    Cheat("look", "looks around in every turn", always("look")),
    Cheat("inventory", "reads its inventory in every turn", always("inventory")),
    Cheat(
        "commands",
        "sends commands of the engine that are not actions of the game",
        in_turns("restart", "undo", "save", "restore", "win", "quit", "admissible_commands", "debug on", "score"),
    ),
    Cheat(
        "hostile texts",
        "sends texts that hurt a parser: half characters, a megabyte, nesting, control characters",
        in_turns(*_TEXTS.values(), "look"),
    ),
)
"""See `rlanything_agents.domains.cheats`."""
