"""This process plays and judges itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from rlanything_agents.config import RunConfig
from rlanything_agents.rollout.queries import AskedAfter
from rlanything_agents.rollout.rollout import rollout
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.rollout.workers.workers import Ended, Play
from rlanything_envs.llm.generator import SamplingParams
from rlanything_task_pools import Task

if TYPE_CHECKING:
    from rlanything_agents.runs.learners import Learners

__all__ = ["LocalWorkers"]


class LocalWorkers:
    """Plays in its own environments.

    Args:
        config: Uses ``rollout``.
        learners: The policy that plays, and the reward model.
        envs: Where it plays.
    """

    def __init__(self, config: RunConfig, learners: Learners, envs: Sequence[gym.Env[Any, Any]]) -> None:
        self._settings, self._learners, self._envs = config.rollout, learners, envs

    def play(
        self,
        tasks: Sequence[Task],
        how: Play,
        tags: Sequence[str] | None = None,
        progress: Callable[[int], None] | None = None,
        ended: Ended | None = None,
    ) -> list[Trajectory]:
        """One episode a task; see `Workers`."""
        episodes = rollout(
            self._learners.player,
            self._learners.dialect,
            self._envs,
            tasks,
            max_steps=how.max_steps,
            seed=how.seed,
            temperature=how.temperature,
            constrained=self._settings.constrained,
            threads=self._settings.threads or 1,
            tags=tags,
            progress=progress,
        )
        if ended is not None:
            ended(0, episodes)
        return episodes

    @contextmanager
    def asking(self, params: SamplingParams) -> Iterator[AskedAfter]:
        """The reward model is asked when all have played; see `Workers`."""
        yield AskedAfter(self._learners.generator, params)
