"""``studies search``: what is a judge's score worth at test time, at the same number of environment steps?"""

from __future__ import annotations

import json
from pathlib import Path

from rlanything_agents.runs.folder import write_atomically
from studies.figures import save_figure
from studies.report import write_frame
from studies.search_report import (
    CLAIM,
    REFUTED,
    attempt_table,
    difference_table,
    draw_search,
    results_of,
    search_table,
)

__all__ = ["write_search"]


def write_search(folder: Path) -> Path:
    """Write search.parquet, search.md and the figure from the results so far; return the Markdown."""
    paths = sorted(folder.glob("search/seed-*/result.json"))
    text = "No seed has been played yet.\n"
    if paths:
        found = {int(p.parent.name.removeprefix("seed-")): json.loads(p.read_text(encoding="utf-8")) for p in paths}
        results = results_of(found)
        write_frame(results, folder / "search.parquet")
        save_figure(draw_search(results), folder / "figures" / "search")
        tables = [attempt_table(results), search_table(results), difference_table(results)]
        text = "\n".join([CLAIM, "", REFUTED, "", *(table.markdown() for table in tables)])
    page = folder / "search.md"
    write_atomically(page, text)
    return page
