"""A server of text environments that speaks OpenEnv's protocol."""

from __future__ import annotations

import ipaddress
import math
from typing import Any

import gymnasium as gym

from rlanything_envs.adapters.openenv.guard import Guard
from rlanything_envs.adapters.openenv.messages import TextAction, TextObservation, TextState
from rlanything_envs.adapters.openenv.port import Server, ServerSettingError
from rlanything_envs.conversation import Conversation

__all__ = ["create_server"]


def create_server(
    env_id: str,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    max_sessions: int = 8,
    idle_seconds: float = 600.0,
    max_message_bytes: int = 4_000_000,
    **arguments: Any,
) -> Server:
    """A server of one environment: each WebSocket is a session with an environment of its own.

    Over HTTP there are ``/health``, ``/metadata`` and ``/schema``. A client beyond the last session gets an error with
    OpenEnv's code ``CAPACITY_REACHED``. The session of a client that disconnects or stays idle is closed.

    Args:
        env_id: Id of a registered environment.
        host: Address to listen on; anything but loopback needs a token.
        port: Port to listen on; 0 for any free port.
        token: Bearer token that clients must send. The connection itself is not encrypted: beyond a trusted network,
            put a TLS proxy in front.
        max_sessions: Most concurrent sessions.
        idle_seconds: Idle time after which a session is closed.
        max_message_bytes: Longest message of a client in bytes.
        arguments: Arguments of `gymnasium.make`.

    Raises:
        ServerSettingError: A setting is out of range.
        MissingExtra: OpenEnv is not installed.
    """
    from openenv.core.env_server.http_server import create_fastapi_app

    from rlanything_envs.adapters.openenv.session import Session

    _check(host, token, max_sessions, idle_seconds, max_message_bytes)
    try:
        Conversation(env_id, **arguments).close()  # fail now and not at the first reset
    except (gym.error.Error, TypeError) as error:  # no such environment, no such argument
        raise ServerSettingError(f"{env_id!r:.80} cannot be made: {error}") from error
    app = create_fastapi_app(
        lambda: Session(lambda: Conversation(env_id, **arguments), env_id),
        TextAction,
        TextObservation,
        max_concurrent_envs=max_sessions,
        state_cls=TextState,
    )
    return Server(Guard(app, token, idle_seconds, max_message_bytes), host, port, max_message_bytes)


def _check(host: str, token: str | None, max_sessions: int, idle_seconds: float, max_message_bytes: int) -> None:
    if token is None and not _is_loopback(host):
        raise ServerSettingError(f"host {host!r} can be reached from elsewhere: give a token, or serve on 127.0.0.1")
    if token is not None and (not token.isascii() or not token.isprintable() or len(token) < 16 or " " in token):
        raise ServerSettingError("a token has at least 16 printable ASCII characters and no blanks")
    if isinstance(max_sessions, bool) or not isinstance(max_sessions, int) or max_sessions < 1:
        raise ServerSettingError(f"max_sessions = {max_sessions!r}: give an integer from 1")
    if not 0 < idle_seconds < math.inf:
        raise ServerSettingError(f"idle_seconds = {idle_seconds!r}: give a positive number of seconds")
    if max_message_bytes < 1:
        raise ServerSettingError(f"max_message_bytes = {max_message_bytes!r}: give a positive number")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False  # a host name may resolve to any address
