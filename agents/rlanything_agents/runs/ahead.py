"""Batches played ahead: the first rollouts of an iteration, made during the updates of the iteration before it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter

from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.runs.storage import write_atomically
from rlanything_envs.curriculum import Assignment, TrialRole
from rlanything_task_pools import TaskPool

__all__ = ["AheadBatch"]

FILE = "ahead.json"


@dataclass(frozen=True, slots=True)
class AheadBatch:
    """Groups of episodes of the policy before the last update.

    Attributes:
        assignments: Task of each group.
        groups: Episodes of each group.
    """

    assignments: Sequence[Assignment]
    groups: Sequence[list[Trajectory]]

    def save(self, folder: Path) -> None:
        """Store the batch in a checkpoint: nothing else there has the weights that played it.

        Raises:
            StorageError: It cannot be written.
        """
        groups = [
            _StoredGroup(given.slot, given.task.id, given.role, group)
            for given, group in zip(self.assignments, self.groups, strict=True)
        ]
        write_atomically(folder / FILE, json.dumps(_STORED.dump_python(groups)))

    @classmethod
    def load(cls, folder: Path, pool: TaskPool) -> AheadBatch | None:
        """The batch of a checkpoint, on tasks of the pool; None where nothing was played ahead."""
        file = folder / FILE
        if not file.exists():
            return None
        groups = _STORED.validate_python(json.loads(file.read_text(encoding="utf-8")))
        return cls(
            [Assignment(group.slot, pool.task(group.task), group.role) for group in groups],
            [group.episodes for group in groups],
        )


@dataclass(frozen=True, slots=True)
class _StoredGroup:
    slot: int
    task: str
    role: TrialRole
    episodes: list[Trajectory]


_STORED = TypeAdapter(list[_StoredGroup], config=ConfigDict(arbitrary_types_allowed=True))
"""Screens are no part of it: `RunConfig` refuses to play a policy that sees ahead."""
