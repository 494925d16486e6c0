"""NeMo Gym: text environments as a resource server of its Gymnasium-style class, and the agent that plays them.

`write_servers` writes the folder that ``gym`` reads: the server, the agent, rows of tasks and a configuration.

```python
from rlanything_envs.adapters import nemo_gym

nemo_gym.write_servers("servers", nemo_gym.rows(tasks, "alfworld"), "RLAnything/AlfWorld-v0", name="alfworld")
```

A row holds its task, proof included, for the server; the agent sends the model the environment's messages alone.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import shlex
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import yaml

from rlanything_envs.adapters import rows as plain_rows
from rlanything_envs.adapters.serving import App, BoundedBodies, check_request, client_error, make, outcome_of
from rlanything_envs.conversation import Conversation, Turn
from rlanything_envs.curriculum import CurriculumSource, Group
from rlanything_envs.errors import InfrastructureError, MissingExtra, SettingError
from rlanything_task_pools import Task
from rlanything_verifiers.installed import install

try:
    from aiohttp import ClientResponseError
    from fastapi import FastAPI, HTTPException, Request
    from fastapi.responses import JSONResponse
    from nemo_gym.base_resources_server import BaseResourcesServerConfig
    from nemo_gym.failure_kinds import PROVIDER_QUOTA_EXHAUSTED, SESSION_LOST
    from nemo_gym.server_utils import SESSION_ID_KEY
    from pydantic import BaseModel, Field, PrivateAttr
    from resources_servers.gymnasium import GymnasiumServer, extract_text
    from responses_api_agents.gymnasium_agent.app import GymnasiumAgent, GymnasiumAgentRunRequest
    from starlette.middleware.sessions import SessionMiddleware
except ImportError as error:
    raise MissingExtra(
        f"rlanything_envs.adapters.nemo_gym needs NeMo Gym ({error}): pip install 'nemo-gym>=0.7,<0.8'"
    ) from error

__all__ = ["TextAgent", "TextServer", "TextServerConfig", "group_rows", "rows", "write_servers"]

_log = logging.getLogger(__name__)

_FAILED, _REFUSED = "rlanything:environment_failed", "rlanything:request_refused"
"""Failure kinds of this server, in NeMo Gym's form for those that are not in its vocabulary."""
_REASON = 2000
"""Maximum characters of a ``failure_reason``: as many as NeMo Gym's own."""
_NAME = 200
"""Maximum characters of a group's name."""
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
        session = self.session_state.get(session_id)
        if session is None:
            if len(self.session_state) >= self.config.max_sessions:
                raise _refusal(503, f"{self.config.max_sessions} episodes are running", PROVIDER_QUOTA_EXHAUSTED)
            session = self.session_state[session_id] = _Session()
        try:
            turn = await self._aside(session, partial(session.begin, self, metadata))
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
        session = self.session_state.get(session_id)
        if session is None:
            raise _refusal(409, "no episode is running in this session", SESSION_LOST)
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
        session = self.session_state.pop(request.session.get(SESSION_ID_KEY), None)
        if session is not None:
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

    async def _aside(self, session: _Session, work: Callable[[], Turn]) -> Turn:
        """Do what blocks in a thread. It goes on where the client has hung up, and the repeated request meets it."""
        if session.waiting >= _WAITING:
            raise _refusal(409, "the session is busy with earlier requests", PROVIDER_QUOTA_EXHAUSTED)
        session.waiting += 1
        running = asyncio.get_running_loop().run_in_executor(self._threads, partial(session.locked, work))
        running.add_done_callback(session.done)
        got = await asyncio.shield(running)
        if not isinstance(got, Turn):
            raise got
        return got


