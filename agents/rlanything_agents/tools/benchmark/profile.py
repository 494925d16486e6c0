"""Profile of a pool: an agent plays each active task several times, and the pool keeps the outcomes.

Training on the pool starts from them: `CurriculumSource` skips tasks without spread, and a curriculum decides by them
as by any other group.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rlanything_agents.tools.benchmark.runner import run_benchmark
from rlanything_task_pools import Outcome, TaskPool
from rlanything_task_pools.errors import PoolError
from rlanything_task_pools.panel import Entry, Panel

__all__ = ["active_panel", "profile_pool"]


def active_panel(pool: TaskPool) -> Panel:
    """The active tasks of a pool, each once.

    Raises:
        PoolError: The pool has tasks of several domains.
    """
    tasks = {task.id: task for task in map(pool.active, pool.slots)}
    domains = sorted({task.domain for task in tasks.values()})
    if len(domains) != 1:
        raise PoolError(f"{pool.path} has tasks of {len(domains)} domains ({', '.join(domains)}): a profile is of one")
    entries = tuple(map(Entry, tasks.values()))
    return Panel(f"active tasks of {pool.path}", "The active tasks of a pool.", domains[0], {}, entries, len(entries))


def profile_pool(
    pool: TaskPool, panel: Panel, agent: str, out: Path, *, rollouts: int = 8, seed: int = 0, **settings: Any
) -> dict[str, Any]:
    """Play the active tasks of a pool, or go on with it, and record one group of outcomes for each slot.

    A profile is recorded once, when all its episodes have an outcome: the same call again records nothing, another seed
    makes another profile. Nothing is recorded of a task that a running curriculum has replaced in the meantime.

    Args:
        pool: The pool; a run may go on with it.
        panel: Its `active_panel`.
        agent: One of the ``FORMS`` of `rlanything_agents.tools.benchmark.runner`.
        out: Folder of the results of the benchmark that this is.
        rollouts: Episodes per task.
        seed: Seed of the profile.
        settings: Other arguments of `run_benchmark`.

    Returns:
        The summary of `run_benchmark`; nothing is recorded while its ``left`` is not 0.
    """
    summary = run_benchmark(panel, agent, out, episodes=rollouts, seed=seed, **settings)
    if summary["left"]:
        return summary
    actor = f"{agent}, profile {seed}"
    played = {row["task"]: row for row in summary["tasks"]}
    for slot in pool.slots:
        task = pool.active(slot).id
        row = played.get(task)
        if row is None or any(record.outcome.actor == actor for record in pool.outcomes(slot, task)):
            continue
        pool.record(
            slot,
            task,
            [
                Outcome(success=outcome == 1, score=score, steps=steps, actor=actor, role="active")
                for outcome, score, steps in zip(row["outcomes"], row["scores"], row["steps"], strict=True)
            ],
        )
    return summary
