"""Tasks by the seeds of their generator, in the shares a configuration asks for."""

from __future__ import annotations

from collections.abc import Sequence

from rlanything_agents.config import Part
from rlanything_task_pools import Domain, Task

__all__ = ["generate_tasks", "parts_of"]


def generate_tasks(domain: Domain, split: str, seeds: Sequence[int], mixture: Sequence[Part]) -> list[Task]:
    """One task per seed.

    Args:
        domain: Makes them.
        split: Split of its generator.
        seeds: Generator seeds.
        mixture: What to make. Every beginning of the list has the shares as nearly as its length allows.
    """
    parts = parts_of(mixture, len(seeds))
    return [domain.generate(seed, split=split, **mixture[k].knobs) for seed, k in zip(seeds, parts, strict=True)]


def parts_of(mixture: Sequence[Part], count: int) -> list[int]:
    """Which part each of ``count`` tasks belongs to: always the one that is furthest behind its share."""
    total = sum(part.share for part in mixture)
    given = [0] * len(mixture)
    chosen = []
    for number in range(1, count + 1):
        k = max(range(len(mixture)), key=lambda k: mixture[k].share / total * number - given[k])
        given[k] += 1
        chosen.append(k)
    return chosen
