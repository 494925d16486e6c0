"""Scripted agent for generated tasks: it types the keys that reach the goal, and ignores the observations. Its episodes
are the demonstrations of the warm start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from rlanything_agents.config import ConfigError, RunConfig
from rlanything_agents.domains.lessons import Expert, Move
from rlanything_agents.domains.supervision import StepSupervision
from rlanything_agents.rollout.trajectory import outcome_of
from rlanything_envs.osworld.readers.computer_use import written
from rlanything_task_pools import Task, TaskFormatError
from rlanything_task_pools.osworld import keys

__all__ = ["SUPERVISION", "DesktopSupervision", "Oracle", "Played", "play_oracle"]


class Oracle:
    """Executes the known lines for one evaluator, by keyboard and mouse alone, then ends with ``DONE``.

    Args:
        task: A generated task.
        evaluator: Name of one of the task's evaluators; the deciding one if None.

    Raises:
        TaskFormatError: The task has no such evaluator, or no keys are known for it.
    """

    def __init__(self, task: Task, evaluator: str | None = None) -> None:
        self._lines = keys(task, evaluator)
        if not self._lines:
            raise TaskFormatError(f"task {task.id}: no keys are known that reach its goal")
        self._next = 0

    def __len__(self) -> int:
        """Number of actions, ``DONE`` included."""
        return len(self._lines) + 1

    def act(self, observation: Any = None) -> str:
        """The next action; the observation is ignored."""
        self._next += 1
        return self._lines[self._next - 1] if self._next <= len(self._lines) else "DONE"


@dataclass(frozen=True, slots=True)
class Played:
    """Result of one episode.

    Attributes:
        task_id: Id of the task.
        outcome: 1 (solved), -1 (failed), or None for an infrastructure failure.
        score: Score of the evaluator, 0 to 1.
        actions: The actions, in order.
        error: Infrastructure failure, where ``outcome`` is None.
    """

    task_id: str
    outcome: int | None
    score: float
    actions: tuple[str, ...]
    error: str


def play_oracle(env: gym.Env[Any, Any], task: Task, evaluator: str | None = None) -> Played:
    """Roll out one episode of the oracle.

    Args:
        env: A desktop environment that takes PyAutoGUI code, with enough turns.
        task: A generated task.
        evaluator: Name of the evaluator whose keys are typed; with any but the deciding one the episode should fail.

    Raises:
        TaskFormatError: No keys are known for the task.
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


class DesktopSupervision(StepSupervision):
    """Demonstrations of generated tasks by their keys, in the forms of ``pyautogui`` and ``computer_use``."""

    def experts(self, config: RunConfig) -> Callable[[int, Any], Expert]:
        """Experts of generated tasks; of a task without known keys the expert gives up."""
        form = config.environment_arguments.get("action_space", "pyautogui")
        if form not in ("pyautogui", "computer_use"):
            raise ConfigError(
                f"lessons: no demonstrations are written as {form!r}: set environment.action_space to pyautogui or "
                "computer_use, or leave lessons out"
            )
        return lambda seed, task: _Demonstrator(task, form)


class _Demonstrator:
    def __init__(self, task: Task, form: str) -> None:
        lines = [*(keys(task) or ["FAIL"]), "DONE"]
        self._actions = iter([part for line in lines for part in (written(line) if form == "computer_use" else [line])])

    def act(self, observation: str, info: Mapping[str, Any]) -> Move:
        return Move("", next(self._actions))


SUPERVISION = DesktopSupervision()
"""The one instance; it has no state."""
