"""Tasks as rows of a dataset, for trainers that read prompts from one: ``datasets.Dataset.from_list(rows)``.

A row has the user's ``prompt``, to which the trainer or the adapter adds the opening message, and the ``task`` as JSON
text, which is self-contained: the worker that plays the row needs neither the generator nor the pool. The rows of
`group_rows` have no task but the name of a group, whose task a `CurriculumSource` deals when the group begins.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from typing import Any

from rlanything_task_pools import Task, TaskPool, get_domain

__all__ = ["generated_rows", "group_rows", "pool_rows", "task_rows"]


def task_rows(tasks: Iterable[Task], prompt: str = "") -> list[dict[str, Any]]:
    """A row for each task.

    Args:
        tasks: The tasks.
        prompt: User's text before the environment's opening message.
    """
    return [{"prompt": [{"role": "user", "content": prompt}], "task": task.to_json()} for task in tasks]


def generated_rows(
    domain: str, count: int, *, split: str = "train", seed: int = 0, prompt: str = "", **knobs: Any
) -> list[dict[str, Any]]:
    """Rows of generated tasks.

    Args:
        domain: Name of the domain.
        count: Number of tasks.
        split: The generator's split.
        seed: The generator's first seed; the others follow it.
        prompt: See `task_rows`.
        knobs: Further arguments of the generator.

    Raises:
        UnknownName, KnobError: There is no such domain, split or knob.
    """
    make = get_domain(domain)
    return task_rows((make.generate(seed + i, split=split, **knobs) for i in range(count)), prompt)


def pool_rows(pool: TaskPool | str | os.PathLike[str], prompt: str = "") -> list[dict[str, Any]]:
    """Rows of the tasks that are active in a pool now, such as the ``pool.sqlite`` of a run.

    Raises:
        PoolError: The path is not that of a pool.
    """
    if not isinstance(pool, TaskPool):
        with TaskPool.open(pool) as opened:
            return pool_rows(opened, prompt)
    return task_rows((pool.active(slot) for slot in pool.slots), prompt)


def group_rows(count: int | None = None, *, prompt: str = "", name: str = "group") -> Iterator[dict[str, Any]]:
    """Rows for a live curriculum, one a group: ``{"prompt": ..., "group": "group-1"}``, and so on.

    A trainer may read them ahead and shuffle them, since the task of a group is chosen when its first episode begins.

    Args:
        count: Number of rows; None for rows without end.
        prompt: See `task_rows`.
        name: Beginning of the names; another one for each of several trainers on one pool at the same time.
    """
    for number in itertools.count(1) if count is None else range(1, count + 1):
        yield {"prompt": [{"role": "user", "content": prompt}], "group": f"{name}-{number}"}
