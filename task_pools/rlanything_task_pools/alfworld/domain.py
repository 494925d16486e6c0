"""The ALFWorld domain object, the result of ``rlanything_task_pools.get_domain("alfworld")``."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rlanything_task_pools.alfworld import generate, official, proof, rewrite
from rlanything_task_pools.alfworld.difficulty import is_shut, lamp_types
from rlanything_task_pools.alfworld.operators import DEFAULT, FREE, check_operators
from rlanything_task_pools.collection import Collection
from rlanything_task_pools.task import Direction, Rejection, Task


class AlfWorldDomain:
    """Household tasks in text; see `Domain` for the contract of the methods.

    Args:
        operators: Rewrite operators: ``goal`` (any part of it), ``types`` (its object and receptacle, the
            swap of the paper), ``kind`` (of task), ``scene``, ``start``, ``hint``, ``house``. If None, scripted
            proposals change the goal, and those of language models goal, scene, start and hint.

    Raises:
        KnobError: A name is unknown.
    """

    name = "alfworld"
    env_id = "RLAnything/AlfWorld-v0"

    def __init__(self, operators: Iterable[str] | None = None) -> None:
        self.operators = check_operators(FREE if operators is None else operators)
        self._scripted = DEFAULT if operators is None else self.operators

    def with_operators(self, names: Iterable[str]) -> "AlfWorldDomain":
        """The same domain with other rewrite operators."""
        return AlfWorldDomain(names)

    def generate(self, seed: int, split: str = "train", **knobs: Any) -> Task:
        """The task of a seed; the knobs are those of `Knobs`.

        Raises:
            KnobError: A knob is out of range.
        """
        return generate.generate(seed, split, **knobs)

    def propose(
        self, task: Task, direction: Direction, rng: np.random.Generator, blamed: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Rewrites by the enabled operators, those nearest to the intended step in difficulty first; of easier ones,
        first those that ease the blamed stage of the task.
        """
        return rewrite.propose(task, direction, rng, self._scripted, blamed)

    def proposal_schema(self, task: Task) -> dict[str, Any]:
        """JSON schema of a rewrite by the enabled operators."""
        return rewrite.proposal_schema(task, self.operators)

    def validate(
        self, task: Task, proposal: Mapping[str, Any], *, direction: Direction, author: str, critique: str = ""
    ) -> Task | Rejection:
        """The proposed rewrite as a proved task, or the reason of its rejection."""
        return rewrite.validate(
            task, proposal, direction=direction, author=author, critique=critique, operators=self.operators
        )

    def verify(self, task: Task) -> str | None:
        """Play the proof of a task in a fresh world."""
        return proof.flaw(task)

    def load(self, source: str | os.PathLike[str]) -> Task:
        """The task of a ``game.tw-pddl`` file.

        Raises:
            GameFormatError: The file is not such a game, or no plan reaches its goal.
        """
        return official.load(source)

    def load_all(self, source: str | os.PathLike[str]) -> Collection:
        """The official games of a folder and those below it, such as ``json_2.1.1/train``; see `official.load_all`."""
        return official.load_all(source)

    def describe(self, task: Task) -> str:
        """Goal, room, positions of things and possible actions, for a rewriter's prompt."""
        scene, goal = rewrite.scene_and_goal(task)
        kinds = Counter(item.type for item in scene.receptacles)
        doors = Counter(item.type for item in scene.receptacles if is_shut(item))
        home = {item.id: item.type for item in scene.receptacles}
        lines = [
            f"Goal: {task.goal} ({', '.join(f'{name} {value}' for name, value in goal.to_dict().items())})",
            "Receptacles: "
            + ", ".join(
                f"{n} {kind}" + (f" ({doors[kind]} closed)" if doors[kind] else "") for kind, n in sorted(kinds.items())
            ),
            "Things that can be taken:",
        ]
        groups: dict[str, list[str]] = {}
        able: dict[str, list[str]] = {}
        for thing in scene.things:
            if thing.type and thing.pickupable and thing.receptacles:
                groups.setdefault(thing.type, []).append(home[thing.receptacles[0]])
                names = ("cleanable", "heatable", "coolable")
                able[thing.type] = [name for name in names if getattr(thing, name)]
        for kind in sorted(groups):
            where = ", ".join(f"{n} in {place}" for place, n in sorted(Counter(groups[kind]).items()))
            lines.append(f"- {kind}: {where}" + (f" ({', '.join(able[kind])})" if able[kind] else ""))
        if scene.holding is not None:
            lines.append(f"In the agent's hand: {next(t.type for t in scene.things if t.id == scene.holding)}")
        if lamps := lamp_types(scene):
            lines.append(f"Lamps: {', '.join(lamps)}")
        return "\n".join(lines)


DOMAIN = AlfWorldDomain()
