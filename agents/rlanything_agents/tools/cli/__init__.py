"""The ``rlanything`` command. Options come in; tables or JSON, and an exit code, go out. There is one file per
subcommand, whose heavy imports happen when it is called.

- `init`, `train`, `view`, `pool`, `pool_views`, `export`, `doctor`: runs and their pools.
- `benchmark`, `compare`, `reverify`, `audit`, `play`, `serve`, `desktop`: agents, environments and desktops.
- `options`, `output`: parts that subcommands share.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from rlanything_agents.tools.cli import desktop, pool
from rlanything_agents.tools.cli.audit import audit
from rlanything_agents.tools.cli.benchmark import benchmark
from rlanything_agents.tools.cli.compare import compare
from rlanything_agents.tools.cli.doctor import doctor
from rlanything_agents.tools.cli.export import export
from rlanything_agents.tools.cli.init import init
from rlanything_agents.tools.cli.output import plain_errors
from rlanything_agents.tools.cli.play import play
from rlanything_agents.tools.cli.reverify import reverify
from rlanything_agents.tools.cli.serve import serve
from rlanything_agents.tools.cli.train import train
from rlanything_agents.tools.cli.view import view

__all__ = ["app", "main"]

EXIT_CODES = (
    "Exit codes: 0 done; 1 a check failed; 2 bad input; 75 a disk or a service failed, and the same command resumes; "
    "130 interrupted; 143 terminated."
)

COMMANDS: tuple[Callable[..., Any], ...] = (
    init,
    train,
    benchmark,
    compare,
    reverify,
    audit,
    play,
    doctor,
    export,
    serve,
    view,
)
GROUPS: dict[str, typer.Typer] = {"desktop": desktop.app, "pool": pool.app}


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rlanything-envs {version('rlanything-envs')}")
        raise typer.Exit


class _Commands(TyperGroup):
    """All commands: one place turns errors into a line and an exit code."""

    def make_context(self, *arguments: Any, **more: Any) -> Any:
        """Parse the options before the command."""
        with plain_errors():
            return super().make_context(*arguments, **more)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with plain_errors():
            found = super().invoke(ctx)
            sys.stdout.flush()  # it may be a file, too
            return found


app = typer.Typer(cls=_Commands, no_args_is_help=True, pretty_exceptions_enable=False, epilog=EXIT_CODES)
for _command in COMMANDS:
    app.command(epilog=EXIT_CODES)(_command)
for _name, _group in GROUPS.items():
    for _info in _group.registered_commands:
        _info.epilog = EXIT_CODES
    app.add_typer(_group, name=_name, epilog=EXIT_CODES)


@app.callback()
def rlanything(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Train and study language agents on tasks that adapt to them."""


def main() -> None:
    """Entry point of the console script."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115
    app()
