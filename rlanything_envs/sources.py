"""Task sources of any domain: they draw a task at random or find one by its id."""

import os
import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from rlanything_envs.errors import SettingError, UnknownTask
from rlanything_task_pools import Domain, Task, TaskPool

_REMEMBERED = 1024  # generated tasks that can be found again by id


class TaskSource(Protocol):
    """A set of tasks to draw from."""

    def draw(self, rng: np.random.Generator) -> Task:
        """A random task; `rng` is the only source of randomness."""
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
            raise ValueError("tasks= is empty; give at least one task, or leave it out")
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
        PoolError: the path is not that of a pool.
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
    """Tasks of a domain's generator, a fresh seed for each; the last 1,024 are remembered.

    Args:
        domain: name of the domain.
        split: the generator's split.
        knobs: further arguments of the generator.
    """

    def __init__(self, domain: Domain, split: str, knobs: Mapping[str, Any] | None = None) -> None:
        self._domain = domain
        self._split = split
        self._knobs = dict(knobs or {})
        self._drawn: OrderedDict[str, Task] = OrderedDict()

    def of_seed(self, seed: int) -> Task:
        """The task of a seed, with the knobs of this source."""
        return self._domain.generate(seed, split=self._split, **self._knobs)

    def draw(self, rng: np.random.Generator) -> Task:
        """The task of a random seed."""
        task = self.of_seed(int(rng.integers(2**31)))
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


Tasks = TaskSource | TaskPool | str | os.PathLike[str] | Iterable[Task | Mapping[str, Any]]
"""The ``tasks`` argument of an environment: a source, a pool or the path of one, or the tasks themselves."""


def source_of(tasks: Tasks) -> TaskSource:
    """The task source for the ``tasks`` argument of an environment."""
    if isinstance(tasks, TaskPool | str | os.PathLike):
        return PoolTasks(tasks)
    if isinstance(tasks, Iterable):
        return GivenTasks(tasks)
    if not hasattr(tasks, "draw"):
        raise SettingError(f"tasks = {tasks!r:.80}: give tasks, a task pool or its file, or an object that draws tasks")
    return tasks


def is_task_id(wanted: object, domain: str) -> bool:
    """Whether a value has the form of a task id of a domain."""
    return isinstance(wanted, str) and re.fullmatch(rf"{domain}-[0-9a-f]{{16}}", wanted) is not None


def wanted_task(options: Mapping[str, Any] | None) -> Any:
    """The value of ``options["task"]`` of `reset`; None if the environment is to draw a task.

    Raises:
        SettingError: there is another key, which would otherwise be ignored in silence.
    """
    if options is not None and not isinstance(options, Mapping):
        raise SettingError(f"reset(options={options!r:.80}): give a mapping such as {{'task': ...}}")
    if unknown := sorted(map(str, (options or {}).keys() - {"task"})):
        raise SettingError(f"reset(options=...) has no option {unknown[0]!r:.80}: the one option is 'task'")
    return (options or {}).get("task")


def find_task(wanted: object, domain: str, source: TaskSource, others: str = "") -> Task:
    """The task that ``options["task"]`` of `reset` names.

    Args:
        wanted: a `Task`, its JSON mapping, or the id of a task of the source.
        domain: the domain of the environment; ids of other domains are refused.
        source: where an id is looked up.
        others: further forms that the environment accepts, for the error message.

    Raises:
        UnknownTask: `wanted` has none of these forms, or the source has no such task.
        TaskFormatError: the mapping is not that of a task.
    """
    if isinstance(wanted, Task):
        return wanted
    if isinstance(wanted, Mapping):
        return Task.from_dict(wanted)
    if is_task_id(wanted, domain):
        return source.find(str(wanted))
    raise UnknownTask(
        f"options['task'] is {wanted!r:.200}: neither a Task or its JSON mapping, nor a task id "
        f"({domain}- and 16 hex digits){others}"
    )
