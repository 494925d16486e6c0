"""Patterns in an agent's commands: shapes, loops, and things of the goal that were never reached.

The module is independent of the domain. Things are recognised by names with numbers ("drawer 3"), as text worlds write
them; without such names nothing is reported as missed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Missed", "cycle_of", "most_frequent", "never_reached", "replaced", "shape_of"]

MAX_PERIOD = 4
"""Longest loop that is detected, in commands."""
MIN_ROUNDS = 3
"""Fewest rounds of a loop."""

_NAME = re.compile(r"\b([a-z]{2,30}) (\d{1,4})\b")
_WORD = re.compile(r"[a-z]{3,30}")
_COMMON = frozenset((
    "and", "are", "clean", "cool", "examine", "find", "from", "heat", "hot", "into", "its", "look", "move", "one",
    "place", "put", "some", "take", "task", "that", "the", "them", "then", "this", "two", "under", "use", "using",
    "with", "your",
))  # fmt: skip
"""Words of task sentences that name no thing."""


@dataclass(frozen=True, slots=True)
class Missed:
    """Things of the goal that an episode never reached."""

    unseen: list[str]
    """Words of the goal that are things of such a world and occur in no message and no command."""
    unused: list[str]
    """Things of the goal that occur in a message, but in no command."""


def shape_of(command: str) -> str:
    """A command without its numbers.

    >>> shape_of("take apple 2 from fridge 1")
    'take apple from fridge'
    """
    return " ".join(word for word in command.split() if not word.isdigit())


def most_frequent(items: Sequence[str]) -> tuple[str, int]:
    """The most frequent item and its count; the first of several.

    >>> most_frequent(["b", "a", "a", "b"])
    ('b', 2)
    """
    return Counter(items).most_common(1)[0]


def cycle_of(commands: Sequence[str]) -> tuple[list[str], int] | None:
    """The loop that covers the most consecutive commands, and its number of rounds; None without a loop.

    >>> cycle_of(["look", "go a", "go b", "go a", "go b", "go a", "go b", "go a"])
    (['go a', 'go b'], 3)
    """
    best: tuple[int, int, int] | None = None  # covered commands, less the period; start
    for period in range(1, MAX_PERIOD + 1):
        start = run = 0
        for at in range(period, len(commands) + 1):
            if at < len(commands) and commands[at] == commands[at - period]:
                start = start if run else at - period
                run += 1
                continue
            rounds = (run + period) // period
            if run and rounds >= MIN_ROUNDS:
                found = (rounds * period, -period, -start)
                best = max(best, found) if best else found
            run = 0
    if best is None:
        return None
    covered, period, start = best[0], -best[1], -best[2]
    return list(commands[start : start + period]), covered // period


def replaced(root: str, goal: str) -> bool:
    """Whether a goal names things, and none of those that the root goal names.

    >>> replaced("look at basketball under the desklamp", "put a laptop in sidetable")
    True
    >>> replaced("put a clean mug in cabinet", "put two mug in cabinet")
    False
    """
    old, new = (set(_WORD.findall(text.lower())) - _COMMON for text in (root, goal))
    return bool(old and new) and not old & new


def never_reached(goal: str, opening: str, turns: Sequence[tuple[str, str]]) -> Missed:
    """Things of the goal that an episode never reached.

    Args:
        goal: The task in words.
        opening: The first message.
        turns: Commands and their answers.
    """
    scene = opening.lower().replace(goal.lower(), " ")
    commands = " ".join(command.lower() for command, _ in turns)
    named = _NAME.search(scene) is not None
    messages = " ".join(message.lower() for _, message in turns)
    used = set(_WORD.findall(commands))
    seen = {kind for kind, _ in _NAME.findall(f"{scene} {messages}")}
    wanted = [word for word in dict.fromkeys(_WORD.findall(goal.lower())) if word not in _COMMON]
    return Missed(
        unseen=[word for word in wanted if named and word not in seen and word not in used],
        unused=[word for word in wanted if word in seen and word not in used],
    )
