"""Curves of a run as SVG text, drawn from its metrics rows."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

Rows = Sequence[Mapping[str, Any]]
Line = tuple[str, str, str]
"""Dotted key of the metrics row, label, colour."""

_CHARTS: tuple[tuple[str, str, tuple[float, float] | None, tuple[Line, ...]], ...] = (
    (
        "Training success",
        "share of episodes won",
        (0.0, 1.0),
        (("success.active", "active tasks", "#1f6feb"), ("success.candidate", "candidates on trial", "#d29922")),
    ),
    (
        "Reward model against the planner",
        "share of votes",
        (0.0, 1.0),
        (
            ("judge_quality.process_balanced", "balanced process accuracy", "#8250df"),
            ("judge_quality.p_plus", "right steps called right", "#2da44e"),
            ("judge_quality.p_minus", "wrong steps called wrong", "#cf222e"),
            ("feedback.mixed_rate", "steps with mixed votes", "#8c959f"),
        ),
    ),
    (
        "Votes against outcomes (mu > 1 informs)",
        "probability",
        (0.0, 2.0),
        (
            ("feedback.mu", "mu = p+ + p−", "#8250df"),
            ("feedback.p_plus", "p+: a vote on a won episode is +1", "#2da44e"),
            ("feedback.p_minus", "p−: a vote on a lost one is −1", "#cf222e"),
        ),
    ),
    (
        "Tests the reward model wrote",
        "share of tests, against the policy's programs",
        (0.0, 1.0),
        (
            ("judge_quality.ut", "ut: all correct programs pass", "#2da44e"),
            ("judge_quality.detect", "detect: and all wrong ones fail", "#8250df"),
            ("judge_quality.unreadable", "no test in the answer", "#8c959f"),
        ),
    ),
    (
        "Tasks forged (cumulative)",
        "tasks",
        None,
        (
            ("tasks.proposed", "proposed, proved solvable", "#8c959f"),
            ("tasks.accepted", "accepted", "#2da44e"),
            ("tasks.rejected", "rejected", "#cf222e"),
        ),
    ),
    (
        "Groups by the curriculum's band",
        "share of groups",
        (0.0, 1.0),
        (
            ("curriculum.inside", "inside", "#2da44e"),
            ("curriculum.below", "below", "#cf222e"),
            ("curriculum.above", "above", "#1f6feb"),
        ),
    ),
    (
        "Drift of the tasks from their roots",
        "distance of the goals",
        (0.0, 1.0),
        (
            ("curriculum.drift", "mean", "#1f6feb"),
            ("curriculum.drift_max", "farthest slot", "#cf222e"),
            ("curriculum.diversity", "between slots", "#8250df"),
        ),
    ),
    (
        "Groups that teach the policy",
        "share of groups",
        (0.0, 1.0),
        (
            ("feedback.policy_kept", "inside the policy's band", "#1f6feb"),
            ("feedback.judge_kept", "inside the judge's", "#8250df"),
        ),
    ),
    (
        "Policy entropy and clipping",
        "nats; share",
        None,
        (
            ("policy.entropy", "entropy of sampled tokens", "#1f6feb"),
            ("policy.clip_fraction", "clipped share", "#cf222e"),
        ),
    ),
    (
        "Seconds per iteration",
        "s",
        None,
        (
            ("seconds.rollout", "rollout", "#1f6feb"),
            ("seconds.judge", "judge", "#8250df"),
            ("seconds.policy_update", "policy update", "#d29922"),
            ("seconds.judge_update", "judge update", "#cf222e"),
        ),
    ),
)


def draw_charts(rows: Rows) -> list[str]:
    """One SVG element per chart that has data."""
    charts = (_chart(rows, *chart) for chart in _CHARTS)
    return [svg for svg in charts if svg is not None]


def pick(row: Mapping[str, Any], dotted: str) -> float | None:
    """The number at a dotted key of a metrics row; None where it was not measured."""
    value: Any = row
    for part in dotted.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return None if value is None else float(value)


def _chart(rows: Rows, title: str, unit: str, limits: tuple[float, float] | None, lines: Sequence[Line]) -> str | None:
    # A figure object of its own, not pyplot: no display, no global state, safe beside a user's plots.
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(5.2, 3.0), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.add_subplot()
    drawn = False
    for key, label, colour in lines:
        points = [(row["iteration"], value) for row in rows if (value := pick(row, key)) is not None]
        if points:
            drawn = True
            axes.plot(*zip(*points, strict=True), label=label, color=colour, linewidth=1.8, marker="o", markersize=3)
    if not drawn:
        return None
    axes.set_title(title, fontsize=11, loc="left", fontweight="bold")
    axes.set_xlabel("iteration", fontsize=9)
    axes.set_ylabel(unit, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if limits:
        axes.set_ylim(*limits)
    else:
        axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    svg = buffer.getvalue()
    return svg[svg.index("<svg") :]
