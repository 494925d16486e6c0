"""The curriculum of a pool over time, as one figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rlanything_envs.curriculum.monitor import CurriculumRow

__all__ = ["PlotError", "plot_curriculum"]

SUFFIXES = (".svg", ".png", ".pdf")
REASONS = 6
"""Reasons of rejection drawn, the most frequent first."""


class PlotError(ValueError):
    """The figure cannot be written; the message says why."""


def plot_curriculum(rows: Sequence[CurriculumRow], path: Path, *, drift_limit: float | None = None) -> None:
    """Draw accepted and rejected tasks, band occupancy, success, drift and diversity over groups of episodes.

    Args:
        rows: Rows of `curriculum_metrics`.
        path: The file to write; its suffix names the format.
        drift_limit: Drawn as a line where given.

    Raises:
        PlotError: The suffix is none of `SUFFIXES`.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if path.suffix.lower() not in SUFFIXES:
        raise PlotError(f"{path}: a figure ends in {', '.join(SUFFIXES)}")
    figure = Figure(figsize=(12, 6.4), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(2, 3)
    groups = [row.groups for row in rows]

    def lines(axes: Any, title: str, *curves: tuple[str, Sequence[float | None], str]) -> None:
        for label, values, colour in curves:
            points = [(x, y) for x, y in zip(groups, values, strict=True) if y is not None]
            if points:
                axes.plot(*zip(*points, strict=True), label=label, color=colour or None, marker=".", linewidth=1.6)
        axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
        if axes.has_data():
            axes.legend(fontsize=8, frameon=False)

    lines(
        grid[0, 0],
        "Accepted tasks (cumulative)",
        ("harder", [row.accepted_harder for row in rows], "#cf222e"),
        ("easier", [row.accepted_easier for row in rows], "#2da44e"),
    )
    reasons = {**rows[-1].rejected, **{f"{name} (never tried)": n for name, n in rows[-1].discarded.items()}}
    lines(
        grid[0, 1],
        "Rejected, by reason (cumulative)",
        *(
            # Reasons come from domains and models: no mathematical text.
            (name.replace("$", r"\$"), [_rejected(row, name) for row in rows], "")
            for name in sorted(reasons, key=lambda name: -reasons[name])[:REASONS]
        ),
    )
    shares = [
        [row.below or 0.0 for row in rows],
        [row.inside or 0.0 for row in rows],
        [row.above or 0.0 for row in rows],
    ]
    grid[0, 2].stackplot(groups, shares, labels=("below", "inside", "above"), colors=("#ffb8b0", "#7ee2a8", "#b6d4fe"))
    lines(grid[0, 2], "Groups by the band")
    grid[0, 2].legend(fontsize=8, loc="upper right")
    lines(
        grid[1, 0],
        "Success",
        ("active tasks", [row.accuracy for row in rows], "#1f6feb"),
        ("new tasks on trial (running mean)", [row.new_accuracy for row in rows], "#d29922"),
    )
    lines(
        grid[1, 1],
        "Distance from the root",
        ("mean", [row.drift for row in rows], "#1f6feb"),
        ("farthest slot", [row.drift_max for row in rows], "#cf222e"),
        ("shift of the whole", [row.shift for row in rows], "#8c959f"),
    )
    if drift_limit is not None:
        grid[1, 1].axhline(drift_limit, color="#cf222e", linewidth=0.8, linestyle="--")
    slots = [row.duplicates for row in rows]
    lines(
        grid[1, 2],
        "Diversity",
        ("mean distance of two slots", [row.diversity for row in rows], "#8250df"),
        ("share of slots rewritten", [row.rewritten for row in rows], "#2da44e"),
    )
    if any(slots):
        twin = grid[1, 2].twinx()
        twin.plot(groups, slots, color="#8c959f", linestyle=":", label="slots with a task held twice")
        twin.legend(fontsize=8, frameon=False, loc="lower right")
    for axes in grid.flat:
        axes.set_xlabel("groups of episodes", fontsize=8)
        axes.tick_params(labelsize=8)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)


def _rejected(row: CurriculumRow, name: str) -> int:
    tried = name.removesuffix(" (never tried)")
    return row.rejected.get(name, 0) if tried == name else row.discarded.get(tried, 0)
