"""``rlanything export``: the episodes of a run as a data set."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rlanything_agents.runs.storage import RunFolderError
from rlanything_agents.tools.cli.output import AsJson, print_json

__all__ = ["export"]


class Format(StrEnum):
    """Formats of the files."""

    parquet = "parquet"
    jsonl = "jsonl"
    inspect = "inspect"


class What(StrEnum):
    """Kinds of rows."""

    episodes = "episodes"
    turns = "turns"
    judgements = "judgements"
    preferences = "preferences"
    sft = "sft"


class SplitBy(StrEnum):
    """Ways to split the data set."""

    none = "none"
    iteration = "iteration"
    outcome = "outcome"


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder; the run may still be running.")],
    out: Annotated[Path, typer.Option(help="New folder.")],
    format: Annotated[Format, typer.Option(help="Parquet, JSON Lines or Inspect AI logs.")] = Format.parquet,
    what: Annotated[list[What] | None, typer.Option(help="Kind of row. Repeatable. Default: episodes.")] = None,
    split_by: Annotated[SplitBy, typer.Option(help="Key to split by. Default: one split.")] = SplitBy.none,
    as_json: AsJson = False,
) -> None:
    """Export a run as a data set with a card: episodes, turns, judgements, preferences or chats."""
    from rlanything_agents.runs.folder import RunFolder
    from rlanything_agents.tools.export import export_logs, export_run

    if format is Format.inspect:
        if what not in (None, [What.episodes]) or split_by is not SplitBy.none:
            raise RunFolderError("logs hold whole episodes, a file an iteration: leave out --what and --split-by")
        logs = export_logs(RunFolder(run), out)
        if as_json:
            print_json({"folder": str(out), "format": format.value, "samples": logs})
            return
        for name, samples in logs.items():
            typer.echo(f"{out / name}: {samples} samples")
        return
    kinds = [kind.value for kind in dict.fromkeys(what or [What.episodes])]
    counts = export_run(RunFolder(run), out, kinds=kinds, format=format.value, split=split_by.value)
    if as_json:
        print_json({"folder": str(out), "format": format.value, "rows": counts})
        return
    for kind, splits in counts.items():
        for split, rows in splits.items():
            typer.echo(f"{out / kind}: {rows} rows in {split}")
