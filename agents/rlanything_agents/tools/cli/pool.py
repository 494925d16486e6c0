"""``rlanything pool``: the tasks of a run, also while it is running."""

from __future__ import annotations

import shlex
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rlanything_agents.runs.storage import failing_disk
from rlanything_agents.tools.cli import options
from rlanything_agents.tools.cli.output import AsLines, error_console, print_lines, resumable
from rlanything_agents.tools.cli.train import spin_little
from rlanything_verifiers.plain_text import printable

if TYPE_CHECKING:
    from rlanything_task_pools import TaskPool

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Inspect the tasks of a run, even while it is running.")

PoolPath = Annotated[Path, typer.Argument(metavar="POOL", help="Pool file or run folder.")]


Table = Literal["jsonl", "parquet"]

BAND = (0.2, 0.8)
"""Success rates of the histogram's middle: a curriculum's default band."""


@app.command()
def show(
    path: PoolPath,
    log: Annotated[
        bool, typer.Option("--log", help="List events instead: proposed, accepted, rejected, discarded; with reasons.")
    ] = False,
    last: Annotated[int, typer.Option(min=1, help="With --log: number of latest events.")] = 50,
    as_json: AsLines = False,
) -> None:
    """List the slots: task, depth of rewriting, success rate."""
    with _opened(path) as pool:
        from rlanything_agents.tools.cli import pool_views

        if log:
            events = pool.events()[-last:]
            if as_json:
                print_lines(pool_views.event_rows(events))
            else:
                pool_views.print_events(events)
            return
        rows = pool_views.slot_rows(pool)
        if as_json:
            print_lines(rows)
            return
        pool_views.print_slots(pool, rows)


@app.command()
def lineage(
    path: PoolPath,
    which: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SLOT|TASK]...", help="Slot numbers or task ids. Default: all rewritten slots."),
    ] = None,
    as_json: AsLines = False,
) -> None:
    """Show the lineage of each root: a tree with the text diff, the success rates and the critique of each edge."""
    with _opened(path) as pool:
        from rlanything_agents.tools.cli import pool_views

        if as_json:
            print_lines(pool_views.lineage_rows(pool, which or []))
            return
        pool_views.print_lineages(pool, which or [])


@app.command()
def export(
    path: PoolPath,
    out: Annotated[Path, typer.Option(help="A new folder.")],
    format: Annotated[Table, typer.Option(help="JSON Lines or Parquet.")] = "jsonl",
    between: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Only active tasks whose success rate is within these bounds, each as a root."),
    ] = None,
) -> None:
    """Write tasks, lineage, outcomes and events to a folder."""
    with _opened(path) as pool:
        from rlanything_task_pools.export import cut_pool, export_pool

        chosen = pool if between is None else cut_pool(pool, *between)
        export_pool(chosen, out, format)
        typer.echo(f"{out}: {_counted(chosen.counts())}")


@app.command()
def profile(
    path: PoolPath,
    agent: options.Agent,
    rollouts: Annotated[int, typer.Option(min=2, help="Episodes per task.")] = 8,
    seed: Annotated[int, typer.Option(min=0, help="Seed; another one makes another profile.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results; by default one in runs/profiles for these tasks.")
    ] = None,
    workers: options.Parallel = None,
    env: options.EnvironmentArguments = None,
    base_url: options.BaseUrl = None,
    key_env: options.KeyEnv = None,
    max_tokens: options.MaxTokens = None,
    temperature: options.Temperature = None,
) -> None:
    """Play each active task several times, and write the outcomes into the pool: what is too easy, what too hard.

    The same command resumes after an interruption. `rlanything pool export POOL --between 0.2 0.8` writes the tasks in
    between.
    """
    spin_little()
    from rlanything_agents.runs.progress import Reporter
    from rlanything_agents.tools.benchmark.profile import active_panel, profile_pool
    from rlanything_agents.tools.cli import pool_views
    from rlanything_agents.tools.cli.benchmark import chat_settings, must_be_complete, slug

    chat = chat_settings(base_url=base_url, key_env=key_env, max_tokens=max_tokens, temperature=temperature)
    with _opened(path) as pool:
        panel = active_panel(pool)
        folder = out or Path("runs/profiles") / panel.hash / slug(f"{agent}-{rollouts}-{seed}")
        with resumable(folder):
            summary = profile_pool(
                pool,
                panel,
                agent,
                folder,
                rollouts=rollouts,
                seed=seed,
                environment=options.key_values(env, "--env"),
                chat=chat,
                workers=workers,
                reporter=Reporter(error_console()),
                command=shlex.join(["rlanything", *sys.argv[1:]]),
            )
        must_be_complete(summary)
        pool_views.print_profile(pool, BAND)


