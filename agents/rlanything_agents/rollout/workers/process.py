"""What runs in a worker's process."""

from __future__ import annotations

import os
from typing import Any

import gymnasium as gym

from rlanything_agents.config import RunConfig, WorkersConfig
from rlanything_agents.rollout.copies import Given, ModelCopy, Role
from rlanything_agents.rollout.environments import make_envs
from rlanything_agents.rollout.queries import Chunk
from rlanything_agents.rollout.rollout import rollout
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.rollout.workers.workers import Play, Shard
from rlanything_envs.llm.generator import Completion, SamplingParams

__all__ = ["RolloutWorker"]


class RolloutWorker:
    """Plays and votes with copies of the models, or through their servers.

    Args:
        config: Of the run, as JSON.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        import torch

        self._config = RunConfig.model_validate(config)
        settings = self._config.workers or WorkersConfig()
        torch.set_num_threads(settings.threads)
        self._policy = ModelCopy(self._config, "policy")
        self._copies: dict[Role, ModelCopy] = {"policy": self._policy}
        if self._config.queries_judge and settings.judge == "workers":
            self._copies["judge"] = ModelCopy(self._config, "judge")
        self._versions: dict[Role, int] = {}
        self._envs = self.environments(1)

    def process(self) -> int:
        """Its process id, once it is ready."""
        return os.getpid()

    def environments(self, count: int) -> list[gym.Env[Any, Any]]:
        """So many of the run's, as its policy plays in them."""
        return make_envs(self._config, count)

    def play(self, version: int, given: Given, shard: Shard, how: Play) -> list[Trajectory]:
        """Play a shard.

        Args:
            version: Of what is given; that of the last call is not taken in again.
            given: What the policy writes with.
            shard: What is played.
            how: How.
        """
        self._take("policy", version, given)
        if (missing := len(shard.tasks) - len(self._envs)) > 0:
            self._envs += self.environments(missing)
        return rollout(
            self._policy.policy,
            self._envs[: len(shard.tasks)],
            shard.tasks,
            first=shard.first,
            max_steps=how.max_steps,
            seed=how.seed,
            temperature=how.temperature,
            constrained=self._config.rollout.constrained,
            threads=self._config.rollout.threads or 1,
            tags=shard.tags,
        )

    def answer(self, version: int, given: Given, part: Chunk, params: SamplingParams) -> list[list[Completion]]:
        """Answer questions.

        Args:
            version: As with `play`.
            given: What the reward model writes with.
            part: The questions.
            params: How.
        """
        self._take("judge", version, given)
        return part.answered(self._copies["judge"].generator, params)

    def _take(self, role: Role, version: int, given: Given) -> None:
        if version != self._versions.get(role):
            self._copies[role].take(given)
            self._versions[role] = version
