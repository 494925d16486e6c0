"""A server of text environments that speaks OpenEnv's protocol."""

from __future__ import annotations

from typing import Any

from rlanything_envs.adapters.openenv.guard import Guard
from rlanything_envs.adapters.openenv.messages import TextAction, TextObservation, TextState
from rlanything_envs.adapters.serving import Server, check_settings, make
from rlanything_envs.conversation import Conversation, ToolConversation

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
    tools: bool = False,
    **arguments: Any,
) -> Server:
    """A server of one environment: each WebSocket is a session with its own environment.

    Over HTTP there are ``/health``, ``/metadata`` and ``/schema``. A client beyond the last session gets an error with
    OpenEnv's code ``CAPACITY_REACHED``. The session of a client that disconnects or stays idle is closed.

    Args:
        env_id: Id of a registered environment.
        host: Address to listen on; anything but loopback needs a token.
        port: Port to listen on; 0 for any free port.
        token: Bearer token that clients must send. The connection itself is not encrypted: beyond a trusted network,
            put a TLS proxy in front.
        max_sessions: Maximum concurrent sessions.
        idle_seconds: Idle time after which a session is closed.
        max_message_bytes: Longest message of a client in bytes.
        tools: Whether actions are tool calls (OpenEnv's ``CallToolAction``), which ``/mcp`` takes as well, instead of
            texts.
        arguments: Arguments of `gymnasium.make`.

    Raises:
        SettingError: A setting is out of range.
        MissingExtra: OpenEnv is not installed.
    """
    from fastapi import FastAPI
    from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
    from openenv.core.env_server.types import ConcurrencyConfig

    from rlanything_envs.adapters.openenv.session import Session, Sessions, ToolSession

    check_settings(host, token, max_sessions, idle_seconds, max_message_bytes)
    kind = ToolConversation if tools else Conversation
    make(kind, env_id, arguments).close()  # fail now and not at the first reset
    session = ToolSession if tools else Session
    sessions = Sessions(
        lambda: session(lambda: kind(env_id, **arguments), env_id),
        CallToolAction if tools else TextAction,
        CallToolObservation if tools else TextObservation,
        concurrency_config=ConcurrencyConfig(
            max_concurrent_envs=max_sessions, session_timeout=idle_seconds if tools else None
        ),
        state_cls=TextState,
        reset_observation_cls=TextObservation,
    )
    sessions.register_routes(app := FastAPI())
    guard = Guard(app, token, idle_seconds, max_message_bytes, tools)
    return Server(guard, host, port, max_message_bytes, max_sessions)
