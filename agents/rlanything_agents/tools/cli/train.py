"""``rlanything train``."""

from __future__ import annotations

import os
import shlex
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rlanything_agents.tools.cli import options
from rlanything_agents.tools.cli.options import Changes
from rlanything_agents.tools.cli.output import AsJson, plain_errors, print_json, resumable

if TYPE_CHECKING:
    from rlanything_agents.config import RunConfig
    from rlanything_agents.runs.folder import RunFolder

__all__ = ["spin_little", "train"]


def train(
    config: Annotated[Path, typer.Argument(help="Run file (YAML).")],
    override: Changes = None,
    out: Annotated[Path | None, typer.Option(help="Run folder. Default: runs/NAME.")] = None,
    restart: Annotated[bool, typer.Option(help="Delete the run of this name and start over.")] = False,
    tracker: Annotated[
        list[str] | None,
        typer.Option(help="Also log to trackio, tensorboard or wandb. Repeatable.", autocompletion=options.trackers),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of Ray workers; the same as --set workers.number=N.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Validate the run and print a plan without starting it.")
    ] = False,
    pilot: Annotated[bool, typer.Option(help="With --dry-run: play a pilot to estimate the time.")] = True,
    as_json: AsJson = False,
) -> None:
    """Train a policy and a reward model on tasks that adapt.

    The same command resumes an interrupted run from its last checkpoint.
    """
    from rich.console import Console

    from rlanything_agents.config import load_config
    from rlanything_agents.runs.folder import RunFolder
    from rlanything_agents.runs.preflight import preflight
    from rlanything_agents.runs.progress import Reporter
    from rlanything_agents.training.ranks.launch import launched, must_be_trainable
    from rlanything_task_pools import MissingExtra
    from rlanything_verifiers.installed import install

    process = launched()
    restart = restart and not process.restart  # processes that a launcher starts again go on
    with _ending_at_once(process.size), plain_errors():
        if process.number:
            raise typer.Exit(0 if dry_run else _follow())
        watching = [f"trackers=[{', '.join(tracker)}]"] if tracker else []
        playing = [f"workers.number={workers}"] if workers else []
        settings = load_config(config, [*(override or ()), *watching, *playing])
        folder = RunFolder(out or Path("runs") / settings.name)
        spin_little()
        if find_spec("trl") is None:
            raise MissingExtra(f"training needs PyTorch, Transformers and TRL: {install('train')}")
        if dry_run:
            raise typer.Exit(0 if _dry_run(settings, folder, as_json, pilot) else 1)
        must_be_trainable(settings, process)
        preflight(settings, folder, restart=restart)
        if restart:
            folder.delete()
        reporter = Reporter(Console(stderr=True)) if as_json else Reporter()
        reporter.say(_header(settings, folder))
        from rlanything_agents.runs.train import train as run
        from rlanything_agents.training.ranks.channel import Ranks

        with resumable(folder.path):
            ranks = Ranks.join() if process.size > 1 else None
            summary = run(settings, folder, reporter, command=shlex.join(["rlanything", *sys.argv[1:]]), ranks=ranks)
        if as_json:
            print_json(summary)


def spin_little() -> None:
    """Let a waiting OpenMP thread sleep soon; called before torch is loaded.

    By default it spins so long that threads take the cores from each other as soon as anything else runs here; without
    spinning a small model on two idle cores is 1.4 to 2 times slower. This many rounds cost neither.
    """
    os.environ.setdefault("GOMP_SPINCOUNT", "6000")


def _header(settings: RunConfig, folder: RunFolder) -> str:
    """Headline of the run, shown while PyTorch is loaded."""
    return (
        f"Run {settings.name} ({settings.domain}, seed {settings.seed}) in {folder.path}\n"
        f"Stages: warm start, evaluation, {settings.iterations} iterations of the closed loop, evaluation, report\n"
        "The first iteration tells how many minutes are left; --dry-run estimates them beforehand.\n"
        "Loading PyTorch, Transformers and TRL ..."
    )


def _follow() -> int:
    """Train as a following process; returns the exit code."""
    spin_little()
    from rlanything_agents.runs.follow import follow

    return follow()


@contextmanager
def _ending_at_once(processes: int) -> Iterator[None]:
    """End one of several training processes after the block, without the interpreter's own shutdown.

    The threads of PyTorch's gloo abort in about one of eight interpreter shutdowns, and a leading process that fails
    must not wait for the others, which wait for it.
    """
    if processes == 1:
        yield
        return
    code = 1
    try:
        yield
        code = 0
    except typer.Exit as ended:
        code = ended.exit_code
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _dry_run(settings: RunConfig, folder: RunFolder, as_json: bool, pilot: bool) -> bool:
    """Print the obstacles, the memory and the time of a run; returns whether there is no obstacle."""
    from rlanything_agents.tools.cli.doctor import findings_tree, show_findings
    from rlanything_agents.tools.planning.checks import dry_run

    findings = dry_run(settings, folder)
    if as_json:
        tree = findings_tree(findings)
        print_json({**tree, "time": _time(settings) if tree["healthy"] and pilot else None})
        return bool(tree["healthy"])
    if (healthy := show_findings(findings, as_json=False)) and pilot:
        typer.echo("Running a pilot to estimate the time, which takes minutes with a pretrained model ...")
        typer.echo(f"Time: {_time(settings)}")
    return healthy


def _time(settings: RunConfig) -> str:
    from rlanything_agents.tools.planning.memory import NotEstimated
    from rlanything_agents.tools.planning.pilot import estimate

    try:
        return f"{estimate(settings)}, from a pilot on this machine as busy as it is now"
    except NotEstimated as error:
        return f"not estimated: {error}"
