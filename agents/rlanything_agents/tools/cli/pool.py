"""``rlanything pool``: the tasks of a run, also while it is running."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rlanything_agents.runs.storage import failing_disk
from rlanything_agents.tools.cli.output import AsLines, print_lines

if TYPE_CHECKING:
    from rlanything_task_pools import TaskPool

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Look into the tasks of a run, also while it goes on.")

PoolPath = Annotated[Path, typer.Argument(metavar="POOL", help="A pool's file, or the folder of a run.")]


Table = Literal["jsonl", "parquet"]


@app.command()
def show(
    path: PoolPath,
    log: Annotated[
        bool,
        typer.Option("--log", help="List what was proposed, accepted, rejected and discarded, with reasons, instead."),
    ] = False,
    last: Annotated[int, typer.Option(min=1, help="With --log: the latest N events.")] = 50,
    as_json: AsLines = False,
) -> None:
    """List the slots: the task of each, its depth of rewriting, its success rate."""
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
        typer.Argument(metavar="[SLOT|TASK]...", help="Slots by number or tasks by id; else all rewritten slots."),
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
) -> None:
    """Write tasks, lineage, outcomes and events to a folder."""
    with _opened(path) as pool:
        from rlanything_task_pools.export import export_pool

        export_pool(pool, out, format)
        typer.echo(f"{out}: {_counted(pool.counts())}")


@app.command("import")
def import_(
    folder: Annotated[Path, typer.Argument(help="What `rlanything pool export` wrote.")],
    path: Annotated[Path, typer.Argument(metavar="POOL", help="The new pool's file.")],
    replay: Annotated[bool, typer.Option(help="Play the proof of every task before it is believed.")] = True,
    domain: Annotated[
        str | None,
        typer.Option(help="FOLDER holds tasks of this domain instead: coding problems, ALFWorld's or OSWorld's tasks."),
    ] = None,
) -> None:
    """Make a pool of an exported one, every task validated; or with --domain, of the tasks of a file or folder."""
    if domain is None:
        from rlanything_task_pools.export import import_pool

        with import_pool(folder, path, replay=replay) as pool:
            typer.echo(f"{path}: {_counted(pool.counts())}")
        return
    from rlanything_task_pools.collection import import_collection
    from rlanything_verifiers.plain_text import printable

    pool, refused = import_collection(domain, str(folder), path, replay=replay)
    with pool:
        for place, reason in refused.items():
            typer.echo(f"left out: {printable(place)}: {printable(reason)}", err=True)
        typer.echo(f"{path}: {_counted(pool.counts())}")


@app.command()
def verify(
    path: PoolPath,
    replay: Annotated[bool, typer.Option(help="Play the proof of every task.")] = True,
    as_json: AsLines = False,
) -> None:
    """Check the file, every task (its id, its proof) and the log; exits with 1 when something is wrong."""
    with _opened(path) as pool:
        from rlanything_task_pools.verify import verify_pool
        from rlanything_verifiers.plain_text import printable

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
    """The curriculum over time: accepted, rejected by reason, band occupancy, drift, diversity, duplicates."""
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

    if path.is_dir():
        path = path / "pool.sqlite"
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
