"""What a loop asks of those who play, and how episodes are dealt out to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from rlanything_agents.config import RunConfig
from rlanything_agents.trajectory import Trajectory
from rlanything_task_pools import Task

if TYPE_CHECKING:
    from rlanything_agents.learners import Learners

__all__ = ["Play", "Shard", "Workers", "open_workers", "shards_of"]


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
    """Those who play."""

    def play(
        self,
        tasks: Sequence[Task],
        how: Play,
        tags: Sequence[str] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> list[Trajectory]:
        """One episode a task with the policy as it is now, in their order.

        What an episode comes to depends on the weights, its task, the seed and its number alone, up to rounding.

        Args:
            tasks: What is played.
            how: How.
            tags: One a task, handed through to its trajectory.
            progress: Called with the number of episodes that have just ended.

        Raises:
            InfrastructureError: Workers were lost again and again.
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
def open_workers(config: RunConfig, learners: Learners) -> Iterator[Workers | None]:
    """The workers a configuration asks for, for the time of a run; None where this process plays itself.

    Args:
        config: Uses ``workers`` and ``rollout``.
        learners: The policy that plays.

    Raises:
        MissingExtra: Ray is not installed.
        InfrastructureError: The workers did not come up.
    """
    if config.workers is None:
        yield None
        return
    from rlanything_agents.workers.ray import RayWorkers

    with RayWorkers.open(config, config.workers, learners) as workers:
        yield workers
