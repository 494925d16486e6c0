"""Solution of desktop tasks: the keys that reach the goal from the initial desktop, then ``DONE``."""

from __future__ import annotations

from rlanything_agents.domains.solutions import Solution, in_order
from rlanything_task_pools import Task
from rlanything_task_pools.osworld import keys
from rlanything_task_pools.task import TaskFormatError

__all__ = ["solution"]


def solution(task: Task) -> Solution:
    """Solution in a fixed order of keys; without an answer for a task that was not generated."""
    try:
        lines = keys(task)
    except TaskFormatError:
        lines = []
    return in_order([*lines, "DONE"] if lines else [])
