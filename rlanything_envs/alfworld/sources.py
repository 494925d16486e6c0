"""Task sources of ALFWorld: its generator and the official data."""

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from rlanything_envs.errors import InfrastructureError, UnknownTask
from rlanything_envs.sources import GeneratedTasks, TaskSource
from rlanything_task_pools import Task
from rlanything_task_pools.alfworld import DOMAIN, SPLITS, find_games
from rlanything_task_pools.alfworld.games import GAMES
from rlanything_task_pools.alfworld.generate import make_knobs
from rlanything_verifiers.alfworld import GameFormatError

OFFICIAL = ("train", "valid_seen", "valid_unseen")
"""Splits of the official data; their names are also those of the generator's splits."""


class OfficialTasks:
    """The games of a split of the official data, in an order that is the same on every machine.

    A game that cannot be read or solved is skipped with a warning that names it, and the next one in the order is drawn
    in its place.

    Args:
        split: see `OFFICIAL`.
        data_dir: folder that holds ``json_2.1.1``; default ``$ALFWORLD_DATA``.

    Attributes:
        unreadable: games found so far that cannot be played, each with the reason.

    Raises:
        PoolError: there is no such data; the message explains how to get it.
    """

    def __init__(self, split: str, data_dir: str | os.PathLike[str] | None = None) -> None:
        self._split = split
        self._games = find_games(data_dir, split)
        self._index: dict[str, int] = {}  # by task id, of the games read so far
        self._unread = list(range(len(self._games)))[::-1]
        self.unreadable: dict[Path, str] = {}

    def draw(self, rng: np.random.Generator) -> Task:
        """One of the games, uniformly.

        Raises:
            InfrastructureError: none of the games can be read.
        """
        first, count = int(rng.integers(len(self._games))), len(self._games)
        for index in range(first, first + count):
            if (task := self._load(index % count)) is not None:
                return task
        reason = self.unreadable[self._games[first]]
        raise InfrastructureError(f"all {count} games of the split {self._split!r} cannot be read; {reason}")

    def find(self, task_id: str) -> Task:
        """The game of an id; the first call reads games until it finds it (a few milliseconds each)."""
        while task_id not in self._index and self._unread:
            self._load(self._unread.pop())
        task = self._load(self._index[task_id]) if task_id in self._index else None
        if task is None:
            broken = f", {len(self.unreadable)} of which cannot be read" if self.unreadable else ""
            raise UnknownTask(
                f"no task {task_id!r} among the {len(self._games)} games of the split {self._split!r}{broken}"
            )
        return task

    def _load(self, index: int) -> Task | None:
        """The task of a game; None where it cannot be read."""
        path = self._games[index]
        try:
            state = path.stat()
            task = _read(path, state.st_mtime_ns, state.st_size)
        except (OSError, GameFormatError) as error:
            if path not in self.unreadable:
                gym.logger.warn(f"a game of the split {self._split!r} cannot be read and is left out: {error}")
            self.unreadable[path] = str(error)
            return None
        self.unreadable.pop(path, None)
        self._index[task.id] = index
        return task


@lru_cache(maxsize=GAMES)
def _read(path: Path, modified: int, size: int) -> Task:
    """The task of a game file, which is read again only if it has changed."""
    return DOMAIN.load(path)


def make_source(
    split: str,
    generated_split: str = "train",
    knobs: Mapping[str, Any] | None = None,
    data_dir: str | os.PathLike[str] | None = None,
) -> TaskSource:
    """The source of a split, by the arguments of `AlfWorldEnv`.

    Raises:
        ValueError: a split is unknown, `knobs` come with official data, or `data_dir` with none.
        KnobError: a knob is unknown or its value is out of range.
        PoolError: the official data is missing.
    """
    if split == "generated":
        if generated_split not in SPLITS:
            raise ValueError(f"generated_split {generated_split!r} is unknown; choose from {', '.join(SPLITS)}")
        if data_dir is not None:
            raise ValueError(f"data_dir is for the official splits ({', '.join(OFFICIAL)}), not for 'generated'")
        make_knobs(**(knobs or {}))  # fail now and not at the first reset
        return GeneratedTasks(DOMAIN, generated_split, knobs)
    if split not in OFFICIAL:
        raise ValueError(f"split {split!r} is unknown; choose from generated, {', '.join(OFFICIAL)}")
    if knobs:
        raise ValueError(f"knobs are for split='generated', not for the official split {split!r}")
    return OfficialTasks(split, data_dir)
