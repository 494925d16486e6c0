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

app = typer.Typer(no_args_is_help=True, help="Inspect the tasks of a run, even while it is running.")

PoolPath = Annotated[Path, typer.Argument(metavar="POOL", help="Pool file or run folder.")]


Table = Literal["jsonl", "parquet"]


@app.command()
def show(
    path: PoolPath,
    log: Annotated[
        bool,
        typer.Option("--log", help="List events instead: proposed, accepted, rejected, discarded; with reasons."),
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
    out: Annotated[Path, typer.Option(help="New folder.")],
    format: Annotated[Table, typer.Option(help="Format of the tables.")] = "jsonl",
) -> None:
    """Write tasks, lineage, outcomes and events to a folder."""
    with _opened(path) as pool:
        from rlanything_task_pools.export import export_pool

        export_pool(pool, out, format)
        typer.echo(f"{out}: {_counted(pool.counts())}")


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
    from rlanything_verifiers.plain_text import printable

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