class _Session:
    """The episode of a client. Its methods run in threads, one at a time."""

    def __init__(self) -> None:
        self.used = time.monotonic()
        self.waiting = self.steps = 0
        self._over = False
        self._lock = Lock()
        self._conversation: Conversation | None = None
        self._ended: Callable[[bool | None, float | None, int], Any] = _forget
        self._replied: tuple[str | None, Turn] | None = None
        self._failed: Exception | None = None

    def done(self, running: Any) -> None:
        """A request is done with; called in the server's thread."""
        self.waiting -= 1

    def locked(self, work: Callable[[], Turn]) -> Turn | Exception:
        """Do something while nothing else happens; returns a turn, or an error for the client."""
        with self._lock:
            self.used = time.monotonic()
            try:
                return work()
            except Exception as error:
                failed: Exception = error
                if not isinstance(error, HTTPException):
                    failed = self._failed = _of_error(error)
                    self._end(None)
                return failed
            finally:
                self.used = time.monotonic()

    def begin(self, server: TextServer, row: Mapping[str, Any]) -> Turn:
        """Begin the episode of a row; one that is running counts for nothing."""
        if self._over:
            raise _refusal(409, "the session is closed", SESSION_LOST)
        self._end(None)
        self.steps, self._replied, self._failed = 0, None, None
        task, seed, name = (row.get(key) for key in ("task", "seed", "group"))
        if name is not None and (not isinstance(name, str) or len(name) > _NAME or server._source is None):
            raise ValueError(f"group {name!r:.80}: give a name of up to {_NAME} characters, and the server a pool")
        if task is None and seed is None and name is None:
            raise ValueError("the row has neither 'task' nor 'seed' nor 'group'")
        if isinstance(task, str) and task.startswith("{"):
            task = Task.from_json(task)
        self._conversation = Conversation(server.config.env_id, **server.config.arguments)
        check_request(self._conversation, task, seed)
        if name is not None and server._source is not None:
            group = server._source.join(name)
            self._ended = partial(_report, server._source, group)
            task = group.task
        turn = self._conversation.start(task, seed=seed)
        if turn.screen is not None:
            raise SettingError("NeMo Gym's Gymnasium-style servers carry text alone: leave out the screenshot")
        return turn

    def answer(self, text: str, request: object) -> Turn:
        """Send an answer; a request that was answered already gets the same message again."""
        if self._failed is not None:
            raise self._failed
        if request is not None and self._replied is not None and self._replied[0] == request:
            return self._replied[1]
        if self._conversation is None:
            raise _refusal(409, "no episode is running in this session", SESSION_LOST)
        turn = self._conversation.answer(text)
        self.steps += 1
        self._replied = (request if isinstance(request, str) else None), turn
        if turn.done:
            self._end(turn.won, turn.reward)
        return turn

    def end(self, success: bool | None) -> None:
        """End the session, and with this outcome an episode that is running."""
        with self._lock:
            self._over = True
            self._end(success)

    def _end(self, success: bool | None, score: float | None = None) -> None:
        conversation, self._conversation = self._conversation, None
        ended, self._ended = self._ended, _forget
        try:
            if conversation is not None:
                conversation.close()
        except Exception:
            _log.exception("an environment could not be closed")
        ended(success, score, self.steps)


def _forget(success: bool | None, score: float | None, steps: int) -> None:
    """Outcomes of episodes without a curriculum go nowhere."""


def _report(source: CurriculumSource, group: Group, success: bool | None, score: float | None, steps: int) -> None:
    source.end(group, success, score=score, steps=steps)


def _refusal(status: int, reason: str, kind: str) -> HTTPException:
    return HTTPException(status, {"failure_reason": reason[:_REASON], "failure_kind": kind})


def _of_error(error: Exception) -> HTTPException:
    """An error as the client may see it: one of the interface, or none but that something failed."""
    message = client_error(error)
    if message is None:
        _log.error("an episode failed", exc_info=error)
        message = "InternalError: the server's log says what failed; the episode counts for nothing"
    elif not isinstance(error, InfrastructureError):
        return _refusal(400, message, _REFUSED)
    return _refusal(500, message, _FAILED)


