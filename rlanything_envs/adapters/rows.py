"""Tasks as rows of a dataset, for trainers that read prompts from one: ``datasets.Dataset.from_list(rows)``.

A row has the user's ``prompt``, to which the trainer or the adapter adds the opening message, and the ``task`` as JSON
text, which is self-contained: the worker that plays the row needs neither the generator nor the pool.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from rlanything_task_pools import Task, TaskPool, get_domain

__all__ = ["generated_rows", "pool_rows", "task_rows"]


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
        UnknownDomain, KnobError: There is no such domain, split or knob.
    """
    make = get_domain(domain)
    return task_rows((make.generate(seed + i, split=split, **knobs) for i in range(count)), prompt)


def pool_rows(pool: TaskPool | str | os.PathLike[str], prompt: str = "") -> list[dict[str, Any]]:
    """Rows of the tasks that are active in a pool now, such as the ``pool.sqlite`` of a run.

    Raises:
        PoolMissing, PoolVersionError: The path is not that of a pool.
    """
    if not isinstance(pool, TaskPool):
        with TaskPool.open(pool) as opened:
            return pool_rows(opened, prompt)
    return task_rows((pool.active(slot) for slot in pool.slots), prompt)
