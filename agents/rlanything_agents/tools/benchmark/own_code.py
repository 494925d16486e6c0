"""``python:MODULE:NAME``: a function of yours, or a class of which each episode gets an instance."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from rlanything_agents.tools.benchmark.agent import ChatPlayer, Message, Said
from rlanything_agents.tools.benchmark.errors import AgentError
from rlanything_envs.errors import InfrastructureError

if TYPE_CHECKING:
    from rlanything_agents.tools.benchmark.episode import Episode

__all__ = ["PythonAgent"]


class PythonAgent:
    """Calls Python code with the whole chat, once a turn.

    A function ``agent(messages) -> str`` is called in several threads where several episodes are played side by side.
    A class is made anew for each episode; its ``act(messages) -> str`` is called once a turn, and before that
    ``start(episode)``, if it has one, with a mapping of ``domain``, ``goal`` and ``seed``. An `InfrastructureError` or
    an `OSError` (time-outs and broken connections are such) leaves an episode without outcome; every other exception
    ends the benchmark.

    Args:
        place: ``module:name``; the module is looked for in the working directory too.
        history: See `ChatPlayer`.

    Raises:
        AgentError: There is no such thing, or it cannot be called.
    """

    beside: Literal["threads"] = "threads"
    lanes = 1

    def __init__(self, place: str, history: int | None = None) -> None:
        self.name = f"python:{place}"
        self._history = history
        module, colon, attribute = place.partition(":")
        if not (module and colon and attribute):
            raise AgentError(f"{self.name}: expected python:module:name")
        if os.getcwd() not in sys.path:  # noqa: PTH109 (a text is compared)
            sys.path.insert(0, os.getcwd())  # noqa: PTH109
        try:
            found: Any = import_module(module)
            for name in attribute.split("."):
                found = getattr(found, name)
        except (ImportError, AttributeError) as error:
            raise AgentError(f"{self.name}: {error}") from error
        if not callable(found) or (inspect.isclass(found) and not callable(getattr(found, "act", None))):
            raise AgentError(f"{self.name} is neither a function of messages nor a class with a method act(messages)")
        self._made = found

    def check(self, episodes: Sequence[Episode]) -> None:
        """Nothing to look at."""

    def player(self, episode: Episode) -> PythonPlayer:
        """One that calls the function, or an instance of its own."""
        if not inspect.isclass(self._made):
            return PythonPlayer(self.name, self._made, self._history)
        instance = _called(self.name, self._made)
        if hasattr(instance, "start"):
            task = episode.task
            _called(self.name, instance.start, {"domain": task.domain, "goal": task.goal, "seed": episode.seed})
        return PythonPlayer(self.name, instance.act, self._history)

    def close(self) -> None:
        """Nothing to free."""


class PythonPlayer(ChatPlayer):
    """Python code in one episode; its tokens are not counted."""

    counts = False

    def __init__(self, name: str, act: Callable[[list[Message]], Any], history: int | None) -> None:
        super().__init__(history)
        self._name, self._act = name, act

    def reply(self, messages: list[Message]) -> Said:
        """What the code says."""
        text = _called(self._name, self._act, messages)
        if not isinstance(text, str):
            raise AgentError(f"{self._name} answered with {type(text).__name__}, expected a str")
        return Said(text)


def _called(name: str, code: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return code(*arguments)
    except InfrastructureError:
        raise
    except OSError as error:
        raise InfrastructureError(f"{name}: {type(error).__name__}: {error}") from error
    except Exception as error:
        raise AgentError(f"{name} failed with {type(error).__name__}: {error}") from error
