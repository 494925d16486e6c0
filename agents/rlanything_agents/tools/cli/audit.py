"""``rlanything audit``: tasks that are solved without the work."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from rlanything_agents.tools.cli import options
from rlanything_agents.tools.cli.output import AsJson, console, error_console, plain_text, print_json
from rlanything_verifiers.plain_text import printable

__all__ = ["audit"]

LISTS = {
    "findings": "solved without the work",
    "voided": "left without an outcome by a cheat",
    "held": "held longer than the limit",
    "unsolved": "not solved by the known solution",
    "errors": "not played",
}
"""Lists of an audit that are empty where it is clean, and their titles."""

HEADER = ("agent", "what it does", "episodes", "solved", "voided", "held", "longest", "mean score")


def audit(
    pool: Annotated[
        Path | None, typer.Argument(metavar="[POOL]", help="Pool file or run folder; root and adapted tasks.")
    ] = None,
    panel: Annotated[
        str | None,
        typer.Option(
            help="In place of a pool: name of a panel, the JSON file of one, or coding-probes or osworld-probes: "
            "tasks for attacks on the judge.",
            autocompletion=options.panels,
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Play only the first N tasks.")] = None,
    episodes: Annotated[int, typer.Option(min=1, help="Random episodes per task.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all randomness.")] = 0,
    out: Annotated[Path | None, typer.Option(help="New folder for the result and all episodes. Default: none.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Parallel episodes.")] = None,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="KEY=VALUE", help="Environment argument, such as max_turns=30. Repeatable."),
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Play nothing: print the quality card of the panel, or of all packaged ones, from the results.json, "
            "audit.json and doctor.json below a folder.",
            exists=True,
            file_okay=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find tasks that can be cheated: agents that do nothing, repeat themselves or cheat play each one.

    Exits with 1 if one of them solves a task, leaves an episode without outcome or holds it longer than its limit, if a
    known solution fails, or if a task cannot be played. Random play may solve a task; its row says how often.
    (Vulnerable packages are not what this looks for.)
    """
    if card is not None:
        return _print_cards(card, panel)
    from rlanything_agents.runs.progress import Reporter
    from rlanything_agents.tools.audit import audit_panel, probe_panel
    from rlanything_agents.tools.audit.run import PROBES

    found = audit_panel(
        probe_panel(panel, limit) if panel in PROBES and pool is None else options.open_panel(panel, pool, limit),
        episodes=episodes,
        seed=seed,
        environment=options.key_values(env, "--env"),
        workers=workers,
        out=out,
        reporter=Reporter(error_console()),
        command=shlex.join(["rlanything", *sys.argv[1:]]),
    )
    if as_json:
        print_json(found)
    else:
        _show(found, out)
    if not found["clean"]:
        raise typer.Exit(1)


def _print_cards(folder: Path, panel: str | None) -> None:
    from rlanything_agents.tools.audit.card import panel_card, read_measured
    from rlanything_task_pools.panel import panel_names, read_recipe

    measured = read_measured(folder)
    typer.echo(
        "\n".join(panel_card(read_recipe(name), measured) for name in ([panel] if panel else panel_names())), nl=False
    )


def _show(found: Mapping[str, Any], out: Path | None) -> None:
    from rich.table import Table

    panel = found["panel"]
    table = Table(title=plain_text(f"audit of {panel['name']}, {panel['tasks']} tasks, {panel['hash']}"))
    for column in HEADER:
        table.add_column(column, no_wrap=column == "agent")
    for row in (*found["agents"], found["cheats"]):
        table.add_row(*map(plain_text, _cells(row)))
    screen = console()
    screen.print(table)
    for name, title in LISTS.items():
        for item in found[name]:
            why = f": {printable(item['error'], 200)}" if item["error"] else ""
            agent = f"{item['agent']} ({item['variant']})" if item["variant"] else item["agent"]
            screen.print(f"{title}: {printable(item['task'])} by {agent}, {printable(item['goal'], 80)!r}{why}")
    if found["clean"]:
        screen.print("clean: no task is solved without the work, and no cheat is without an outcome")
    if out is not None:
        screen.print(f"Episodes: rlanything view {shlex.quote(str(out))}")


def _cells(row: Mapping[str, Any]) -> list[str]:
    from rlanything_agents.tools.benchmark.report import NOTHING, success_text

    if not (row["episodes"] or row["errors"]):
        return [row["agent"], row["about"], *[NOTHING] * 6]
    solved, voided = str(row["successes"]), str(row["voided"])
    if row["successes"] and row["rate"] < 1:
        solved += f" ({success_text(row)})"
    if row["voided"]:
        voided += f" ({100 * row['voided_share']:.1f} %)"
    score = NOTHING if row["score"] is None else f"{row['score']:.3g}"
    played = str(row["episodes"] + row["voided"])
    held, longest = str(row["held"]), f"{row['longest']:.1f} s"
    return [row["agent"], row["about"], played, solved, voided, held, longest, score]
