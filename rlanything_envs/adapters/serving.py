"""What servers of environments share: a port of this process, settings, access, and errors for clients."""

from __future__ import annotations

import hmac
import ipaddress
import json
import math
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping
from threading import Thread
from typing import Any, Self, TypeVar

import gymnasium as gym

from rlanything_envs.adapters.connections import WAITING, connection_class
from rlanything_envs.conversation import Conversation, Turn
from rlanything_envs.errors import InfrastructureError, SettingError, UnknownTask
from rlanything_envs.sources import is_task_id

__all__ = ["UNEXPECTED", "App", "BoundedBodies", "Message", "Receive", "Scope", "Send", "Server", "answer"]
__all__ += ["check_request", "check_settings", "client_error", "make", "outcome_of", "refusal"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
C = TypeVar("C", bound=Conversation)

_STARTING_S = 30
_CONNECTIONS = 64
_ENDING_S = 10

UNEXPECTED = "InternalError: the server's log says what failed; the episode counts for nothing"
"""What a client reads of an error that `client_error` does not tell."""


class Server:
    """Serves an application on a port inside a ``with`` block.

    Args:
        app: The ASGI application, which another server can run as well (`uvicorn.run(server.app)`).
        host: Address to listen on.
        port: Port to listen on; 0 for any free port.
        max_message_bytes: Longest message of a client in bytes.
        max_sessions: Maximum concurrent sessions, each of which may have several connections.

    Attributes:
        app: As given.
    """

    def __init__(self, app: App, host: str, port: int, max_message_bytes: int, max_sessions: int) -> None:
        import uvicorn

        self.app = app
        self._address = host, port
        self._socket: socket.socket | None = None
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_level="warning",
                http=connection_class(max(_CONNECTIONS, 4 * max_sessions)),
                backlog=WAITING,  # so many are accepted before the first is looked at
                ws_max_size=max_message_bytes,
                ws_ping_interval=20.0,  # a peer that vanished is detected after 40 seconds
                ws_ping_timeout=20.0,
                timeout_graceful_shutdown=_ENDING_S // 2,
                lifespan="on",
            )
        )
        self._thread = Thread(target=self._run, name="rlanything-server", daemon=True)

    @property
    def url(self) -> str:
        """Address of the running server, ``http://HOST:PORT``.

        Raises:
            RuntimeError: The server is not running.
        """
        if self._socket is None:
            raise RuntimeError("the server is not open: use it in a with block")
        host, port = self._socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def __enter__(self) -> Self:
        host, port = self._address
        try:
            family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            self._socket = socket.create_server((host, port), family=family)
        except OSError as error:
            raise SettingError(f"cannot serve at {host}, port {port}: {error}") from error
        self._thread.start()
        for _ in range(_STARTING_S * 100):
            if self._server.started or not self._thread.is_alive():
                break
            self._thread.join(0.01)
        if not self._server.started:
            self._socket.close()
            raise InfrastructureError("the server did not start; its log says why")
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(_ENDING_S)
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _run(self) -> None:
        self._server.run(sockets=[self._socket] if self._socket is not None else None)


def check_settings(
    host: str, token: str | None, max_sessions: int, idle_seconds: float, max_message_bytes: int
) -> None:
    """Check the settings of a server.

    Raises:
        SettingError: One is out of range.
    """
    if token is None and not _is_loopback(host):
        raise SettingError(f"host {host!r} can be reached from elsewhere: give a token, or serve on 127.0.0.1")
    if token is not None and (not token.isascii() or not token.isprintable() or len(token) < 16 or " " in token):
        raise SettingError("a token has at least 16 printable ASCII characters and no blanks")
    if isinstance(max_sessions, bool) or not isinstance(max_sessions, int) or max_sessions < 1:
        raise SettingError(f"max_sessions = {max_sessions!r}: give an integer from 1")
    if not 0 < idle_seconds < math.inf:
        raise SettingError(f"idle_seconds = {idle_seconds!r}: give a positive number of seconds")
    if max_message_bytes < 1:
        raise SettingError(f"max_message_bytes = {max_message_bytes!r}: give a positive number")


