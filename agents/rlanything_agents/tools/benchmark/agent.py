"""Agents of a benchmark: their interfaces, and from the value of ``--agent`` to one of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rlanything_agents.tools.benchmark.errors import BenchmarkError

if TYPE_CHECKING:
    from rlanything_agents.tools.benchmark.episode import Episode, Result, World
    from rlanything_agents.tools.benchmark.player import Player
    from rlanything_agents.tools.benchmark.settings import ChatSettings

__all__ = ["FORMS", "Agent", "Lockstep", "Solo", "open_agent", "packages_of"]

FORMS = ("random", "expert", "openai:MODEL", "hf:CHECKPOINT", "run:FOLDER", "python:MODULE:NAME")
"""Forms of the names of agents."""


class Agent:
    """An agent of any kind.

    Attributes:
        name: Name on the command line and in results.
        parallel: Default number of episodes in parallel.
    """

    name: str
    parallel: int = 1

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


def open_agent(name: str, settings: ChatSettings, log: Path, turns: int) -> Solo | Lockstep:
    """Open the agent of a name, and import the packages of its kind.

    Args:
        name: A name in one of the `FORMS`.
        settings: Settings of chat agents.
        log: File of the prompts to a model and its answers.
        turns: Most turns of an episode.

    Raises:
        BenchmarkError: There is no agent of this name, or it cannot be opened.
        MissingExtra, MissingKey: The service cannot be used.
    """
    from rlanything_agents.tools.benchmark.scripted import Expert, RandomAgent

    kind, colon, rest = name.partition(":")
    match kind, bool(colon and rest):
        case "random", False:
            return RandomAgent()
        case "expert", False:
            return Expert()
        case "openai", True:
            from rlanything_agents.tools.benchmark.service import ServiceAgent

            return ServiceAgent(rest, settings, log)
        case "hf", True:
            from rlanything_agents.tools.benchmark.checkpoint import CheckpointAgent

            return CheckpointAgent(rest, settings, log, turns)
        case "run", True:
            from rlanything_agents.tools.benchmark.policy import RunAgent

            return RunAgent(rest)
        case "python", True:
            from rlanything_agents.tools.benchmark.own_code import PythonAgent

            return PythonAgent(rest, settings.max_history)
    raise BenchmarkError(f"no agent is called {name!r:.200}: choose one of {', '.join(FORMS)}")


def packages_of(name: str) -> tuple[str, ...]:
    """Packages that an agent of this kind needs besides those of the environments."""
    models = ("torch", "transformers")
    return {"openai": ("openai",), "hf": models, "run": models}.get(name.partition(":")[0], ())
