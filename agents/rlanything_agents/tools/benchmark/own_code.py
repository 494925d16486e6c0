"""``python:MODULE:NAME``: a function of the user, or a class with one instance per episode."""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rlanything_agents.tools.benchmark.agent import Solo
from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_agents.tools.benchmark.player import ChatPlayer, History, Message, Response
from rlanything_envs.errors import InfrastructureError

if TYPE_CHECKING:
    from rlanything_agents.tools.benchmark.episode import Episode
    from rlanything_agents.tools.benchmark.settings import ChatSettings

__all__ = ["PythonAgent"]


class PythonAgent(Solo):
    """Calls Python code with the whole chat, once per turn.

    A function ``agent(messages) -> str`` is called from several threads where several episodes run in parallel. A class
    is instantiated for each episode; its ``start(episode)``, if it has one, is called with a mapping of ``domain``,
    ``goal`` and ``seed``, and its ``act(messages) -> str`` once per turn. An `InfrastructureError` or an `OSError`
    (which time-outs and broken connections are) leaves an episode without outcome; every other exception ends the
    benchmark.

    With screenshots the content of a message is a tuple of a `rlanything_envs.message.Image` and a text.

    Args:
        place: ``module:name``; modules of the working directory are found too.
        settings: History and number of screens.

    Raises:
        BenchmarkError: The name does not exist, or cannot be called.
    """

    executor = "threads"
    sees = True

    def __init__(self, place: str, settings: ChatSettings) -> None:
        self.name = f"python:{place}"
        self._settings = settings
        module, colon, attribute = place.partition(":")
        if not (module and colon and attribute):
            raise BenchmarkError(f"{self.name}: expected python:module:name")
        if os.getcwd() not in sys.path:  # noqa: PTH109 (a text is compared)
            sys.path.insert(0, os.getcwd())  # noqa: PTH109
        try:
            found: Any = import_module(module)
            for name in attribute.split("."):
                found = getattr(found, name)
        except (ImportError, AttributeError) as error:
            raise BenchmarkError(f"{self.name}: {error}") from error
        except Exception as error:
            raise BenchmarkError(_failure(self.name, error)) from error
        if not callable(found) or (inspect.isclass(found) and not callable(getattr(found, "act", None))):
            raise BenchmarkError(
                f"{self.name} is neither a function of messages nor a class with a method act(messages)"
            )
        self._made = found

    def player(self, episode: Episode) -> PythonPlayer:
        """A player that calls the function, or a new instance of the class."""
        if not inspect.isclass(self._made):
            return PythonPlayer(self.name, self._made, self._settings)
        instance = _called(self.name, self._made)
        if hasattr(instance, "start"):
            task = episode.task
            _called(self.name, instance.start, {"domain": task.domain, "goal": task.goal, "seed": episode.seed})
        return PythonPlayer(self.name, instance.act, self._settings)


class PythonPlayer(ChatPlayer):
    """Python code in one episode; its tokens are not counted."""

    counts = False

    def __init__(self, name: str, act: Callable[[list[Message]], Any], settings: ChatSettings) -> None:
        super().__init__(History(settings.max_history, settings.images))
        self._name, self._act = name, act

    def reply(self, messages: list[Message]) -> Response:
        """Call the code with a chat."""
        text = _called(self._name, self._act, messages)
        if not isinstance(text, str):
            raise BenchmarkError(f"{self._name} answered with {type(text).__name__}, expected a str")
        return Response(text)


def _called(name: str, code: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return code(*arguments)
    except InfrastructureError:
        raise
    except OSError as error:
        raise InfrastructureError(f"{name}: {type(error).__name__}: {error}") from error
    except Exception as error:
        raise BenchmarkError(_failure(name, error)) from error


def _failure(name: str, error: Exception) -> str:
    """What went wrong in the user's code, and in which line of it; those of installed packages do not count."""
    if isinstance(error, SyntaxError):
        return f"{name} failed with {type(error).__name__} at {error.filename}, line {error.lineno}: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)[1:]
    theirs = [frame for frame in frames if not frame.filename.startswith("<") and "site-packages" not in frame.filename]
    place = f" at {theirs[-1].filename}, line {theirs[-1].lineno}" if theirs else ""
    return f"{name} failed with {type(error).__name__}{place}: {error}"
