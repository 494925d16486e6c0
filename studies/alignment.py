"""``studies alignment``: do a judge's step rewards bring an update closer to the gradient of success?"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped]

from rlanything_agents.runs.folder import write_atomically
from studies.alignment_report import (
    CLAIM,
    REFUTED,
    alignment_table,
    difference_table,
    draw_alignment,
    mean_table,
    seed_note,
)
from studies.figures import save_figure
from studies.report import write_frame

__all__ = ["read_alignment", "write_alignment"]


def read_alignment(folder: Path) -> tuple[pd.DataFrame, list[dict[str, object]]]:
    """One row for each kind of update, group size and seed; and the totals of each seed."""
    rows, seeds = [], []
    for path in sorted(folder.glob("align/seed-*/result.json")):
        seed = int(path.parent.name.removeprefix("seed-"))
        result = json.loads(path.read_text(encoding="utf-8"))
        rows += [{"seed": seed, **row} for row in result.pop("rows")]
        seeds.append({"seed": seed, **result})
    return pd.DataFrame(rows), seeds


def write_alignment(folder: Path) -> Path:
    """Write alignment.parquet, alignment.md and the figure from the results so far; return the Markdown."""
    results, seeds = read_alignment(folder)
    text = "No seed has been compared yet.\n"
    if seeds:
        write_frame(results, folder / "alignment.parquet")
        save_figure(draw_alignment(results), folder / "figures" / "alignment")
        tables = [alignment_table(results), difference_table(results), mean_table(results)]
        text = "\n".join([CLAIM, "", REFUTED, "", *(table.markdown() for table in tables), seed_note(seeds), ""])
    page = folder / "alignment.md"
    write_atomically(page, text)
    return page
