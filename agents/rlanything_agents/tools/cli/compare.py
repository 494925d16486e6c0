"""``rlanything compare``: two benchmarks on the same panel, task by task."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from rlanything_agents.tools.cli.output import AsJson, console, plain_text, print_json

__all__ = ["compare"]

Folder = Annotated[Path, typer.Argument(help="Benchmark folder, or its results.json.")]


def compare(one: Folder, other: Folder, as_json: AsJson = False) -> None:
    """Compare two agents on the same panel: the second one minus the first, paired by task.

    Differences have 95 % bootstrap intervals over tasks; p is that of McNemar's exact test.
    """
    from rlanything_agents.tools.benchmark.compare import compare_results

    found = compare_results(one, other)
    if as_json:
        print_json(found)
    else:
        _show(found)


def _show(found: Mapping[str, Any]) -> None:
    from rich.table import Table

    from rlanything_agents.tools.benchmark.report import (
        actions_text,
        changed_cells,
        comparison_cells,
        comparison_header,
    )

    screen = console()
    agents = found["agents"]
    table = Table(title=plain_text(f"{agents[0]} → {agents[1]} on {found['panel']['name']}, {found['panel']['hash']}"))
    for column in comparison_header(agents):
        table.add_column(plain_text(column))
    for name, row in [("all", found), *found["by_group"].items()]:
        if row:
            table.add_row(*(plain_text(cell) for cell in comparison_cells(name, row)))
    screen.print(table)
    for name in ("gained", "lost"):
        if found[name]:
            tasks = Table(title=f"tasks {name}: {len(found[name])}")
            for column in ("task", "kind", "goal", *agents):
                tasks.add_column(plain_text(column))
            for task in found[name]:
                tasks.add_row(*(plain_text(cell) for cell in changed_cells(task)))
            screen.print(tasks)
    if about := actions_text(found):
        screen.print(about)
    if found["different_settings"]:
        screen.print(plain_text(f"the settings differ: {', '.join(found['different_settings'])}"))
