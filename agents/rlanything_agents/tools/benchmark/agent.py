"""Interfaces of the agents of a benchmark."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from rlanything_agents.tools.benchmark.episode import Episode, Result, World
    from rlanything_agents.tools.benchmark.player import Player

__all__ = ["Agent", "Lockstep", "Solo"]


class Agent(Protocol):
    """An agent of any kind."""

    @property
    def name(self) -> str:
        """Name on the command line and in results."""
        ...

    @property
    def parallel(self) -> int:
        """Default number of episodes in parallel."""
        ...

    def check(self, episodes: Sequence[Episode]) -> None:
        """Check all episodes of the benchmark before the first one begins.

        Raises:
            AgentError: The agent cannot play one of them.
        """
        ...

    def close(self) -> None:
        """Free the agent's resources, and cancel its pending calls."""
        ...


class Solo(Agent, Protocol):
    """An agent that plays each episode separately."""

    @property
    def executor(self) -> Literal["threads", "processes"]:
        """Executor of parallel episodes: processes for agents that compute, which are pickled; threads for agents that
        wait.
        """
        ...

    def player(self, episode: Episode) -> Player:
        """Make a player for one episode."""
        ...


class Lockstep(Agent, Protocol):
    """An agent that plays many episodes in step, so that its model answers them in one batch."""

    def play(self, world: World, episodes: Sequence[Episode], parallel: int) -> Generator[Result, None, None]:
        """Play the episodes, ``parallel`` at once; yields results as episodes end, in any order."""
        ...
