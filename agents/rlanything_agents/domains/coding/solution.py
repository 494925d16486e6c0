"""Solution of programming problems: submit the program that proved the task."""

from __future__ import annotations

from rlanything_agents.domains.solutions import Solution
from rlanything_task_pools import Task

__all__ = ["solution"]


def solution(task: Task) -> Solution:
    """Solution that submits the known correct program at any turn; None for a problem without one."""
    answer = f"SUBMIT\n```python\n{task.proof[0].rstrip()}\n```" if task.proof else None
    return lambda earlier: answer
