"""``rlanything train``."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from rlanything_agents.cli import completion
from rlanything_agents.cli.errors import plain_errors
from rlanything_agents.cli.output import AsJson, print_json

__all__ = ["train"]


def train(
    config: Annotated[Path, typer.Option(help="YAML file of the run.")],
    override: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change one key: rollout.tasks=8.",
            autocompletion=completion.config_keys,
        ),
    ] = None,
    runs: Annotated[Path, typer.Option(help="Where run folders go.")] = Path("runs"),
    restart: Annotated[bool, typer.Option(help="Delete the run of this name and begin again.")] = False,
    tracker: Annotated[
        list[str] | None,
        typer.Option(
            help="Show the curves in trackio, tensorboard or wandb too; may be repeated.",
            autocompletion=completion.trackers,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run the closed loop: policy, reward model and tasks learn together.

    The same command continues an interrupted run from its last checkpoint.
    """
    from rich.console import Console

    from rlanything_agents.config import load_config
    from rlanything_agents.progress import Reporter
    from rlanything_agents.run_folder import RunFolder

    with plain_errors():
        watching = [f"trackers=[{', '.join(tracker)}]"] if tracker else []
        settings = load_config(config, [*(override or ()), *watching])
        folder = RunFolder(runs / settings.name)
        if restart:
            folder.delete()
        # An OpenMP thread spins before it sleeps. By default it spins so long that threads take the cores from each
        # other as soon as anything else runs here; without spinning a small model on two idle cores is 1.4 to 2 times
        # slower. This many rounds cost neither. It must be set before torch loads.
        os.environ.setdefault("GOMP_SPINCOUNT", "6000")
        from rlanything_agents.train import train as run  # torch and TRL: seconds, so not before the settings hold

        try:
            reporter = Reporter(Console(stderr=True)) if as_json else Reporter()
            summary = run(settings, folder, reporter, command=shlex.join(["rlanything", *sys.argv[1:]]))
        except KeyboardInterrupt:
            typer.echo(f"\ninterrupted ({folder.path}): the same command goes on from the last checkpoint", err=True)
            raise typer.Exit(130) from None
    if as_json:
        print_json(summary)
