"""Interface of the workers that play and judge for a loop, and shards of episodes for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import gymnasium as gym

from rlanything_agents.config import RolloutConfig
from rlanything_agents.rollout.copies import CopyWeights, Role
from rlanything_agents.rollout.queries import Queries
from rlanything_agents.rollout.rollout import Policy, rollout
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_envs.llm.generator import SamplingParams, TextGenerator
from rlanything_task_pools import Task

__all__ = ["Ended", "Models", "Play", "Shard", "Workers", "play", "shards_of"]

Ended: TypeAlias = Callable[[int, Sequence[Trajectory]], None]
"""Callback for successive episodes that have ended: the number of the first, and the episodes."""


class Judge(Protocol):
    """Reward model that answers queries for votes or tests."""

    @property
    def generator(self) -> TextGenerator:
        """Generator of its answers."""
        ...


class Models(Protocol):
    """Models of a run, for the workers."""

    @property
    def actor(self) -> Policy:
        """Policy of this process."""
        ...

    @property
    def judge_model(self) -> Judge:
        """Reward model of this process."""
        ...

    def for_copies(self, role: Role) -> CopyWeights:
        """Current weights for a `ModelCopy`."""
        ...


@dataclass(frozen=True, slots=True)
class Play:
    """Settings of one rollout.

    Attributes:
        max_steps: Maximum steps of an episode; an episode that has not ended by then has failed.
        seed: Seed of the sampling.
        temperature: Temperature of the sampling; 0 takes the most probable token.
    """

    max_steps: int
    seed: int
    temperature: float


@dataclass(frozen=True, slots=True)
class Shard:
    """Successive episodes of a rollout.

    Attributes:
        first: Number of the first of them in the whole rollout; with `Play.seed` it names their random streams.
        tasks: Task of each episode.
        tags: Tag of each trajectory.
    """

    first: int
    tasks: tuple[Task, ...]
    tags: tuple[str, ...]


class Workers(Protocol):
    """Processes that play episodes and answer judge queries."""

    def play(
        self,
        tasks: Sequence[Task],
        how: Play,
        tags: Sequence[str] | None = None,
        progress: Callable[[int], None] | None = None,
        ended: Ended | None = None,
    ) -> list[Trajectory]:
        """Play one episode per task with the current policy; return the trajectories in the order of the tasks.

        The result of an episode depends only on the weights, its task, the seed and its number, up to rounding.

        Args:
            tasks: Task of each episode.
            how: Settings of the rollout.
            tags: Tag of each trajectory.
            progress: Called with the number of episodes that have just ended, and where other programs play with 0 from
                time to time; an error that it raises ends the rollout.
            ended: Called with the episodes themselves, each once, possibly while others are still being played.

        Raises:
            InfrastructureError: Workers were lost more often than ``workers.retries``.
        """
        ...

    def queries(self, params: SamplingParams) -> AbstractContextManager[Queries]:
        """Open queries to the current reward model, for a block in which episodes are played.

        The answers depend only on the weights, the queries and the parameters.

        Args:
            params: Sampling parameters of all queries.
        """
        ...


def play(
    settings: RolloutConfig,
    policy: Policy,
    envs: Sequence[gym.Env[Any, Any]],
    tasks: Sequence[Task],
    how: Play,
    *,
    first: int = 0,
    tags: Sequence[str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Trajectory]:
    """Play one episode per task in this process, with the settings of a run; see `rollout`."""
    return rollout(
        policy,
        envs,
        tasks,
        first=first,
        max_steps=how.max_steps,
        seed=how.seed,
        temperature=how.temperature,
        top_p=settings.top_p,
        stop=settings.stop,
        constrained=settings.constrained,
        threads=settings.threads or 1,
        deadline=settings.deadline,
        tags=tags,
        progress=progress,
    )


def shards_of(tasks: Sequence[Task], tags: Sequence[str] | None, size: int) -> list[Shard]:
    """Split episodes into shards of ``size``; the last shard may be smaller.

    Raises:
        ValueError: There is not one tag per task.
    """
    names = [""] * len(tasks) if tags is None else list(tags)
    if len(names) != len(tasks):
        raise ValueError(f"there are {len(names)} tags for {len(tasks)} tasks")
    return [Shard(k, tuple(tasks[k : k + size]), tuple(names[k : k + size])) for k in range(0, len(tasks), size)]