def make(kind: type[C], env_id: str, arguments: Mapping[str, Any]) -> C:
    """Make the environment of a server.

    Raises:
        SettingError: There is no such environment, or no such argument.
    """
    try:
        return kind(env_id, **arguments)
    except (gym.error.Error, TypeError, SettingError) as error:
        raise SettingError(f"{env_id!r:.80} cannot be made: {error}") from error


def check_request(conversation: Conversation, task: object, seed: object) -> None:
    """Check a client's request to begin an episode.

    Raises:
        ValueError: The seed is not an integer from 0.
        UnknownTask: The task is neither an id nor a JSON object. An environment may accept paths, too; a client must
            not name files of the server.
    """
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise ValueError(f"seed = {seed!r:.80}: give an integer from 0")
    domain = getattr(conversation.env.unwrapped, "domain", r"\w+")
    if isinstance(task, str) and not is_task_id(task, domain):
        raise UnknownTask(f"task {task!r:.80} is not an id of a task; give an id or a task's JSON object")


def outcome_of(turn: Turn) -> int | None:
    """1 or -1 for a finished episode, whose task was solved or not; else None."""
    outcome = turn.info.get("outcome")
    return None if outcome is None else int(outcome)


def client_error(error: Exception) -> str | None:
    """An error that is part of the interface, for the client; None for any other, which only the log may name.

    A client may be a model. An error that nobody expected may quote what the machinery held, hidden tests too, and so
    does the infrastructure failure that it became.
    """
    if isinstance(error, InfrastructureError) and error.__cause__ is not None and not _is_ours(error.__cause__):
        return None
    meant = _is_ours(error) or isinstance(error, ValueError | gym.error.ResetNeeded)
    return f"{type(error).__name__}: {error}" if meant else None


def _is_ours(error: BaseException) -> bool:
    return type(error).__module__.startswith("rlanything_")


def refusal(scope: Scope, token: str | None) -> tuple[int, str] | None:
    """Status and reason of a refused connection; None where it is admitted.

    Args:
        scope: Of an ASGI application.
        token: Bearer token that clients must send; None for open access.
    """
    headers = {name: value for name, value in scope["headers"] if name in (b"authorization", b"origin")}
    if token is None:
        # A page in a browser on this machine can reach loopback, and always sends its origin.
        return (403, "web pages need a server with a token") if b"origin" in headers else None
    given = headers.get(b"authorization", b"")
    if hmac.compare_digest(given, f"Bearer {token}".encode()):
        return None
    return 401, "give this server's token: Authorization: Bearer TOKEN"


class BoundedBodies:
    """ASGI middleware that reads each request's body first, and refuses one that is too long.

    Args:
        app: What answers the requests.
        most: Longest body in bytes.
        free: Paths of requests of any length.
    """

    def __init__(self, app: App, most: int, free: Collection[str] = ()) -> None:
        self._app, self._most, self._free = app, most, free

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        if scope["type"] != "http" or scope["path"] in self._free:
            return await self._app(scope, receive, send)
        parts: list[bytes] = []
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return None
            parts.append(message.get("body", b""))
            size, more = size + len(parts[-1]), message.get("more_body", False)
            if size > self._most:
                return await answer(send, 413, f"a request of more than {self._most} bytes")

        async def whole() -> Message:
            return {"type": "http.request", "body": parts.pop(), "more_body": False} if parts else await receive()

        parts = [b"".join(parts)]
        return await self._app(scope, whole, send)


async def answer(send: Send, status: int, reason: str) -> None:
    """Send a response with a reason as JSON."""
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps({"detail": reason}).encode()})


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False  # a host name may resolve to any address
