"""The ``rlanything`` command: one file a subcommand, each light until it is called."""

from __future__ import annotations

import typer

from rlanything_agents.cli import curriculum, desktop, pool, study
from rlanything_agents.cli.train import train

__all__ = ["app", "main"]

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
app.command()(train)
app.add_typer(curriculum.app, name="curriculum")
app.add_typer(desktop.app, name="desktop")
app.add_typer(pool.app, name="pool")
app.add_typer(study.app, name="study")


@app.callback()
def rlanything() -> None:
    """Train and study language agents on tasks that adapt to them."""


def main() -> None:
    """Entry point of the console script."""
    app()
