"""``rlanything serve``: an environment or a desktop behind a port, for agents and trainers in other processes."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlanything_agents.tools.cli import options

if TYPE_CHECKING:
    from rlanything_envs.adapters.serving import Server

__all__ = ["serve"]


def serve(
    env_id: Annotated[
        str, typer.Argument(metavar="ENV_ID", help="Id of an environment, such as RLAnything/AlfWorld-v0, or desktop.")
    ],
    env: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="KEY=VALUE", help="Environment or desktop argument, such as backend=bwrap."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; any but loopback needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for a free one.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(envvar="RLANYTHING_TOKEN", help="Bearer token that clients must send, at least 16 characters."),
    ] = None,
    max_sessions: Annotated[int, typer.Option(min=1, help="Maximum number of sessions at a time.")] = 8,
    idle_seconds: Annotated[float, typer.Option(help="Close a session after this many idle seconds.")] = 600.0,
    tools: Annotated[
        bool, typer.Option("--tools", help="Serve typed tool calls over OpenEnv instead of texts, and over /mcp.")
    ] = False,
    mcp: Annotated[
        bool, typer.Option("--mcp", help="Serve typed tools over the Model Context Protocol instead, at /mcp.")
    ] = False,
    stdio: Annotated[
        bool, typer.Option("--stdio", help="With --mcp: use standard input and output, for one client.")
    ] = False,
) -> None:
    """Serve an environment until interrupted: over OpenEnv's protocol, or with --mcp over the Model Context Protocol.

    Each session, a WebSocket at /ws or a session of MCP, has its own environment. Needs the package openenv, or
    for --mcp the extra mcp. With desktop, it starts a desktop and serves OSWorld's guest protocol.
    """
    from rlanything_agents.config.load import ConfigError

    arguments = options.key_values(env, "--env")
    if env_id == "desktop":
        if mcp or tools or stdio or host != "127.0.0.1":
            raise ConfigError("a desktop is served on the loopback interface: leave out all but --env, --port, --token")
        _serve_desktop(arguments, port, token)
        return
    settings: dict[str, Any] = {"host": host, "port": port, "token": token, "max_sessions": max_sessions}
    if mine := sorted(arguments.keys() & {*settings, "idle_seconds", "max_message_bytes", "tools"}):
        raise ConfigError(f"--env {mine[0]}: this is a setting of the server, not of the environment")
    if (stdio and not mcp) or (tools and mcp):
        raise ConfigError("--stdio goes with --mcp, and --tools without it")
    if stdio:
        from rlanything_envs.adapters.mcp import serve_stdio

        serve_stdio(env_id, **arguments)
        return
    server = _server(env_id, mcp, tools, {**settings, "idle_seconds": idle_seconds}, arguments)
    with server:
        place = f"{server.url}/mcp" if mcp else server.url
        typer.echo(f"{env_id} at {place}" + ("" if token is None else ", with a token"))
        _until_ended()


def _serve_desktop(settings: dict[str, Any], port: int, token: str | None) -> None:
    from rlanything_envs.osworld.desktop import make_desktop
    from rlanything_envs.osworld.desktop.serve import Relay

    backend = settings.pop("backend", "bwrap")
    with make_desktop(backend, **settings) as machine, Relay(machine.client, port, token) as relay:
        typer.echo(f"{relay.url}  token {relay.token}")
        _until_ended()


def _until_ended() -> None:
    done = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: done.set())
    try:
        done.wait()
    except KeyboardInterrupt:
        typer.echo("ended")


def _server(env_id: str, mcp: bool, tools: bool, settings: dict[str, Any], arguments: dict[str, Any]) -> Server:
    if mcp:
        from rlanything_envs.adapters.mcp import create_mcp_server

        return create_mcp_server(env_id, **settings, **arguments)
    from rlanything_envs.adapters.openenv import create_server

    return create_server(env_id, **settings, tools=tools, **arguments)
