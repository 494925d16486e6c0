"""A scripted player for generated tasks: it knows the keys that reach the goal, and looks at nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from rlanything_agents.rollout.trajectory import outcome_of
from rlanything_task_pools import Task
from rlanything_task_pools.osworld import keys

__all__ = ["NoKeys", "Oracle", "Played", "play_oracle"]


class NoKeys(ValueError):
    """No keys are known that reach the goal."""


class Oracle:
    """Plays the lines of one evaluator, by keyboard and mouse alone, then says DONE.

    Args:
        task: A generated task.
        evaluator: The name of one of its evaluators; that which decides by default.

    Raises:
        NoKeys: None are known for it.
        OSWorldTaskError: The task has no such evaluator.
    """

    def __init__(self, task: Task, evaluator: str | None = None) -> None:
        self._lines = keys(task, evaluator)
        if not self._lines:
            raise NoKeys(f"task {task.id}: no keys are known that reach its goal")
        self._next = 0

    def __len__(self) -> int:
        """How many actions it takes, DONE included."""
        return len(self._lines) + 1

    def act(self, observation: Any = None) -> str:
        """The next action, whatever is on the screen."""
        self._next += 1
        return self._lines[self._next - 1] if self._next <= len(self._lines) else "DONE"


@dataclass(frozen=True, slots=True)
class Played:
    """How an episode went.

    Attributes:
        task_id: Id of the task.
        outcome: 1, -1, or None when the infrastructure failed.
        score: The evaluator's, 0 to 1.
        actions: What was done.
        error: What failed, where ``outcome`` is None.
    """

    task_id: str
    outcome: int | None
    score: float
    actions: tuple[str, ...]
    error: str


def play_oracle(env: gym.Env[Any, Any], task: Task, evaluator: str | None = None) -> Played:
    """One episode of the oracle.

    Args:
        env: A desktop environment that takes PyAutoGUI code, with turns enough.
        task: A generated task.
        evaluator: Whose keys to play; with another one than the task's own the episode should be lost.

    Raises:
        NoKeys: None are known.
    """
    oracle = Oracle(task, evaluator)
    observation, _ = env.reset(options={"task": task})
    actions: list[str] = []
    while True:
        actions.append(oracle.act(observation))
        observation, reward, terminated, truncated, info = env.step(actions[-1])
        if terminated or truncated:
            outcome, error = outcome_of(info)
            return Played(task.id, outcome, float(reward), tuple(actions), error)
