"""Base of all rewrite operators: the changed game, and strict parsing of proposals."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from rlanything_task_pools.alfworld.household import household
from rlanything_task_pools.task import Direction, Refused, Scalar, Task
from rlanything_verifiers.alfworld import Goal, Scene

MARGIN = 1.0
"""Least change of the difficulty score, in actions, for a rewrite to count as harder or easier."""

STEP: Mapping[Direction, float] = {"easier": 0.7, "harder": 1.35}
"""Target difficulty of a scripted rewrite, as a multiple of its parent's."""

JITTER = 2.0
"""Width of the random part of the ranking, so that one task is not always rewritten the same way."""

MAX_VALUE = 60
"""Longest name read from a proposal, in characters."""

MAX_HINT = 160
"""Maximal length of a hint, in characters."""

MAX_EDITS = 6
MAX_COUNT = 10
"""Most edits of a scene in one proposal, and most things one edit moves, adds or removes."""


@dataclass(frozen=True, slots=True)
class Change:
    """A rewritten game that is well formed, but neither proved nor compared with its parent."""

    scene: Scene
    goal: Goal
    record: Mapping[str, Any]
    """Differences from the parent, for `Rewrite.change`."""
    clutter: int = 0
    """Number of unwanted things added, minus those removed."""
    traits: Mapping[str, Scalar] = field(default_factory=dict)
    """Traits that differ from the parent's and do not follow from scene and goal."""
    hint: str | None = None
    """Hint after the task sentence; empty for none, None where it stays as it is."""
    fresh: bool = False
    """Whether the whole scene is another one, so that an agent that memorised the parent's has no advantage."""


def hint_of(task: Task) -> str:
    """The hint after the task sentence; empty without one. For any payload."""
    hint = task.payload.get("hint")
    return hint if isinstance(hint, str) and task.goal.endswith(hinted("", hint)) else ""


def hinted(sentence: str, hint: str) -> str:
    """A task sentence with a hint, which may be empty."""
    return f"{sentence} (Hint: {hint})" if hint else sentence


def scene_and_goal(task: Task) -> tuple[Scene, Goal]:
    """The parsed payload of a task.

    Raises:
        GameFormatError: The payload is not that of an ALFWorld task.
    """
    return Scene.from_dict(task.payload.get("scene", {})), Goal.from_dict(task.payload.get("goal", {}))


@dataclass(frozen=True, slots=True)
class Parent:
    """The task that is rewritten, parsed once."""

    task: Task
    scene: Scene
    goal: Goal

    @classmethod
    def of(cls, task: Task) -> "Parent":
        """Parse a task.

        Raises:
            GameFormatError: The payload is not that of an ALFWorld task.
        """
        return cls(task, *scene_and_goal(task))


class Operator(Protocol):
    """A rewrite operator."""

    @property
    def name(self) -> str:
        """Name by which the operator is enabled."""
        ...

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of its proposals."""
        ...

    def propose(self, parent: Parent, direction: Direction, rng: np.random.Generator) -> list[dict[str, Any]]:
        """Proposals in a direction, best first."""
        ...

    def apply(self, parent: Parent, proposal: Mapping[str, Any]) -> Change:
        """The change of an untrusted proposal, a mapping of some of the fields.

        Raises:
            Refused: The proposal is malformed or impossible.
        """
        ...

    def properties(self, parent: Parent) -> dict[str, dict[str, Any]]:
        """JSON schema of each field, with the names that the scene has."""
        ...


def check_fields(proposal: object, allowed: Collection[str], what: str) -> Mapping[str, Any]:
    """A proposal, or a part of one, as a mapping that has some of the allowed fields and no others.

    Raises:
        Refused: ``malformed``.
    """
    if not isinstance(proposal, Mapping) or not proposal:
        raise Refused("malformed", f"{what}: expected an object with some of {', '.join(allowed)}")
    for name in proposal:
        if name not in allowed:
            raise Refused("malformed", f"{what}: unknown field {str(name)[:MAX_VALUE]!r}; use {', '.join(allowed)}")
    return proposal


def check_name(value: object, what: str) -> str:
    """A short text without surrounding blanks.

    Raises:
        Refused: ``malformed``.
    """
    good = isinstance(value, str) and 0 < len(value.strip()) <= len(value) <= MAX_VALUE
    if not isinstance(value, str) or not good or not value.isascii() or not value.isprintable():
        raise Refused("malformed", f"{what} is not a name of up to {MAX_VALUE} characters")
    return value.strip()


def bare(name: str) -> str:
    """A type name for comparison: rewriters that read PDDL answer ``AppleType``."""
    return name.lower().removesuffix("type")


def may_have_door(kind: str) -> bool:
    """Whether receptacles of a type can be closed."""
    return kind in household().openable
