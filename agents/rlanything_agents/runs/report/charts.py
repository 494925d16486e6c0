"""Curves of a run as SVG text, for a page without scripts."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from rlanything_agents.runs.stored import curves

__all__ = ["draw_charts"]

COLOURS = {
    "blue": "#1f6feb", "amber": "#d29922", "green": "#2da44e", "red": "#cf222e", "violet": "#8250df", "grey": "#8c959f",
}  # fmt: skip
LIMITS: dict[str, tuple[float, float] | None] = {"share": (0.0, 1.0), "stack": (0.0, 1.0), "count": None, "free": None}
"""Limits of the vertical axis, by the kind of the chart."""
ROUNDING = 1e-6
"""Least upper end of an axis that begins at zero: what is smaller is rounding."""


def draw_charts(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """One SVG element per chart that has data."""
    iterations = [row["iteration"] for row in rows]
    return [_svg(chart, iterations) for chart in curves.draw(rows)]


def _svg(chart: Mapping[str, Any], iterations: Sequence[int]) -> str:
    # A separate figure object, not pyplot: no display, no global state, no interference with a user's plots.
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(5.2, 3.0))
    # Fixed margins: a layout engine would take longer to find them than the drawing takes.
    figure.subplots_adjust(left=0.15, right=0.97, bottom=0.16, top=0.87)
    FigureCanvasSVG(figure)
    axes = figure.add_subplot()
    for line in chart["lines"]:
        points = [(at, value) for at, value in zip(iterations, line["points"], strict=True) if value is not None]
        colour = COLOURS[line["colour"]]
        axes.plot(
            *zip(*points, strict=True), label=line["label"], color=colour, linewidth=1.8, marker="o", markersize=3
        )
    axes.set_title(chart["title"], fontsize=11, loc="left", fontweight="bold")
    axes.set_xlabel("iteration", fontsize=9)
    axes.set_ylabel(chart["unit"], fontsize=9)
    axes.tick_params(labelsize=8)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.ticklabel_format(axis="y", scilimits=(-3, 6))  # no label is longer than the margin
    if limits := LIMITS[chart["kind"]]:
        axes.set_ylim(*limits)
    elif chart["kind"] == "count":
        # An automatic limit below zero, of values that rounding alone made negative, would turn the axis upside down.
        axes.set_ylim(0.0, max(axes.get_ylim()[1], ROUNDING))
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    svg = buffer.getvalue()
    return svg[svg.index("<svg") :]
