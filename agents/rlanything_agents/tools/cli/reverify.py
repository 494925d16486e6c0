"""``rlanything reverify``: stored episodes judged again with the verifiers as they are now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from rlanything_agents.tools.cli import options
from rlanything_agents.tools.cli.output import AsJson, console, error_console, plain_text, print_json
from rlanything_agents.tools.cli.train import spin_little
from rlanything_verifiers.plain_text import printable

__all__ = ["reverify"]

OUTCOMES = {1: "solved", -1: "failed"}
REASONS = 5
"""Maximum reasons that are printed."""


def reverify(
    path: Annotated[Path, typer.Argument(help="Folder of a run or of a benchmark.")],
    panel: Annotated[
        str | None,
        typer.Option(
            help="Panel with the tasks, or its JSON file, where the folder does not name a shipped one.",
            autocompletion=options.panels,
        ),
    ] = None,
    pool: Annotated[Path | None, typer.Option(help="Pool with the tasks, or its run folder.")] = None,
    workers: options.Parallel = None,
    env: options.EnvironmentArguments = None,
    as_json: AsJson = False,
) -> None:
    """Judge stored episodes again, after a verifier was mended: which outcomes change, and why. Writes nothing.

    AlfWorld: the answers are replayed. Coding: the last program is judged. Desktops: what `rlanything benchmark
    --keep-results` kept is evaluated. Exits with 1 if an outcome changes.
    """
    spin_little()
    from rlanything_agents.runs.progress import Reporter
    from rlanything_agents.tools.benchmark import reverify as judged_again

    found = judged_again.reverify(
        path,
        panel=panel,
        pool=pool,
        environment=options.key_values(env, "--env"),
        workers=workers,
        reporter=Reporter(error_console()),
    )
    if as_json:
        print_json(found)
    else:
        _show(found)
    if found["changed"]:
        raise typer.Exit(1)


def _show(found: Mapping[str, Any]) -> None:
    from rich.table import Table

    from rlanything_agents.feedback.percent import percent

    screen, changed, judged = console(), found["changed"], found["judged"]
    if changed:
        table = Table(title=plain_text(f"{found['path']}: changed outcomes"))
        for column in ("task", "episode", "was", "is now", "why"):
            table.add_column(column, no_wrap=column in ("task", "was", "is now"))
        for row in changed:
            episode = ", ".join(filter(None, (row["group"], str(row["episode"]))))
            words = row["task"], episode, OUTCOMES[row["was"]], OUTCOMES[row["now"]], row["why"]
            table.add_row(*map(plain_text, words))
        screen.print(table)
    solved = found["solved"]
    gained = sum(row["now"] == 1 for row in changed)
    screen.print(
        f"{judged} of {found['episodes']} episodes judged again, {len(changed)} changed: {gained} now solved, "
        f"{len(changed) - gained} now failed"
    )
    screen.print(f"success {percent(solved['before'] / judged)} before, {percent(solved['now'] / judged)} now")
    if lost := sum(found["not_judged"].values()):
        screen.print(f"not judged again: {lost} ({percent(lost / found['episodes'])})")
    for reason, count in list(found["not_judged"].items())[:REASONS]:
        screen.print(f"  {count}: {printable(reason, 200)}")
