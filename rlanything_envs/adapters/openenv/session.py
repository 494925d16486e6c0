"""One session of a server: an OpenEnv environment that plays text environments."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any

import gymnasium as gym
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import EnvironmentMetadata

from rlanything_envs.adapters.openenv.messages import TextAction, TextObservation, TextState
from rlanything_envs.conversation import Conversation, Turn
from rlanything_envs.errors import InfrastructureError, UnknownTask
from rlanything_envs.sources import is_task_id

__all__ = ["Session", "SessionError"]

_log = logging.getLogger(__name__)


class SessionError(Exception):
    """A failure as the client sees it: the name of the error and its message."""


class Session(Environment):  # type: ignore[misc]
    """Plays one environment for one client.

    The environment is made by the first `reset`, so an unused connection costs nothing.

    Args:
        make: Makes the environment.
        env_id: Id of the environment, for the client.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, make: Callable[[], Conversation], env_id: str) -> None:
        super().__init__()
        self._make = make
        self._conversation: Conversation | None = None
        self._closed = False
        self._lock = Lock()  # a session may be closed during a step
        self._state = TextState(env_id=env_id)

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        task: Mapping[str, Any] | str | None = None,
        **unknown: Any,
    ) -> TextObservation:
        """Begin an episode.

        Args:
            seed: Seed of the draw of a task; the same seed gives the same episode.
            episode_id: A name of the client's own, which `state` repeats.
            task: A task's JSON object, or the id of a task that the environment knows.
            unknown: Refused; there are no other arguments.

        Raises:
            SessionError: The machinery failed, or an argument is invalid.
        """
        with self._errors(), self._lock:
            if unknown:
                raise ValueError(f"reset takes seed, episode_id and task, not {', '.join(sorted(unknown))}")
            if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
                raise ValueError(f"seed = {seed!r:.80}: give an integer from 0")
            # An environment may accept paths, too; a client must not name files of the server.
            conversation = self._opened()
            domain = getattr(conversation.env.unwrapped, "domain", r"\w+")
            if isinstance(task, str) and not is_task_id(task, domain):
                raise UnknownTask(f"task {task!r:.80} is no id of a task; give an id or a task's JSON object")
            self._state = TextState(env_id=self._state.env_id, episode_id=episode_id)
            return self._observation(conversation.start(task, seed=seed))

    def step(self, action: TextAction, timeout_s: float | None = None, **unknown: Any) -> TextObservation:
        """Send an answer; environments have time limits of their own, and `timeout_s` is not read.

        Raises:
            SessionError: The machinery failed, and the episode counts for nothing; or no episode is running.
        """
        with self._errors(), self._lock:
            turn = self._opened().answer(action.text)
            self._state.step_count += 1
            return self._observation(turn)

    @property
    def state(self) -> TextState:
        """State of the session."""
        return self._state

    def get_metadata(self) -> EnvironmentMetadata:
        """Metadata of the served environment."""
        return EnvironmentMetadata(
            name=self._state.env_id, description="A text environment of RLAnything.", version="0"
        )

    def close(self) -> None:
        """Close the environment; may be called more than once, from any thread."""
        with self._lock:
            self._closed = True
            conversation, self._conversation = self._conversation, None
            if conversation is not None:
                conversation.close()

    def _opened(self) -> Conversation:
        if self._closed:
            raise RuntimeError("the session is closed")
        if self._conversation is None:
            self._conversation = self._make()
        return self._conversation

    def _observation(self, turn: Turn) -> TextObservation:
        outcome = turn.info.get("outcome")
        self._state.task_id, self._state.done = str(turn.info.get("task_id", "")), turn.done
        return TextObservation(
            text=turn.text,
            task_id=self._state.task_id,
            terminated=turn.terminated,
            truncated=turn.truncated,
            outcome=None if outcome is None else int(outcome),
            commands=turn.commands,
            reward=turn.reward,
            done=turn.done,
        )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Report errors that are part of the interface to the client, and log all others."""
        try:
            yield
        except Exception as error:
            name, message = type(error).__name__, str(error)
            meant = type(error).__module__.startswith("rlanything_") or isinstance(
                error, ValueError | gym.error.ResetNeeded
            )
            if not meant:
                _log.exception("a session of %s failed", self._state.env_id)
                name, message = "InternalError", "the server's log says what failed; the episode counts for nothing"
            self._state.done |= not meant or isinstance(error, InfrastructureError)
            raise SessionError(f"{name}: {message}") from error
