"""Writes ``report.html``: one file that needs no network, with all untrusted text escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from rlanything_agents.runs.folder import write_atomically
from rlanything_agents.runs.report.charts import draw_charts
from rlanything_agents.runs.stored.curves import READING

__all__ = ["page_templates", "write_report"]


def write_report(
    path: Path,
    *,
    summary: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    rewrites: Sequence[Mapping[str, Any]],
    episodes: Sequence[Mapping[str, Any]],
) -> None:
    """Write the page of a run.

    Args:
        path: The file to write.
        summary: Content of ``summary.json``.
        rows: Metrics rows, one per iteration.
        rewrites: Accepted rewrites in order: slot, direction, goal before and after, success before and after.
        episodes: A few stored episodes with their judgements, shown turn by turn.
    """
    html = (
        page_templates()
        .get_template("report.html.j2")
        .render(
            summary=summary, rows=rows, rewrites=rewrites, episodes=episodes, charts=draw_charts(rows), reading=READING
        )
    )
    write_atomically(path, html)


def page_templates() -> Environment:
    """Jinja environment for the page templates."""
    # Goals, actions and judgements come from task files and models: autoescape is not optional here.
    pages = Environment(
        loader=PackageLoader("rlanything_agents.runs.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters["percent"] = lambda value: "–" if value is None else f"{100 * value:.1f} %"
    return pages
