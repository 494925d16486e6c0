"""Generated tasks of a run, in the shares of its configuration."""

from __future__ import annotations

from collections.abc import Sequence

from rlanything_agents.config import Part
from rlanything_task_pools import Domain, Task

__all__ = ["generate_tasks", "parts_of"]


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