class TextAgent(GymnasiumAgent):  # type: ignore[misc]
    """NeMo Gym's ``gymnasium_agent``, whose row says why an episode failed.

    The row of a failed episode has ``failure_reason``, ``failure_kind`` and ``mask_sample``, and no reward. Rollout
    collection writes it to the file of failures, plays it again with ``--resume``, and scores the others.
    """

    ray_enabled = False

    async def run(self, request: Request, body: GymnasiumAgentRunRequest) -> Any:
        """Play one episode; see the class."""
        try:
            result = await super().run(request, body)
            return result.model_copy(update={"success": float(bool(result.info.get("success")))})
        except ClientResponseError as error:
            detail = _detail(error)
            if detail is None:
                raise
        return JSONResponse(
            {
                "responses_create_params": body.responses_create_params.model_dump(mode="json", exclude_unset=True),
                "mask_sample": True,
                "instance_config": {"mask_sample": True},  # where NeMo RL looks for it
                **detail,
                # As `nemo_gym.rollout_collection` names it, which is slow to import.
                "_ng_failure_class": "environment_server_failed",
                "_ng_failure_message": detail["failure_reason"],
                "_ng_failure_terminal": detail["failure_kind"] == _REFUSED,  # the row stays what it is
            }
        )

    async def _run_open_episode(self, body: Any, model_url_path: str, reset_data: Any, env_cookies: Any) -> Any:
        try:
            return await super()._run_open_episode(body, model_url_path, reset_data, env_cookies)
        except BaseException:
            # The model failed, or the run is over: no fault of the policy's, so no outcome of the task either.
            with suppress(Exception):
                server = self.config.resources_server.name
                await self.server_client.post(
                    server_name=server, url_path="/close", json={"failed": True}, cookies=env_cookies
                )
            raise


def _detail(error: ClientResponseError) -> dict[str, str] | None:
    """What the environment's server says of a failed request; None for an answer of another server."""
    content = getattr(error, "response_content", b"")
    if not str(error.request_info.url).endswith(("/reset", "/step")) or len(content) > 16 * _REASON:
        return None
    try:
        detail = json.loads(content)["detail"]
        return {key: str(detail[key])[:_REASON] for key in ("failure_reason", "failure_kind")}
    except (ValueError, KeyError, TypeError):
        return None


# -- rows and servers ------------------------------------------------------------------------------------------


def rows(tasks: Iterable[Task], name: str, prompt: str = "") -> list[dict[str, Any]]:
    """Rows of NeMo Gym's JSONL, one a task.

    Args:
        tasks: The tasks; a row holds all of its task, proof included, which the agent does not show the model.
        name: Name of the server, by `write_servers`.
        prompt: System prompt; none if empty. The environment's first message explains the task in any case.
    """
    return [_row(row, name, prompt) for row in plain_rows.task_rows(tasks)]


def group_rows(count: int, name: str, prompt: str = "") -> list[dict[str, Any]]:
    """Rows whose tasks the curriculum of the server's pool deals, one a group; arguments as for `rows`."""
    return [_row(row, name, prompt) for row in plain_rows.group_rows(count, name=name)]


def _row(row: dict[str, Any], name: str, prompt: str) -> dict[str, Any]:
    return {
        "responses_create_params": {"input": [{"role": "system", "content": prompt}] if prompt else []},
        "agent_ref": {"type": "responses_api_agents", "name": f"{name}_agent"},
        **{key: row[key] for key in ("task", "group") if key in row},
    }


_SERVERS = {
    "resources_servers/rlanything": "TextServer",
    "responses_api_agents/rlanything_agent": "TextAgent",
}
"""Folders of the servers below that of `write_servers`, and the class of each."""
_OURS = (
    *_SERVERS,
    "environment_servers/legacy_agent",
    "responses_api_agents/gymnasium_agent",
    "responses_api_models/openai_model",
)
"""Servers that run in this environment, whose packages are all they need."""
_APP = "from rlanything_envs.adapters.nemo_gym import {0}\n\nif __name__ == '__main__':\n    {0}.run_webserver()\n"
_TASK_DATA = '''"""Fields of a row, for NeMo Gym's check of data sets: one of the three."""

from pydantic import BaseModel, ConfigDict


class TaskData(BaseModel):
    model_config = ConfigDict(extra="allow")

    task: str | None = None
    seed: int | None = None
    group: str | None = None
'''
_TEST = "import app\n\n\ndef test_the_server_can_be_imported() -> None:\n    assert app.TextServer\n"
"""For ``gym env test``."""


