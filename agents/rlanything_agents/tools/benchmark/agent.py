"""Interfaces of the agents of a benchmark."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rlanything_agents.tools.benchmark.episode import Episode, Result, World
    from rlanything_agents.tools.benchmark.player import Player

__all__ = ["Agent", "Lockstep", "Solo"]


class Agent:
    """An agent of any kind.

    Attributes:
        name: Name on the command line and in results.
        parallel: Default number of episodes in parallel.
        sees: Whether its answers may depend on screenshots; True for one that reads no observation at all.
    """

    name: str
    parallel: int = 1
    sees: bool = False

    def check(self, episodes: Sequence[Episode]) -> None:
        """Check all episodes of the benchmark before the first one begins.

        Raises:
            BenchmarkError: The agent cannot play one of them.
        """

    def close(self) -> None:
        """Free the agent's resources, and cancel its pending calls."""

    def progress(self) -> str:
        """Pace of an agent that measures it, in words; empty for others."""
        return ""


class Solo(Agent, ABC):
    """An agent that plays each episode separately.

    Attributes:
        executor: Executor of parallel episodes: processes for agents that compute, which are pickled; threads for those
            that wait.
    """

    executor: Literal["threads", "processes"]

    @abstractmethod
    def player(self, episode: Episode) -> Player:
        """Make a player for one episode."""


class Lockstep(Agent, ABC):
    """An agent that plays many episodes in step, so that its model answers them in one batch."""

    @abstractmethod
    def play(self, world: World, episodes: Sequence[Episode], parallel: int) -> Generator[Result, None, None]:
        """Play the episodes, ``parallel`` at once; yields results as episodes end, in any order."""
