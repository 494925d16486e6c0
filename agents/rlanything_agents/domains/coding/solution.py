"""Programming problems: the program that the task was proved with, submitted."""

from __future__ import annotations

from rlanything_agents.domains.solutions import Solution
from rlanything_task_pools import Task

__all__ = ["solution"]


def solution(task: Task) -> Solution:
    """A known correct program is right at any time; there is none for problems that came without."""
    answer = f"SUBMIT\n```python\n{task.proof[0].rstrip()}\n```" if task.proof else None
    return lambda given: answer