def write_servers(
    folder: str | Path,
    rows: Iterable[Mapping[str, Any]],
    env_id: str,
    *,
    name: str,
    max_steps: int = 1000,
    **settings: Any,
) -> Path:
    """Write the servers of an environment and its rows, for ``gym`` with this folder as its working directory.

    Several environments may share a folder. The servers run in this interpreter's environment where it is a virtual
    one: NeMo Gym then builds none of its own for them.

    Args:
        folder: The folder, made where it is missing.
        rows: Rows, by `rows` or `group_rows` with the same name.
        env_id: Id of the environment.
        name: Name of the server, the configuration and the file of rows.
        max_steps: The agent's limit on answers. The environment's own limit should end episodes before.
        settings: Other fields of `TextServerConfig`, as JSON has them; ``pool`` is a path from here.

    Returns:
        Path of the configuration, for ``--config``. It is for ``--model-type openai_model`` or another model of NeMo
        Gym's.
    """
    folder, environment = Path(folder).absolute(), Path(sys.prefix)
    needed = " ".join(str(Path.cwd()) if word == "." else word for word in shlex.split(install())[2:])
    for place, kind in _SERVERS.items():
        (folder / place).mkdir(parents=True, exist_ok=True)
        (folder / place / "app.py").write_text(_APP.format(kind), encoding="utf-8")
        (folder / place / "requirements.txt").write_text(f"{needed}\n", encoding="utf-8")
    if (environment / "bin" / "activate").exists():
        for place in _OURS:
            link = folder / "environments" / place / ".venv"
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(environment)
    server = folder / "resources_servers" / "rlanything"
    for part, text in (("task_data.py", _TASK_DATA), ("tests/test_app.py", _TEST)):
        (server / part).parent.mkdir(exist_ok=True)
        (server / part).write_text(text, encoding="utf-8")
    data, config = server / "data" / f"{name}.jsonl", folder / f"{name}.yaml"
    data.parent.mkdir(exist_ok=True)
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    config.write_text(
        yaml.safe_dump(_configuration(folder, name, data, env_id, max_steps, settings), sort_keys=False),
        encoding="utf-8",
    )
    return config


def _configuration(
    folder: Path, name: str, data: Path, env_id: str, max_steps: int, settings: Mapping[str, Any]
) -> dict[str, Any]:
    agent = f"{name}_agent"
    server: dict[str, Any] = {
        "allowed_agents": ["rlanything_agent", "gymnasium_agent"],
        "entrypoint": "app.py",
        "domain": "agent",
        "verified": False,
        "description": f"{env_id}, by RLAnything",
        "value": "Tasks with proofs; failures are never rewards",
        "env_id": env_id,
        **settings,
        **({"pool": str(Path(settings["pool"]).absolute())} if settings.get("pool") else {}),
    }
    return {
        "uv_venv_dir": str(folder / "environments"),
        "skip_venv_if_present": True,
        name: {"resources_servers": {"rlanything": server}},
        agent: {
            "responses_api_agents": {
                "rlanything_agent": {
                    "entrypoint": "app.py",
                    "resources_server": {"type": "resources_servers", "name": name},
                    "model_server": {"type": "responses_api_models", "name": "policy_model"},
                    "max_steps": max_steps,
                    "datasets": [
                        {"name": name, "type": "example", "jsonl_fpath": str(data.relative_to(folder))},
                    ],
                }
            }
        },
        f"{name}_environment_server": {
            "environment_servers": {
                "legacy_agent": {
                    "entrypoint": "app.py",
                    "agent_server": {"type": "responses_api_agents", "name": agent},
                }
            }
        },
    }
