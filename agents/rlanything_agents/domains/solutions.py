"""Known ways to solve a task, told one answer at a time: what a hint is taken from, and what an expert plays.

A domain whose proofs are not simply answers in order has a module ``solution`` in its folder with a
function of that name. Any other domain's proof is played as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

from rlanything_task_pools import Task

__all__ = ["Solution", "in_order", "solution_of"]

Solution = Callable[[Sequence[str]], str | None]
"""From the answers given since the start of an episode to the one that leads on; None where no way is known."""


def solution_of(task: Task) -> Solution:
    """The known way to solve a task."""
    place = f"{__package__}.{task.domain}.solution"
    if not task.domain.isidentifier():
        return in_order(task.proof)
    try:
        found: Solution = import_module(place).solution(task)
    except ModuleNotFoundError as error:
        if error.name not in (place, place.rpartition(".")[0]):
            raise
        return in_order(task.proof)
    return found


def in_order(answers: Sequence[str]) -> Solution:
    """Answers in a fixed order, for whoever has not left the way."""

    def following(given: Sequence[str]) -> str | None:
        known = [answer.strip() for answer in answers]
        done = [answer.strip() for answer in given]
        return answers[len(done)] if len(done) < len(known) and known[: len(done)] == done else None

    return following
