"""The figures of a study: learning curves with bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from numpy.typing import NDArray

from studies.statistics import band

__all__ = ["common_curve", "draw_curves", "new_figure", "save_figure"]

COLOURS = ("#8c959f", "#0072b2", "#e69f00", "#cc79a7", "#009e73", "#56b4e9", "#d55e00", "#000000", "#b8a000", "#7a4fbf")
"""The palette of Okabe and Ito (distinguishable without red and green), and two more."""
GRID = 40
"""Maximum points of a mean curve."""


def colours_of(arms: Sequence[str]) -> dict[str, str]:
    """A colour for each arm, by its place in the study."""
    return {arm: COLOURS[k % len(COLOURS)] for k, arm in enumerate(arms)}


def common_curve(
    curves: Mapping[int, tuple[Sequence[float], Sequence[float]]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Curves of several seeds at the same places: where all of them were measured, between their points by line.

    Args:
        curves: By seed, x ascending and y.

    Returns:
        x of shape (points,) and y of shape (seeds, points); None when the curves share no place.
    """
    kept = [(np.asarray(x, float), np.asarray(y, float)) for x, y in curves.values() if len(x)]
    if not kept:
        return None
    first, last = max(x[0] for x, _ in kept), min(x[-1] for x, _ in kept)
    if last < first:
        return None
    xs = np.linspace(first, last, min(GRID, max(len(x) for x, _ in kept)))
    return xs, np.stack([np.interp(xs, x, y) for x, y in kept])


def draw_curves(
    curves: pd.DataFrame, arms: Sequence[str], charts: Sequence[tuple[str, str]], *, smooth: int = 1
) -> Any | None:
    """Mean over seeds and its 95 % band, for each arm; thin lines for single seeds when they are too few for a band.

    A run that goes on is left out where another run of its arm has ended, so that it does not cut that one short.

    Args:
        curves: Rows of one regime, see `read_curves`.
        arms: In the order of the colours.
        charts: Metric and title of each chart; one with nothing but zeros is left out.
        smooth: Width of the running mean that is drawn of what is measured in every iteration.

    Returns:
        A figure; None when nothing was measured.
    """
    charts = [(metric, title) for metric, title in charts if curves[curves.metric == metric].value.any()]
    if not charts:
        return None
    columns = min(2, len(charts))
    figure, grid = new_figure(len(charts), columns)
    colours = colours_of(arms)
    for axes, (metric, title) in zip(grid, charts, strict=False):
        of_metric = curves[curves.metric == metric]
        for arm in arms:
            of_arm = of_metric[of_metric.arm == arm].sort_values("iteration")
            by_seed = {}
            for seed, rows in of_arm[of_arm.ended == of_arm.ended.any()].groupby("seed"):
                dense = rows.iteration.diff().median() <= 1  # a panel's points are far between: a mean would bend them
                values = rows.value.rolling(smooth if dense else 1, min_periods=1, center=True).mean()
                by_seed[int(str(seed))] = (rows.env_steps.tolist(), values.tolist())
            _draw_arm(axes, arm, colours[arm], by_seed)
        axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
        axes.set_xlabel("environment steps", fontsize=8)
        axes.tick_params(labelsize=8)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=min(8, len(labels)), fontsize=8, frameon=False)
    return figure


def _draw_arm(axes: Any, arm: str, colour: str, by_seed: Mapping[int, tuple[Sequence[float], Sequence[float]]]) -> None:
    common = common_curve(by_seed)
    if common is None:
        return
    xs, ys = common
    axes.plot(xs, ys.mean(axis=0), color=colour, label=arm, linewidth=1.8)
    edges = band(ys)
    if edges is not None:
        axes.fill_between(xs, *edges, color=colour, alpha=0.15, linewidth=0)
    elif len(ys) > 1:
        for y in ys:
            axes.plot(xs, y, color=colour, linewidth=0.6, alpha=0.5)


def save_figure(figure: Any, path: Path) -> None:
    """Write a PNG file; ``path`` has no suffix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path.with_suffix(".png"), dpi=130)


def new_figure(charts: int, columns: int) -> tuple[Any, list[Any]]:
    """A figure and its charts, so many in a line."""
    # A figure object, not pyplot: no display, no global state.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    lines = -(-charts // columns)
    figure = Figure(figsize=(5.4 * columns, 3.1 * lines + 0.3), layout="constrained")
    FigureCanvasAgg(figure)
    grid = list(figure.subplots(lines, columns, squeeze=False).flat)
    for axes in grid[charts:]:
        axes.set_visible(False)
    return figure, grid[:charts]
