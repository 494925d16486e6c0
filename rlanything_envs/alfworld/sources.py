"""Where an environment's tasks come from: drawn by chance, or found by id."""

import os
import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from rlanything_envs.errors import InfrastructureError, UnknownTask
from rlanything_task_pools import Task, TaskPool
from rlanything_task_pools.alfworld import DOMAIN, SPLITS, find_games
from rlanything_task_pools.alfworld.generate import make_knobs

TASK_ID = re.compile(r"alfworld-[0-9a-f]{16}\Z")
OFFICIAL = ("train", "valid_seen", "valid_unseen")
"""Splits of the official data; their names are also those of the generator's splits."""

_REMEMBERED = 1024  # generated tasks that can be asked for again by id


class TaskSource(Protocol):
    """A set of tasks to draw from."""

    def draw(self, rng: np.random.Generator) -> Task:
        """A task by chance; all chance is from `rng`."""
        ...

    def find(self, task_id: str) -> Task:
        """The task of an id.

        Raises:
            UnknownTask: there is none.
        """
        ...


class GivenTasks:
    """A fixed list of tasks.

    Raises:
        ValueError: the list is empty.
    """

    def __init__(self, tasks: Iterable[Task | Mapping[str, Any]]) -> None:
        self._tasks = [task if isinstance(task, Task) else Task.from_dict(task) for task in tasks]
        if not self._tasks:
            raise ValueError("AlfWorldEnv: tasks= is empty; give at least one task, or leave it out")
        self._by_id = {task.id: task for task in self._tasks}

    def draw(self, rng: np.random.Generator) -> Task:
        """One of the tasks, uniformly."""
        return self._tasks[int(rng.integers(len(self._tasks)))]

    def find(self, task_id: str) -> Task:
        """The task of an id."""
        if task_id not in self._by_id:
            raise UnknownTask(f"no task {task_id!r} among the {len(self._by_id)} tasks of this environment")
        return self._by_id[task_id]


class PoolTasks:
    """The active tasks of a pool, as they are at each draw; by id, every task the pool ever had.

    Args:
        pool: the pool or its path.

    Raises:
        PoolMissing, PoolVersionError: the path is not that of a pool.
    """

    def __init__(self, pool: TaskPool | str | os.PathLike[str]) -> None:
        self._pool = pool if isinstance(pool, TaskPool) else TaskPool.open(pool)
        self._slots = self._pool.slots

    def draw(self, rng: np.random.Generator) -> Task:
        """The active task of a random slot."""
        return self._pool.active(self._slots[int(rng.integers(len(self._slots)))])

    def find(self, task_id: str) -> Task:
        """The task of an id."""
        return self._pool.task(task_id)


class GeneratedTasks:
    """Tasks of the generator, a fresh seed for each; the last 1,024 are remembered.

    Args:
        split: the generator's split.
        knobs: further arguments of the generator.

    Raises:
        KnobError: a knob is unknown or has a value that cannot be.
    """

    def __init__(self, split: str, knobs: Mapping[str, Any] | None = None) -> None:
        self._split = split
        self._knobs = dict(knobs or {})
        make_knobs(**self._knobs)  # fail now and not at the first reset
        self._drawn: OrderedDict[str, Task] = OrderedDict()

    def draw(self, rng: np.random.Generator) -> Task:
        """The task of a random seed."""
        task = DOMAIN.generate(int(rng.integers(2**31)), split=self._split, **self._knobs)
        self._drawn[task.id] = task
        if len(self._drawn) > _REMEMBERED:
            self._drawn.popitem(last=False)
        return task

    def find(self, task_id: str) -> Task:
        """A task drawn before."""
        if task_id not in self._drawn:
            raise UnknownTask(
                f"no task {task_id!r} among the last {_REMEMBERED} that were generated here; "
                "pass the Task itself, or make the environment with tasks=[...]"
            )
        return self._drawn[task_id]


class OfficialTasks:
    """The games of a split of the official data, in an order that is the same on every machine.

    Args:
        split: see `OFFICIAL`.
        data_dir: folder that holds ``json_2.1.1``; default ``$ALFWORLD_DATA``.

    Raises:
        NoGamesFound: there is no such data; the message says how to get it.
    """

    def __init__(self, split: str, data_dir: str | os.PathLike[str] | None = None) -> None:
        self._split = split
        self._games = find_games(data_dir, split)
        self._index: dict[str, int] = {}  # by task id, as far as games were read
        self._unread = list(range(len(self._games)))[::-1]

    def draw(self, rng: np.random.Generator) -> Task:
        """One of the games, uniformly."""
        return self._load(int(rng.integers(len(self._games))))

    def find(self, task_id: str) -> Task:
        """The game of an id; the first call reads games until it has met it (a few milliseconds each)."""
        while task_id not in self._index and self._unread:
            self._load(self._unread.pop())
        if task_id not in self._index:
            raise UnknownTask(f"no task {task_id!r} among the {len(self._games)} games of the split {self._split!r}")
        return self._load(self._index[task_id])

    def _load(self, index: int) -> Task:
        try:
            task = DOMAIN.load(self._games[index])
        except OSError as error:
            raise InfrastructureError(f"the game file {self._games[index]} cannot be read: {error}") from error
        self._index[task.id] = index
        return task


Tasks = TaskSource | TaskPool | str | os.PathLike[str] | Iterable[Task | Mapping[str, Any]]
"""What `AlfWorldEnv` takes for its tasks: a source, a pool or the path of one, or the tasks themselves."""


def source_of(tasks: Tasks) -> TaskSource:
    """The source of what `AlfWorldEnv` was given for its tasks."""
    if isinstance(tasks, TaskPool | str | os.PathLike):
        return PoolTasks(tasks)
    return GivenTasks(tasks) if isinstance(tasks, Iterable) else tasks


def make_source(
    split: str,
    generated_split: str = "train",
    knobs: Mapping[str, Any] | None = None,
    data_dir: str | os.PathLike[str] | None = None,
) -> TaskSource:
    """The source of a split, by the arguments of `AlfWorldEnv`.

    Raises:
        ValueError: a split is unknown, or `knobs` come with official data.
        NoGamesFound: the official data is not there.
    """
    if split == "generated":
        if generated_split not in SPLITS:
            raise ValueError(f"generated_split {generated_split!r} is unknown; choose from {', '.join(SPLITS)}")
        return GeneratedTasks(generated_split, knobs)
    if split not in OFFICIAL:
        raise ValueError(f"split {split!r} is unknown; choose from generated, {', '.join(OFFICIAL)}")
    if knobs:
        raise ValueError(f"knobs are for split='generated', not for the official split {split!r}")
    return OfficialTasks(split, data_dir)
