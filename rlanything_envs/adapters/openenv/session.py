"""One session of a server: an OpenEnv environment that plays text environments."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any

from openenv.core.env_server.http_server import HTTPEnvServer
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.mcp_types import (
    CallToolAction,
    CallToolObservation,
    ListToolsAction,
    ListToolsObservation,
    Tool,
    ToolError,
    ToolErrorType,
)
from openenv.core.env_server.types import EnvironmentMetadata

from rlanything_envs.adapters.openenv.guard import IN_SOCKET
from rlanything_envs.adapters.openenv.messages import TextAction, TextObservation, TextState
from rlanything_envs.adapters.serving import UNEXPECTED, check_request, client_error, outcome_of
from rlanything_envs.conversation import Conversation, ToolConversation, Turn
from rlanything_envs.errors import InfrastructureError

__all__ = ["Session", "SessionError", "Sessions", "ToolSession"]

_log = logging.getLogger(__name__)


class SessionError(Exception):
    """A failure as the client sees it: the name of the error and its message."""


class Sessions(HTTPEnvServer):  # type: ignore[misc]
    """OpenEnv's server, which ends idle sessions of ``/mcp``: none at work and none of an open WebSocket."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._at_work: list[str] = []

    async def _create_session(self) -> tuple[str, Environment]:
        session_id, made = await super()._create_session()
        if IN_SOCKET.get():
            self._session_websocket_attachments.add(session_id)
        return session_id, made

    async def _run_in_session_executor(self, session_id: str, *call: Any, **named: Any) -> Any:
        self._at_work.append(session_id)
        try:
            return await super()._run_in_session_executor(session_id, *call, **named)
        finally:
            self._at_work.remove(session_id)

    async def _destroy_session(self, session_id: str) -> None:
        if IN_SOCKET.get() or session_id not in self._at_work:
            await super()._destroy_session(session_id)


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
            conversation = self._opened()
            check_request(conversation, task, seed)
            self._state = TextState(env_id=self._state.env_id, episode_id=episode_id)
            return self._observation(conversation.start(task, seed=seed))

    def step(self, action: TextAction, timeout_s: float | None = None, **unknown: Any) -> TextObservation:
        """Send an answer; environments have their own time limits, and `timeout_s` is not read.

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
        outcome = outcome_of(turn)
        self._state.task_id, self._state.done = str(turn.info.get("task_id", "")), turn.done
        return TextObservation(
            text=turn.text,
            screen=None if turn.screen is None else turn.screen.data_url,
            task_id=self._state.task_id,
            terminated=turn.terminated,
            truncated=turn.truncated,
            outcome=outcome,
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
            if (message := client_error(error)) is None:
                _log.exception("a session of %s failed", self._state.env_id)
                message = UNEXPECTED
                self._state.done = True
            self._state.done |= isinstance(error, InfrastructureError)
            raise SessionError(message) from error


class ToolSession(Session):
    """Plays one environment for one client by tool calls, over the WebSocket and over ``/mcp``.

    The opening message is a `TextObservation`. A call's observation is OpenEnv's own, whose ``result`` is the message;
    ``error`` is the fault of a malformed call, which counts as the environment counts an unreadable action; the screen
    is in the ``metadata``.
    """

    def step(
        self, action: CallToolAction | ListToolsAction, timeout_s: float | None = None, **unknown: Any
    ) -> CallToolObservation | ListToolsObservation:
        """Call a tool, or list them; see `Session.step`."""
        with self._errors(), self._lock:
            conversation = self._opened()
            assert isinstance(conversation, ToolConversation)  # nosec B101 # as it was made
            if isinstance(action, ListToolsAction):
                tools = conversation.tools.values()
                return ListToolsObservation(
                    tools=[Tool(name=t.name, description=t.description, input_schema=t.parameters) for t in tools]
                )
            turn = conversation.call(action.tool_name, action.arguments)
            self._state.step_count += 1
            seen = self._observation(turn)
            fault = turn.info["call_error"]
            shown = {"task_id", "terminated", "truncated", "outcome", *({"screen"} if seen.screen else ())}
            kind = (
                ToolErrorType.INVALID_ARGS if action.tool_name in conversation.tools else ToolErrorType.TOOL_NOT_FOUND
            )
            return CallToolObservation(
                tool_name=action.tool_name,
                result=turn.text,
                error=None if fault is None else ToolError(error_type=kind, message=str(fault)),
                reward=turn.reward,
                done=turn.done,
                metadata=seen.model_dump(include=shown),
            )
