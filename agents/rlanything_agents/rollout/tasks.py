"""Tasks of a run: generated ones in the shares of its configuration, or those of a folder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rlanything_agents.config import Part
from rlanything_envs.errors import UnknownTask
from rlanything_envs.sources import GeneratedTasks
from rlanything_task_pools import Domain, Task
from rlanything_task_pools.collection import read_collection

__all__ = ["GeneratedMixture", "collected_tasks", "generate_tasks", "parts_of"]


def collected_tasks(domain: Domain, source: str, count: int, rng: np.random.Generator) -> list[Task]:
    """Draw tasks of a file or folder without replacement; all of them again, in the same order, beyond their number.

    Args:
        domain: Domain of the tasks.
        source: Path of the file or folder.
        count: Number of tasks.
        rng: Draws the order.

    Raises:
        PoolError: There is no task.
    """
    found = read_collection(domain.name, source).tasks
    order = rng.permutation(len(found))
    return [found[order[number % len(found)]] for number in range(count)]


def generate_tasks(domain: Domain, split: str, seeds: Sequence[int], mixture: Sequence[Part]) -> list[Task]:
    """Generate one task per seed.

    Args:
        domain: Domain of the tasks.
        split: Split of its generator.
        seeds: Generator seeds.
        mixture: Parts with their shares and knobs. Every prefix of the result has these shares as nearly as its length
            allows.
    """
    parts = parts_of(mixture, len(seeds))
    return [domain.generate(seed, split=split, **mixture[k].knobs) for seed, k in zip(seeds, parts, strict=True)]


class GeneratedMixture:
    """Training tasks of a generator, each with the knobs of a part that is drawn by its share; a `TaskSource`.

    Args:
        domain: Domain of the tasks.
        mixture: Parts with their shares and knobs.
    """

    def __init__(self, domain: Domain, mixture: Sequence[Part]) -> None:
        self._sources = [GeneratedTasks(domain, "train", part.knobs) for part in mixture]
        self._ends = np.cumsum([part.share for part in mixture])

    def draw(self, rng: np.random.Generator) -> Task:
        """A new task."""
        part = np.searchsorted(self._ends, rng.random() * self._ends[-1], side="right")
        return self._sources[int(part)].draw(rng)

    def find(self, task_id: str) -> Task:
        """None is kept; see `TaskSource.find`."""
        raise UnknownTask(f"no task {task_id!r}: generated tasks are not kept")


def parts_of(mixture: Sequence[Part], count: int) -> list[int]:
    """Index of the part of each of ``count`` tasks: always the part that is furthest behind its share."""
    total = sum(part.share for part in mixture)
    counts = [0] * len(mixture)
    chosen = []
    for number in range(1, count + 1):
        k = max(range(len(mixture)), key=lambda k: mixture[k].share / total * number - counts[k])
        counts[k] += 1
        chosen.append(k)
    return chosen
