"""Known solutions of tasks, one answer at a time, for hints and for the expert of a benchmark.

A domain whose proofs are not simply answers in order has a module ``solution`` in its folder with a function of that
name. The solution of any other domain is the task's proof, answer by answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rlanything_agents.domains import own_module
from rlanything_task_pools import Task

__all__ = ["Solution", "in_order", "solution_of"]

Solution = Callable[[Sequence[str]], str | None]
"""Function from the earlier answers of an episode to the next one; None where no solution is known from there."""


def solution_of(task: Task) -> Solution:
    """The known solution of a task."""
    if (module := own_module(task.domain, "solution")) is None:
        return in_order(task.proof)
    found: Solution = module.solution(task)
    return found


def in_order(answers: Sequence[str]) -> Solution:
    """Solution with answers in a fixed order; it ends for an episode with any other answer."""

    def next_answer(earlier: Sequence[str]) -> str | None:
        known = [answer.strip() for answer in answers]
        done = [answer.strip() for answer in earlier]
        return answers[len(done)] if len(done) < len(known) and known[: len(done)] == done else None

    return next_answer
