"""Rollouts and judge queries in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import gymnasium as gym

from rlanything_agents.config import RunConfig
from rlanything_agents.rollout.queries import QueriesAtEnd
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.rollout.workers.workers import Ended, Models, Play, play
from rlanything_envs.llm.generator import SamplingParams
from rlanything_task_pools import Task

__all__ = ["LocalWorkers"]


class LocalWorkers:
    """Workers interface on the models and environments of this process.

    Args:
        config: Settings of the run; uses ``rollout``.
        models: Policy and reward model.
        envs: Environments of the rollouts.
    """

    def __init__(self, config: RunConfig, models: Models, envs: Sequence[gym.Env[Any, Any]]) -> None:
        self._settings, self._models, self._envs = config.rollout, models, envs

    def play(
        self,
        tasks: Sequence[Task],
        how: Play,
        tags: Sequence[str] | None = None,
        progress: Callable[[int], None] | None = None,
        ended: Ended | None = None,
    ) -> list[Trajectory]:
        """Play one episode per task; see `Workers`."""
        episodes = play(self._settings, self._models.actor, self._envs, tasks, how, tags=tags, progress=progress)
        if ended is not None:
            ended(0, episodes)
        return episodes

    @contextmanager
    def queries(self, params: SamplingParams) -> Iterator[QueriesAtEnd]:
        """Open queries that are answered after the rollouts; see `Workers`."""
        yield QueriesAtEnd(self._models.judge_model.generator, params)
