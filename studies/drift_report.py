"""Report of the drift study: positions of the tasks, success rates, and curves over the cycles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd  # type: ignore[import-untyped]

from studies.figures import colours_of, new_figure
from studies.statistics import band, estimate, paired_difference, points
from studies.tables import Table, interval_note

__all__ = ["SCRIPTED_ONLY", "draw_drift", "end_table", "success_table"]

SCRIPTED_ONLY = (
    "Scripted rewriters only: no service of a language model was configured (an arm with `rewriter: llm` and a section "
    "`llm`, or --llm-url and --llm-model), and scripted answers in its place would be no evidence."
)
SHARES = {
    "rewritten": "slots rewritten",
    "proved": "proposals proved",
    "valid": "active tasks valid",
}
NUMBERS = {
    "goal_distance": "distance of goals",
    "world_distance": "distance of worlds",
    "goal_diversity": "diversity of goals",
    "plan": "plan",
    "root_plan": "plan of roots",
    "accepted": "accepted",
}
CHARTS = (
    ("Distance from the root (dashed: worlds)", (("goal_distance", "-"), ("world_distance", "--"))),
    ("Distance between slots (dashed: worlds)", (("goal_diversity", "-"), ("world_diversity", "--"))),
    ("Proposals proved (dashed: active tasks valid)", (("proved", "-"), ("valid", "--"))),
    ("Difficulty, the domain's score (dotted: roots)", (("difficulty", "-"), ("root_difficulty", ":"))),
    ("Length of the proof, actions (dotted: roots)", (("plan", "-"), ("root_plan", ":"))),
    ("Success of the expert (dotted: roots)", (("success", "-"), ("root_success", ":"))),
)


def values_at(results: pd.DataFrame, arm: str, metric: str, cycle: int) -> dict[int, float]:
    """One number for each seed of an arm."""
    found = results[(results.arm == arm) & (results.metric == metric) & (results.cycle == cycle)]
    return {int(seed): float(value) for seed, value in zip(found.seed, found.value, strict=True)}


def end_table(results: pd.DataFrame, arms: Sequence[str], name: str, remark: str = "") -> Table:
    """Where the tasks are after the last cycle."""
    present = set(results.metric)
    shares = {k: v for k, v in SHARES.items() if k in present}
    numbers = {k: v for k, v in NUMBERS.items() if k in present}
    cycles = sorted(set(results.cycle) - {0})
    first, last = cycles[0], cycles[-1]
    rows = []
    for arm in arms:
        cells = [_number(values_at(results, arm, metric, last)) for metric in numbers]
        cells += [_percent(values_at(results, arm, metric, last)) for metric in shares]
        rows.append((arm, *cells, *(_percent(values_at(results, arm, "inside", cycle)) for cycle in (first, last))))
    counts = results.groupby("arm").seed.nunique().tolist()
    note = (
        "Distances are Jaccard distances: of the words of goals, and of the lines that describe worlds; diversity is "
        f"the mean distance between two slots. Plans in actions. {interval_note('Means over seeds', counts)}"
    )
    return Table(
        title=f"{name}: the tasks after {last} cycles",
        note=f"{note} {remark}".strip(),
        header=(
            "arm",
            *numbers.values(),
            *shares.values(),
            f"groups inside the band, cycles 1-{first}",
            f"the same, last {last - cycles[-2] if len(cycles) > 1 else last} cycles",
        ),
        rows=tuple(rows),
    )


def success_table(results: pd.DataFrame, arms: Sequence[str]) -> Table:
    """Success of fixed policies on root and active tasks."""
    last, players = int(results.cycle.max()), ["", *(["policy_"] if "policy_success" in set(results.metric) else [])]
    rows = []
    for arm in arms:
        for player in players:
            roots = values_at(results, arm, f"{player}root_success", last)
            active = values_at(results, arm, f"{player}success", last)
            difference = paired_difference("active", "roots", active, roots)
            change = "–"
            if difference is not None:
                change = points(difference.estimate, signed=True) + ("*" if difference.clear else "")
            rows.append((arm, "policy" if player else "expert", _percent(roots), _percent(active), change))
    return Table(
        title=f"Success of players that do not learn, after {last} cycles",
        note="Percent of episodes won, on the roots and on the active tasks of the same slots with the same luck. "
        "Brackets as above; * the interval excludes zero.",
        header=("arm", "player", "roots", "active tasks", "active − roots"),
        rows=tuple(rows),
    )


def _percent(values: dict[int, float]) -> str:
    """A share, with its interval clipped to [0, 1]."""
    if not values:
        return "–"
    found = estimate(list(values.values()))
    if found.low is not None and found.high is not None:
        found = replace(found, low=max(0.0, found.low), high=min(1.0, found.high))
    return points(found)


def _number(values: dict[int, float]) -> str:
    if not values:
        return "–"
    found = estimate(list(values.values()))
    digits = 2 if abs(found.mean) < 10 else 1
    text = f"{found.mean:.{digits}f}"
    return text if found.low is None else f"{text} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


def draw_drift(results: pd.DataFrame, arms: Sequence[str]) -> Any:
    """Every measure over the cycles, a colour for each arm: the mean over seeds, with its band where it is solid."""
    figure, grid = new_figure(len(CHARTS), 2)
    colours = colours_of(arms)
    for axes, (title, metrics) in zip(grid, CHARTS, strict=True):
        for arm in arms:
            for metric, style in metrics:
                table = results[(results.arm == arm) & (results.metric == metric)].pivot_table(
                    index="seed", columns="cycle", values="value"
                )
                if table.empty:
                    continue
                label = arm if style == "-" else None
                ys = table.dropna(axis=1).to_numpy()
                xs = table.dropna(axis=1).columns.to_numpy()
                axes.plot(xs, ys.mean(axis=0), style, color=colours[arm], linewidth=1.6, label=label)
                if style == "-" and (edges := band(ys)) is not None:
                    axes.fill_between(xs, *edges, color=colours[arm], alpha=0.15, linewidth=0)
        axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
        axes.set_xlabel("cycle", fontsize=8)
        axes.tick_params(labelsize=8)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    labels = {line.get_label(): line for axes in grid for line in axes.lines if not line.get_label().startswith("_")}
    figure.legend(labels.values(), labels, loc="outside upper center", ncols=8, fontsize=8, frameon=False)
    return figure
