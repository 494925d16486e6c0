"""Rollout worker: the part that runs in its own process."""

from __future__ import annotations

import os
from typing import Any

import gymnasium as gym
import torch

from rlanything_agents.config import RunConfig, WorkersConfig
from rlanything_agents.rollout.copies import CopyWeights, ModelCopy, Role
from rlanything_agents.rollout.environments import make_envs
from rlanything_agents.rollout.queries import Chunk
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.rollout.workers.workers import Play, Shard, play
from rlanything_envs.llm.generator import Completion, SamplingParams

__all__ = ["RolloutWorker"]


class RolloutWorker:
    """Worker that plays episodes and answers judge queries, with copies of the models or through their servers.

    Args:
        config: Settings of the run as JSON data.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = RunConfig.model_validate(config)
        settings = self._config.workers or WorkersConfig()
        torch.set_num_threads(self._config.threads)
        self._policy = ModelCopy(self._config, "policy")
        self._copies: dict[Role, ModelCopy] = {"policy": self._policy}
        if self._config.queries_judge and settings.judge == "workers":
            self._copies["judge"] = ModelCopy(self._config, "judge")
        self._versions: dict[Role, int] = {}
        self._envs = self.environments(1)

    def process(self) -> int:
        """Process id of the worker, once it is ready."""
        return os.getpid()

    def environments(self, count: int) -> list[gym.Env[Any, Any]]:
        """Make ``count`` environments of the run, in the view of its policy."""
        return make_envs(self._config, count)

    def play(self, version: int, weights: CopyWeights, shard: Shard, how: Play) -> list[Trajectory]:
        """Play a shard of episodes.

        Args:
            version: Version of the weights; the version of the last call is not loaded again.
            weights: Weights of the policy.
            shard: Episodes to play.
            how: Settings of the rollout.
        """
        self._load("policy", version, weights)
        if (missing := len(shard.tasks) - len(self._envs)) > 0:
            self._envs += self.environments(missing)
        return play(
            self._config.rollout,
            self._policy.policy,
            self._envs[: len(shard.tasks)],
            shard.tasks,
            how,
            first=shard.first,
            tags=shard.tags,
        )

    def answer(
        self, version: int, weights: CopyWeights, chunk: Chunk, params: SamplingParams
    ) -> list[list[Completion]]:
        """Answer a chunk of judge queries.

        Args:
            version: Version of the weights; the version of the last call is not loaded again.
            weights: Weights of the reward model.
            chunk: Queries to answer.
            params: Sampling parameters of all queries.
        """
        self._load("judge", version, weights)
        return chunk.answers(self._copies["judge"].generator, params)

    def _load(self, role: Role, version: int, weights: CopyWeights) -> None:
        if version != self._versions.get(role):
            self._copies[role].load(weights)
            self._versions[role] = version
