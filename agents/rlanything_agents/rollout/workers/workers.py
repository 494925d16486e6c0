"""What a loop asks of those who play and judge, and how episodes are dealt out to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from rlanything_agents.config import RunConfig
from rlanything_agents.rollout.copies import Given, Role
from rlanything_agents.rollout.queries import Queries
from rlanything_agents.rollout.rollout import Policy
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_envs.llm.generator import SamplingParams, TextGenerator
from rlanything_task_pools import Task

__all__ = ["Ended", "Models", "Play", "Shard", "Workers", "open_workers", "shards_of"]

Ended: TypeAlias = Callable[[int, Sequence[Trajectory]], None]
"""Is given episodes that have ended, some that stand side by side: the number of the first, and the episodes."""


class Asked(Protocol):
    """A model that is asked for votes or tests."""

    @property
    def generator(self) -> TextGenerator:
        """What writes its answers."""
        ...


class Models(Protocol):
    """The models of a run, as workers need them."""

    @property
    def actor(self) -> Policy:
        """The policy as it plays in this process."""
        ...

    @property
    def judge_model(self) -> Asked:
        """The reward model as it is asked in this process."""
        ...

    def for_copies(self, role: Role) -> Given:
        """What a `ModelCopy` is to write with at this moment."""
        ...


@dataclass(frozen=True, slots=True)
class Play:
    """How episodes are played.

    Attributes:
        max_steps: An episode that has not ended by then is lost.
        seed: Of the sampling.
        temperature: Of the sampling.
    """

    max_steps: int
    seed: int
    temperature: float


@dataclass(frozen=True, slots=True)
class Shard:
    """Some of the episodes of a rollout.

    Attributes:
        first: Number of the first of them among all; with `Play.seed` it names their streams of chance.
        tasks: One an episode.
        tags: Handed through to the trajectories.
    """

    first: int
    tasks: tuple[Task, ...]
    tags: tuple[str, ...]


class Workers(Protocol):
    """Those who play, and those who judge."""

    def play(
        self,
        tasks: Sequence[Task],
        how: Play,
        tags: Sequence[str] | None = None,
        progress: Callable[[int], None] | None = None,
        ended: Ended | None = None,
    ) -> list[Trajectory]:
        """One episode a task with the policy as it is now, in their order.

        What an episode comes to depends on the weights, its task, the seed and its number alone, up to rounding.

        Args:
            tasks: What is played.
            how: How.
            tags: One a task, handed through to its trajectory.
            progress: Called with the number of episodes that have just ended.
            ended: Called with the episodes themselves, each once, as early as others may still be played.

        Raises:
            InfrastructureError: Workers were lost again and again.
        """
        ...

    def queries(self, params: SamplingParams) -> AbstractContextManager[Queries]:
        """What takes the questions for the reward model as it is now, in a block in which episodes are played.

        The answers depend on the weights, the questions and the parameters alone.

        Args:
            params: How it is asked.
        """
        ...


def shards_of(tasks: Sequence[Task], tags: Sequence[str] | None, size: int) -> list[Shard]:
    """Episodes in shards of ``size``, the last one smaller if need be.

    Raises:
        ValueError: ``size`` is less than 1, or there is not one tag a task.
    """
    if size < 1:
        raise ValueError(f"a shard has at least one episode, got {size}")
    names = [""] * len(tasks) if tags is None else list(tags)
    if len(names) != len(tasks):
        raise ValueError(f"there are {len(names)} tags for {len(tasks)} tasks")
    return [Shard(k, tuple(tasks[k : k + size]), tuple(names[k : k + size])) for k in range(0, len(tasks), size)]


@contextmanager
def open_workers(config: RunConfig, models: Models) -> Iterator[Workers | None]:
    """The workers a configuration asks for, for the time of a run; None where this process plays itself.

    Args:
        config: Uses ``workers`` and ``rollout``.
        models: The policy that plays, and the reward model.

    Raises:
        MissingExtra: Ray is not installed.
        InfrastructureError: The workers did not come up.
    """
    if config.workers is None:
        yield None
        return
    from rlanything_agents.rollout.workers.ray import RayWorkers

    with RayWorkers.open(config, config.workers, models) as workers:
        yield workers
