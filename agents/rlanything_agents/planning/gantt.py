"""What the cards do in an iteration, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rlanything_agents.planning.forecast import Forecast
from rlanything_agents.report.curriculum_plot import SUFFIXES, PlotError

__all__ = ["COLOURS", "plot_schedules"]

COLOURS = {
    "policy": "#1f6feb",
    "judge": "#8250df",
    "rewriter": "#d29922",
    "policy update": "#2da44e",
    "judge update": "#80c99a",
    "switch": "#8c959f",
}
LABELS = {
    "policy": "policy writes",
    "judge": "reward model writes",
    "rewriter": "tasks are rewritten",
    "policy update": "policy learns",
    "judge update": "reward model learns",
    "switch": "another model wakes",
}


def plot_schedules(forecasts: Sequence[Forecast], path: Path) -> None:
    """Draw the example of each schedule: one row a block of GPUs, white where it waits.

    Args:
        forecasts: As `forecast` gives them.
        path: The file to write; its suffix names the format.

    Raises:
        PlotError: The suffix is none of `SUFFIXES`, or the file cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    if path.suffix.lower() not in SUFFIXES:
        raise PlotError(f"{path}: a figure ends in {', '.join(SUFFIXES)}")
    figure = Figure(figsize=(12, 1 + 2.2 * len(forecasts)), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(len(forecasts), 1, sharex=True, squeeze=False)[:, 0]
    longest = max(each.example.seconds for each in forecasts)
    for axes, each in zip(grid, forecasts, strict=True):
        for what, colour in COLOURS.items():
            for block in {span.block for span in each.example.spans if span.what == what}:
                bars = [(s.begin, s.end - s.begin) for s in each.example.spans if (s.block, s.what) == (block, what)]
                axes.broken_barh(bars, (block - 0.4, 0.8), color=colour, linewidth=0)
        blocks = 1 + max((span.block for span in each.example.spans), default=0)
        axes.set_ylim(blocks - 0.5, -0.5)
        axes.set_yticks(range(0, blocks, max(1, blocks // 8)))
        axes.set_ylabel("block of GPUs")
        note = ", one update behind" if each.schedule == "off_policy" else ""
        title = f"{each.schedule}{note}: {each.example.seconds:.0f} s, {each.example.idle:.0%} idle"
        axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
        axes.axvline(each.example.seconds, color="#1f2328", linewidth=1)
        axes.spines[["top", "right"]].set_visible(False)
    grid[-1].set_xlabel("seconds (simulated)")
    grid[-1].set_xlim(0, longest * 1.01)
    figure.legend(
        handles=[Patch(color=colour, label=LABELS[what]) for what, colour in COLOURS.items()],
        loc="outside lower center",
        ncols=len(COLOURS),
        fontsize=8,
        frameon=False,
    )
    try:
        figure.savefig(path)
    except OSError as error:
        raise PlotError(f"{path} cannot be written: {error.strerror}") from error
