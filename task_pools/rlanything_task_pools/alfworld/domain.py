"""The ALFWorld domain object: what `rlanything_task_pools.get_domain` gives for ``alfworld``."""

import os
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from rlanything_task_pools.alfworld import generate, official, rewrite
from rlanything_task_pools.task import Direction, Rejection, Task


class AlfWorldDomain:
    """Household tasks in text; see `Domain` for what the methods promise."""

    name = "alfworld"
    env_id = "RLAnything/AlfWorld-v0"

    def generate(self, seed: int, split: str = "train", **knobs: Any) -> Task:
        """The task of a seed; the knobs are those of `Knobs`.

        Raises:
            KnobError: A knob has a value that cannot be.
        """
        return generate.generate(seed, split, **knobs)

    def propose(self, task: Task, direction: Direction, rng: np.random.Generator) -> list[dict[str, str]]:
        """Other goals on the same scene, nearest step in difficulty first."""
        return rewrite.propose(task, direction, rng)

    def validate(
        self,
        task: Task,
        proposal: Mapping[str, Any],
        *,
        direction: Direction,
        author: str,
        critique: str = "",
    ) -> Task | Rejection:
        """The proposed goal as a proved task, or the reason why it is none."""
        return rewrite.validate(task, proposal, direction=direction, author=author, critique=critique)

    def load(self, source: str | os.PathLike[str]) -> Task:
        """The task of a ``game.tw-pddl`` file.

        Raises:
            GameFormatError: Not such a game, or no plan reaches its goal.
        """
        return official.load(source)

    def describe(self, task: Task) -> str:
        """The goal, what the room has, what lies where and what may be done, for a rewriter's prompt."""
        scene, goal = rewrite.scene_and_goal(task)
        kinds = Counter(item.type for item in scene.receptacles)
        doors = Counter(item.type for item in scene.receptacles if item.openable)
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
            if thing.pickupable and thing.receptacles:
                groups.setdefault(thing.type, []).append(home[thing.receptacles[0]])
                names = ("cleanable", "heatable", "coolable")
                able[thing.type] = [name for name in names if getattr(thing, name)]
        for kind in sorted(groups):
            where = ", ".join(f"{n} in {place}" for place, n in sorted(Counter(groups[kind]).items()))
            lines.append(f"- {kind}: {where}" + (f" ({', '.join(able[kind])})" if able[kind] else ""))
        lamps = sorted({thing.type for thing in scene.things if thing.toggleable and thing.receptacles})
        if lamps:
            lines.append(f"Lamps: {', '.join(lamps)}")
        return "\n".join(lines)


DOMAIN = AlfWorldDomain()
