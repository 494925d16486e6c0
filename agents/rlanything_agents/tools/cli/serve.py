"""``rlanything serve``: an environment behind a port, for agents and trainers in other processes."""

from __future__ import annotations

import signal
import threading
from typing import Annotated, Any

import typer

from rlanything_agents.tools.cli.errors import plain_errors

__all__ = ["serve"]


def serve(
    env_id: Annotated[str, typer.Argument(metavar="ENV_ID", help="A registered environment: RLAnything/AlfWorld-v0.")],
    env: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="KEY=VALUE", help="Argument of the environment: backend=simulator."),
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen; anything but loopback needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0: any free port.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(envvar="RLANYTHING_TOKEN", help="Bearer token that clients have to show, at least 16 characters."),
    ] = None,
    max_sessions: Annotated[int, typer.Option(min=1, help="How many sessions there may be at a time.")] = 8,
    idle_seconds: Annotated[float, typer.Option(help="A session that is silent for so long is ended.")] = 600.0,
) -> None:
    """Serve an environment over OpenEnv's protocol until interrupted: each WebSocket at /ws is a session of its own.

    Needs the package openenv.
    """
    with plain_errors():
        from rlanything_agents.tools.cli.options import OptionError, key_values
        from rlanything_envs.adapters.openenv import create_server

        arguments = key_values(env, "--env")
        settings: dict[str, Any] = {"host": host, "port": port, "token": token, "max_sessions": max_sessions}
        if mine := sorted(arguments.keys() & {*settings, "idle_seconds", "max_message_bytes"}):
            raise OptionError(f"--env {mine[0]}: this is a setting of the server, not of the environment")
        with create_server(env_id, **settings, idle_seconds=idle_seconds, **arguments) as server:
            typer.echo(f"{env_id} at {server.url}" + ("" if token is None else ", with a token"))
            done = threading.Event()
            signal.signal(signal.SIGTERM, lambda *_: done.set())
            try:
                done.wait()
            except KeyboardInterrupt:
                typer.echo("ended")