@app.command("import")
def import_(
    folder: Annotated[Path, typer.Argument(help="Folder written by `rlanything pool export`.")],
    path: Annotated[Path, typer.Argument(metavar="POOL", help="New pool file.")],
    replay: Annotated[bool, typer.Option(help="Replay the proof of every task before accepting it.")] = True,
    domain: Annotated[
        str | None,
        typer.Option(help="Import tasks of this domain instead: coding problems, ALFWorld games, OSWorld task files."),
    ] = None,
) -> None:
    """Import an exported pool and validate every task; with --domain, import a file or folder of tasks."""
    if domain is None:
        from rlanything_task_pools.export import import_pool

        with import_pool(folder, path, replay=replay) as pool:
            typer.echo(f"{path}: {_counted(pool.counts())}")
        return
    from rlanything_task_pools.collection import import_collection

    pool, refused = import_collection(domain, str(folder), path, replay=replay)
    with pool:
        for place, reason in refused.items():
            typer.echo(f"left out: {printable(place)}: {printable(reason)}", err=True)
        typer.echo(f"{path}: {_counted(pool.counts())}")


@app.command()
def verify(
    path: PoolPath,
    replay: Annotated[bool, typer.Option(help="Replay the proof of every task.")] = True,
    as_json: AsLines = False,
) -> None:
    """Check the file, every task (id and proof) and the log. Exits with 1 if something is wrong."""
    with _opened(path) as pool:
        from rlanything_task_pools.verify import verify_pool

        problems = list(verify_pool(pool, replay=replay))
        if as_json:
            print_lines([{"where": problem.where, "what": problem.what} for problem in problems])
        else:
            for problem in problems:
                typer.echo(f"{printable(problem.where)}: {printable(problem.what)}")
            if problems:
                typer.echo(f"{path}: {len(problems)} problem(s)")
            else:
                typer.echo(f"{path}: sound ({_counted(pool.counts())})")
        if problems:
            raise typer.Exit(1)


@app.command()
def metrics(path: PoolPath, as_json: AsLines = False) -> None:
    """Show the curriculum over time: accepted, rejected by reason, share in the band, drift, diversity, duplicates."""
    with _opened(path) as pool:
        from rlanything_agents.tools.cli import pool_views
        from rlanything_envs.curriculum.monitor import curriculum_metrics

        rows = curriculum_metrics(pool, every=pool_views.rows_of(pool))
        if as_json:
            print_lines([row.to_dict() for row in rows])
        else:
            pool_views.print_metrics(rows)


@contextmanager
def _opened(path: Path) -> Iterator[TaskPool]:
    """Open the pool of a file or of a run folder; errors of the package and of SQLite are printed as one line."""
    from rlanything_task_pools import TaskPool

    try:
        with TaskPool.open(path) as pool:
            yield pool
    except sqlite3.DatabaseError as error:
        if failing_disk(error):
            raise
        typer.echo(f"error: {path}: {error}; `rlanything pool verify` tells what is broken", err=True)
        raise typer.Exit(2) from None


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{counts[name]} {name}" for name in ("slots", "tasks", "outcomes", "accepted", "rejected"))
