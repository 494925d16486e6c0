"""Batches played ahead: the first rollouts of an iteration, made during the updates of the iteration before it."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter

from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.runs.storage import storing, write_atomically
from rlanything_envs.curriculum import Assignment, TrialRole
from rlanything_envs.message import Image
from rlanything_task_pools import TaskPool

__all__ = ["AheadBatch"]

FILE, SCREENS = "ahead.json", "ahead.screens.zip"


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
        screens: dict[bytes, int] = {}  # each once, as its PNG: a window shows it in several turns
        text = json.dumps(_STORED.dump_python(groups), default=lambda png: screens.setdefault(png, len(screens)))
        if screens:
            with storing(folder / SCREENS), zipfile.ZipFile(folder / SCREENS, "w") as file:
                for png, number in screens.items():
                    file.writestr(str(number), png)
        write_atomically(folder / FILE, text)

    @classmethod
    def load(cls, folder: Path, pool: TaskPool) -> AheadBatch | None:
        """The batch of a checkpoint, on tasks of the pool; None where nothing was played ahead."""
        file = folder / FILE
        if not file.exists():
            return None
        images: list[Image] = []
        if (folder / SCREENS).exists():
            with zipfile.ZipFile(folder / SCREENS) as screens:
                images = [Image(screens.read(str(number))) for number in range(len(screens.namelist()))]

        def seen(value: dict[str, Any]) -> Any:
            return images[value["source"]] if value.keys() == {"source"} else value

        groups = _STORED.validate_python(json.loads(file.read_text(encoding="utf-8"), object_hook=seen))
        return cls(
            [Assignment(group.slot, pool.task_in(group.slot, group.task), group.role) for group in groups],
            [group.episodes for group in groups],
        )


@dataclass(frozen=True, slots=True)
class _StoredGroup:
    slot: int
    task: str
    role: TrialRole
    episodes: list[Trajectory]


_STORED = TypeAdapter(list[_StoredGroup], config=ConfigDict(arbitrary_types_allowed=True))
"""A screen is the number of its PNG in `SCREENS`, as ``{"source": 3}``."""
