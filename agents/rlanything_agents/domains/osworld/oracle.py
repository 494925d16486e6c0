"""Demonstrations of generated desktop tasks: the keys that reach the goal, whatever is on the screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rlanything_agents.config import ConfigError, RunConfig
from rlanything_agents.domains.lessons import Expert, Move
from rlanything_agents.domains.supervision import StepSupervision
from rlanything_envs.osworld.readers.computer_use import written
from rlanything_task_pools import Task
from rlanything_task_pools.osworld import keys

__all__ = ["SUPERVISION", "DesktopSupervision", "Oracle"]


class Oracle:
    """Executes the known lines for one evaluator, by keyboard alone, then ends with ``DONE``; without them it gives up.

    Args:
        task: A generated task.
        form: Action space of the environment, ``pyautogui`` or ``computer_use``.
        evaluator: Name of one of the task's evaluators; the deciding one if None.

    Raises:
        TaskFormatError: The task has no such evaluator, or is not a desktop task.
    """

    def __init__(self, task: Task, form: str = "pyautogui", evaluator: str | None = None) -> None:
        lines = [*(keys(task, evaluator) or ["FAIL"]), "DONE"]
        self._actions = iter([part for line in lines for part in (written(line) if form == "computer_use" else [line])])

    def act(self, observation: str, info: Mapping[str, Any]) -> Move:
        """The next action; the observation is ignored."""
        return Move("", next(self._actions))


class DesktopSupervision(StepSupervision):
    """Demonstrations by the keys of generated tasks."""

    def experts(self, config: RunConfig) -> Callable[[int, Any], Expert]:
        """Oracles that write the actions of a run.

        Raises:
            ConfigError: The run has another action space than ``pyautogui`` and ``computer_use``.
        """
        form = config.environment_arguments.get("action_space", "pyautogui")
        if form not in ("pyautogui", "computer_use"):
            raise ConfigError(
                f"lessons: no demonstrations are written as {form!r}: set environment.action_space to pyautogui or "
                "computer_use, or leave lessons out"
            )
        return lambda seed, task: Oracle(task, form)


SUPERVISION = DesktopSupervision()
"""The one instance; it has no state."""
