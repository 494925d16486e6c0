"""The resource server: one environment for many sessions, each with its own episode."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from nemo_gym.base_resources_server import BaseResourcesServerConfig
from nemo_gym.failure_kinds import PROVIDER_QUOTA_EXHAUSTED, SESSION_LOST
from nemo_gym.server_utils import SESSION_ID_KEY
from pydantic import BaseModel, Field, PrivateAttr
from resources_servers.gymnasium import GymnasiumServer, extract_text
from starlette.middleware.sessions import SessionMiddleware

from rlanything_envs.adapters.nemo_gym.session import Session, refusal
from rlanything_envs.adapters.serving import App, BoundedBodies, make, outcome_of
from rlanything_envs.conversation import Conversation, Turn
from rlanything_envs.curriculum import CurriculumSource
from rlanything_envs.errors import SettingError

__all__ = ["TextServer", "TextServerConfig"]

_WAITING = 2
"""Requests of one session at a time: one that runs, and its repetition after a lost connection."""


class TextServerConfig(BaseResourcesServerConfig):  # type: ignore[misc]
    """The server's block in NeMo Gym's configuration."""

    env_id: str = "RLAnything/AlfWorld-v0"
    """Id of the environment, as `gymnasium.make` takes it."""
    arguments: dict[str, Any] = {}  # noqa: RUF012 (pydantic copies it)
    """Arguments of `gymnasium.make`; observations must be text."""
    pool: Path | None = None
    """Path of the pool whose curriculum deals the tasks of rows with a group."""
    rollouts: int = Field(8, ge=1)
    """Episodes in a group: ``num_repeats`` of a row."""
    curriculum: dict[str, Any] = {}  # noqa: RUF012
    """Other arguments of `CurriculumSource`."""
    max_sessions: int = Field(1024, ge=1)
    """Maximum concurrent episodes; one more fails, and counts for nothing."""
    idle_seconds: float = Field(3600.0, gt=0)
    """Idle time after which an episode may be ended for another one; it counts for nothing."""
    max_message_bytes: int = Field(16_000_000, ge=1)
    """Longest request of an episode in bytes: a task of up to 4 MB, escaped, and an answer."""


class _CloseRequest(BaseModel):
    failed: bool = False


class TextServer(GymnasiumServer):  # type: ignore[misc]
    """Plays one environment for many sessions, each with its own episode.

    A request that fails has a status from 400 and a body ``{"detail": {"failure_reason", "failure_kind"}}``, never a
    reward: `TextAgent` makes a failed row of it, and with NeMo Gym's ``gymnasium_agent`` its ``/run`` fails.

    Raises:
        ValidationError: The environment cannot be made, or several worker processes are asked for.
        PoolError: The path is not that of a pool.
    """

    ray_enabled = False
    config: TextServerConfig
    _source: CurriculumSource | None = PrivateAttr(None)
    _threads: ThreadPoolExecutor = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        """Make the environment once, so that a wrong setting is an error now."""
        super().model_post_init(context)
        config = self.config
        if config.num_workers not in (None, 1):
            raise SettingError(f"num_workers = {config.num_workers}: an episode lives in one process; use 1")
        make(Conversation, config.env_id, config.arguments).close()
        if config.pool is not None:
            self._source = CurriculumSource(config.pool, rollouts=config.rollouts, **config.curriculum)
        self._threads = ThreadPoolExecutor(config.max_sessions, thread_name_prefix="episode")

    def setup_webserver(self) -> FastAPI:
        """NeMo Gym's routes and ``/close``, behind a limit on the length of requests."""
        app = super().setup_webserver()
        app.post("/close")(self._close_endpoint)
        # All rows of a run, which its collector sends at the end, are as long as the run.
        app.add_middleware(BoundedBodies, most=self.config.max_message_bytes, free={"/aggregate_metrics"})
        inner = app.router.lifespan_context

        @asynccontextmanager
        async def lifespan(app: App) -> AsyncIterator[Any]:
            async with inner(app) as state:
                yield state
            await asyncio.to_thread(self.close)

        app.router.lifespan_context = lifespan
        return app

    def setup_session_middleware(self, app: FastAPI) -> None:
        """As NeMo Gym's, but with a secret key: its own is the server's name, with which a client could sign the cookie
        of another session.
        """
        super().setup_session_middleware(app)
        for middleware in app.user_middleware:
            if middleware.cls is SessionMiddleware:
                middleware.kwargs["secret_key"] = secrets.token_hex(32)

    async def reset(self, metadata: dict[str, Any], session_id: str | None = None) -> tuple[str, dict[str, Any]]:
        """Begin the episode of a row: its ``group``, ``task`` or ``seed``.

        Raises:
            HTTPException: See the class.
        """
        assert session_id is not None  # nosec B101 # by the session middleware
        self._end_idle()
        if (session := self.session_state.get(session_id)) is None:
            if len(self.session_state) >= self.config.max_sessions:
                raise refusal(503, f"{self.config.max_sessions} episodes are running", PROVIDER_QUOTA_EXHAUSTED)
            session = self.session_state[session_id] = Session()
        try:
            turn = await self._aside(
                session, partial(session.begin, self.config.env_id, self.config.arguments, self._source, metadata)
            )
        except BaseException:  # also where the client has hung up: it never gets the cookie
            self._drop(session_id)
            raise
        return turn.text, {
            "task_id": turn.info["task_id"],
            "supports_explicit_close": True,
            "supports_step_idempotency": True,
        }

    async def step(
        self, action: Any, metadata: dict[str, Any], session_id: str | None = None
    ) -> tuple[str | None, float, bool, bool, dict[str, Any]]:
        """Send the text of the model's response to the environment.

        A call of a tool gets an answer that says that there are none, so that the model can be asked again.

        Raises:
            HTTPException: See the class.
        """
        if (session := self.session_state.get(session_id)) is None:
            raise refusal(409, "no episode is running in this session", SESSION_LOST)
        text, request = extract_text(action), metadata.get("_ng_step_request_id")
        turn = await self._aside(session, lambda: session.answer(text, request))
        info: dict[str, Any] = {"task_id": turn.info["task_id"]}
        if turn.done:
            info |= {"outcome": outcome_of(turn), "success": turn.won, "steps": session.steps}
            return None, turn.reward, turn.terminated, turn.truncated, info
        calls = [item for item in action.output if item.type == "function_call"]
        if calls:
            info["tool_outputs"] = [self.tool_output(call, "There are no tools: write the action.") for call in calls]
        return turn.text, turn.reward, False, False, info

    async def close_session(self, session_id: str | None) -> None:
        """Nothing: the environment of a finished episode is closed, and its last message stays for a repetition."""

    def close(self) -> None:
        """End all episodes, which then count for nothing, and close the source."""
        while self.session_state:
            self.session_state.popitem()[1].end(None)
        self._threads.shutdown()
        if self._source is not None:
            self._source.close()

    async def _close_endpoint(self, request: Request, body: _CloseRequest) -> dict[str, bool]:
        """End the session; an episode that is not over has failed, or counts for nothing where the agent says so."""
        if (session := self.session_state.pop(request.session.get(SESSION_ID_KEY), None)) is not None:
            await asyncio.get_running_loop().run_in_executor(self._threads, session.end, None if body.failed else False)
        return {"closed": session is not None}

    def _drop(self, session_id: str) -> None:
        """End a session whose client is gone; its episode counts for nothing."""
        if (session := self.session_state.pop(session_id, None)) is not None:
            self._threads.submit(session.end, None)

    def _end_idle(self) -> None:
        now = time.monotonic()
        for session_id, session in list(self.session_state.items()):
            if now - session.used > self.config.idle_seconds and not session.waiting:
                self._drop(session_id)

    async def _aside(self, session: Session, work: Callable[[], Turn]) -> Turn:
        """Do what blocks in a thread. It goes on where the client has hung up, and the repeated request meets it."""
        if session.waiting >= _WAITING:
            raise refusal(409, "the session is busy with earlier requests", PROVIDER_QUOTA_EXHAUSTED)
        session.waiting += 1
        running = asyncio.get_running_loop().run_in_executor(self._threads, partial(session.locked, work))
        running.add_done_callback(session.done)
        got = await asyncio.shield(running)
        if not isinstance(got, Turn):
            raise got
        return got
