"""``rlanything pool``: the tasks of a run, also while it is running."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rlanything_agents.runs.storage import failing_disk
from rlanything_agents.tools.cli.errors import plain_errors
from rlanything_agents.tools.cli.output import AsJson, AsLines, print_json, print_lines

if TYPE_CHECKING:
    from rlanything_task_pools import TaskPool

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Look into the tasks of a run, also while it goes on.")

PoolPath = Annotated[Path, typer.Argument(metavar="POOL", help="A pool's file, or the folder of a run.")]


Table = Literal["jsonl", "parquet", "datasets", "harbor"]


class Kind(StrEnum):
    """Kinds of events."""

    proposed = "proposed"
    accepted = "accepted"
    rejected = "rejected"
    discarded = "discarded"


class Distance(StrEnum):
    """Measures of drift."""

    tokens = "tokens"
    sentences = "sentences"


class Words(StrEnum):
    """Parts of a task that are compared."""

    goal = "goal"
    description = "description"


@app.command()
def show(path: PoolPath, as_json: AsLines = False) -> None:
    """List the slots: the task of each, its depth of rewriting, its success rate."""
    with _opened(path) as pool:
        from rlanything_agents.tools.cli import pool_views

        rows = pool_views.slot_rows(pool)
        if as_json:
            print_lines(rows)
            return
        pool_views.print_slots(pool, rows)


@app.command()
def log(
    path: PoolPath,
    slot: Annotated[int | None, typer.Option(help="Only of this slot.")] = None,
    kind: Annotated[Kind | None, typer.Option(help="Only of this kind.")] = None,
    last: Annotated[int, typer.Option(min=1, help="So many of the latest.")] = 50,
    as_json: AsLines = False,
) -> None:
    """List the proposed, accepted, rejected and discarded tasks, with the reasons."""
    with _opened(path) as pool:
        from rlanything_agents.tools.cli import pool_views

        events = pool.events(slot, kind=None if kind is None else kind.value)[-last:]
        if as_json:
            print_lines(pool_views.event_rows(events))
            return
        pool_views.print_events(events)


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
def diff(
    path: PoolPath,
    one: Annotated[str, typer.Argument(help="Id of a task.")],
    other: Annotated[str, typer.Argument(help="Id of the task to compare it with.")],
    as_json: AsJson = False,
) -> None:
    """Compare two tasks: goal, world, proof, traits."""
    with _opened(path) as pool:
        from rlanything_agents.tools.cli.task_diff import difference, print_difference

        if as_json:
            print_json(difference(pool.task(one), pool.task(other)))
            return
        print_difference(pool.task(one), pool.task(other))


@app.command()
def export(
    path: PoolPath,
    out: Annotated[Path, typer.Option(help="A new folder.")],
    format: Annotated[
        Table, typer.Option(help="JSON Lines, Parquet, Hugging Face datasets, or task folders of Harbor.")
    ] = "jsonl",
    image: Annotated[
        str | None, typer.Option(help="With harbor: image of the containers, with Python; else python:3.12-slim.")
    ] = None,
) -> None:
    """Write tasks, lineage, outcomes and events to a folder; with harbor, the active tasks alone."""
    with _opened(path) as pool:
        if format == "harbor":
            from rlanything_task_pools.harbor import export_harbor

            folders = export_harbor(pool, out, image)
            typer.echo(f"{out}: {len(list(folders.iterdir()))} tasks")
            return
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
        typer.Option(help="FOLDER holds tasks of this domain instead: Harbor's, problemtools', ALFWorld's, OSWorld's."),
    ] = None,
) -> None:
    """Make a pool of an exported one, every task validated; or with --domain, of the tasks of a file or folder."""
    if domain is None:
        from rlanything_task_pools.export import import_pool

        with plain_errors(), import_pool(folder, path, replay=replay) as pool:
            typer.echo(f"{path}: {_counted(pool.counts())}")
        return
    from rlanything_task_pools.collection import import_collection
    from rlanything_verifiers.plain_text import printable

    with plain_errors():
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
def metrics(
    path: PoolPath,
    as_json: AsLines = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the curves to this file (.svg, .png, .pdf).")] = None,
    every: Annotated[
        int | None, typer.Option(min=1, help="Groups of episodes in a row; else about twenty rows.")
    ] = None,
    band: Annotated[tuple[float, float], typer.Option(help="Success rates that teach.")] = (0.2, 0.8),
    distance: Annotated[
        Distance, typer.Option(help="By shared words, or by sentence embeddings (extra: drift).")
    ] = Distance.tokens,
    drift_limit: Annotated[
        float | None, typer.Option(help="Distance from its root at which a slot raises an alarm.")
    ] = None,
    text: Annotated[Words, typer.Option(help="What of a task is compared.")] = Words.goal,
) -> None:
    """The curriculum over time: accepted, rejected by reason, band occupancy, drift, diversity, duplicates."""
    with _opened(path) as pool:
        from rlanything_agents.tools.cli import pool_views
        from rlanything_envs.curriculum.monitor import CurriculumMonitor, DriftWarning
        from rlanything_task_pools import get_domain

        settings: dict[str, Any] = {"band": band, "distance": distance.value, "drift_limit": drift_limit}
        if text is Words.description:
            settings["text"] = lambda task: get_domain(task.domain).describe(task)
        monitor = CurriculumMonitor(pool, from_start=True, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DriftWarning)  # they are printed below
            rows = list(monitor.rows(every or pool_views.rows_of(pool)))
        if plot is not None:
            from rlanything_agents.runs.report.curriculum_plot import plot_curriculum

            plot_curriculum(rows, plot, drift_limit=monitor.drift_limit)
            typer.echo(f"{plot}: {len(rows)} rows", err=as_json)
        if as_json:
            print_lines([row.to_dict() for row in rows])
        elif plot is None:
            pool_views.print_metrics(rows, monitor.alarms)


@contextmanager
def _opened(path: Path) -> Iterator[TaskPool]:
    """Open the pool of a file or of a run folder; errors of the package and of SQLite are printed as one line."""
    from rlanything_task_pools import TaskPool

    if path.is_dir():
        path = path / "pool.sqlite"
    with plain_errors():
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
