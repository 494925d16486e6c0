"""Report of the robustness study: tables of detection and of the cost of corrupted feedback, and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd  # type: ignore[import-untyped]

from rlanything_agents.config import CorruptConfig
from studies.detect import ORACLE, RULE
from studies.detection import Figure, Noticed, noticed, noticed_more
from studies.figures import COLOURS, new_figure
from studies.plan import BEFORE
from studies.statistics import Estimate, estimate, paired_difference, points
from studies.tables import Measure, Table, by_seed, interval_note

__all__ = ["JUDGES", "LEARNERS", "arm_name", "detection_table", "draw_robustness", "noise_table", "votes_table"]

JUDGES = {"warm start": BEFORE, "trained": "integrated"}
"""The reward models that are shown corrupted trajectories, and the arms they are from."""
LEARNERS = ("outcome", "integrated")
MEANS = "Means over seeds, on the same seeds and games"


def arm_name(learner: str, what: str, share: float) -> str:
    """The arm of a learner with a corrupted share of one kind of feedback; the learner itself for share 0."""
    return learner if share == 0 else f"{learner}-{what}-{100 * share:g}".replace(".", "_")


def detection_table(places: pd.DataFrame) -> Table:
    """AUC of every judge on every corruption, and of the trained judge less that of the warm start."""
    judges = [name for name in (*JUDGES, RULE, ORACLE) if (places.judge == name).any()]
    rows = []
    for kind, of_kind in places.groupby("corruption", sort=False):
        by_judge = {name: of_kind[of_kind.judge == name] for name in judges}
        found = {name: noticed(frame, "auc") for name, frame in by_judge.items()}
        size = next((one for one in found.values() if one is not None), None)
        rows.append(
            (
                str(kind),
                "–" if size is None else f"{size.places} / {size.trajectories}",
                *(_share(found[name]) for name in judges),
                _share(noticed_more(by_judge["trained"], by_judge["warm start"], "auc"), signed=True),
            )
        )
    seeds = places.seed.nunique()
    return Table(
        title="Corrupted trajectories: AUC of judges",
        note="Chance, in percent, that a step in order scores higher than a corrupted one; 50 notices nothing. "
        "`again` is the control: nothing is corrupted. `outcome`: whole episodes, whose votes contradict a false "
        f"outcome more than a true one. Brackets: 95 % bootstrap intervals over trajectories; {seeds} judge(s).",
        header=("corruption", "places / trajectories", *judges, "trained − warm start"),
        rows=tuple(rows),
    )


def votes_table(places: pd.DataFrame) -> Table:
    """Shares of negative votes in order and corrupted, and how many positive places turn negative."""
    figures: tuple[tuple[Figure, str], ...] = (
        ("clean_negative", "negative votes in order"),
        ("corrupted_negative", "negative votes corrupted"),
        ("turned", "positive places that turn negative"),
    )
    rows = []
    for kind, of_kind in places.groupby("corruption", sort=False):
        for judge, frame in of_kind.groupby("judge", sort=False):
            # a false outcome turns every score that agrees with the true one: that says nothing
            cells = (None if kind == "outcome" and key == "turned" else noticed(frame, key) for key, _ in figures)
            rows.append((f"{kind}, {judge}", *map(_share, cells)))
    return Table(
        title="Corrupted trajectories: votes",
        note="Percent. Of `outcome`, the share of episodes whose mean vote contradicts the outcome that is told. "
        "Brackets as above.",
        header=("corruption, judge", *(label for _, label in figures)),
        rows=tuple(rows),
    )


def _share(value: Noticed | None, *, signed: bool = False) -> str:
    return "–" if value is None else points(Estimate(value.value, value.low, value.high, value.seeds), signed=signed)


def noise_table(results: pd.DataFrame, regime: str, panel: str, shares: Sequence[float]) -> Table:
    """Success of both learners by kind of corrupted feedback, and its differences from truth and between learners."""
    measure = Measure(panel, "success", "success")
    before = by_seed(results, regime, BEFORE, measure)
    rows: list[tuple[str, ...]] = []
    if before:
        rows.append(("before", "", points(estimate(list(before.values()))), "", "", "", ""))
    for what, share in _told(shares):
        values = {name: by_seed(results, regime, arm_name(name, what, share), measure) for name in LEARNERS}
        cells = []
        for name in LEARNERS:
            clean = by_seed(results, regime, name, measure)
            cells.append(points(estimate(list(values[name].values()))) if values[name] else "–")
            cells.append("" if share == 0 else _change(name, values[name], clean))
        apart = _change("integrated", values["integrated"], values["outcome"])
        rows.append((what, f"{100 * share:g} %", *cells, apart))
    counts = results[results.regime == regime].groupby("arm").seed.nunique().tolist()
    return Table(
        title=f"Success after learning from corrupted feedback, {panel}",
        note=f"Percent of games won; changes and differences in points. {interval_note(MEANS, counts)} "
        "* the interval excludes zero.",
        header=(
            "flipped", "share", "outcome only", "change", "integrated", "change ", "integrated − outcome only",
        ),
        rows=tuple(rows),
    )  # fmt: skip


def _told(shares: Sequence[float]) -> list[tuple[str, float]]:
    return [("nothing", 0.0), *((what, share) for what in CorruptConfig.model_fields for share in shares)]


def _change(name: str, values: dict[int, float], clean: dict[int, float]) -> str:
    difference = paired_difference(name, "clean", values, clean)
    if difference is None:
        return "–"
    return points(difference.estimate, signed=True) + ("*" if difference.clear else "")


def draw_robustness(
    places: pd.DataFrame | None, results: pd.DataFrame, regime: str, panel: str, shares: Sequence[float]
) -> Any:
    """AUC of every judge on every corruption, and success by kind of flipped feedback."""
    figure, (left, right) = new_figure(2, 2)
    if places is not None:
        kinds, judges = list(dict.fromkeys(places.corruption)), list(dict.fromkeys(places.judge))
        for k, judge in enumerate(judges):
            for row, kind in enumerate(kinds):
                value = noticed(places[(places.judge == judge) & (places.corruption == kind)], "auc")
                if value is not None:
                    y, label = -row - 0.16 * (k - (len(judges) - 1) / 2), judge if row == 0 else None
                    left.plot([value.low, value.high], [y, y], color=COLOURS[k + 1], linewidth=2)
                    left.plot([value.value], [y], "o", color=COLOURS[k + 1], markersize=5, label=label)
        left.axvline(0.5, color="#59636e", linewidth=0.8)
        left.set_yticks([-row for row in range(len(kinds))], kinds, fontsize=8)
        left.set_title("AUC of judges on corrupted steps", loc="left", fontsize=10, fontweight="bold")
        left.legend(fontsize=7, frameon=False)
    measure = Measure(panel, "success", "success")
    lines = [("outcome", "outcomes"), ("integrated", "outcomes"), ("integrated", "votes")]
    for k, (learner, what) in enumerate(lines):
        drawn = [
            (100 * (share + 0.004 * (k - 1)), estimate(list(values.values())))
            for share in (0.0, *shares)
            if (values := by_seed(results, regime, arm_name(learner, what, share), measure))
        ]
        for x, mean in drawn:
            if mean.low is not None and mean.high is not None:
                right.plot([x, x], [100 * mean.low, 100 * mean.high], color=COLOURS[k + 1], linewidth=1.5)
        label = f"{learner if learner == 'integrated' else 'outcome only'}, {what} turned"
        means = [100 * mean.mean for _, mean in drawn]
        right.plot([x for x, _ in drawn], means, "o-", color=COLOURS[k + 1], label=label)
    if before := by_seed(results, regime, BEFORE, measure):
        right.axhline(100 * estimate(list(before.values())).mean, color="#8c959f", linestyle="--", label="before")
    right.set_title(f"Success after learning, {panel} (%)", loc="left", fontsize=10, fontweight="bold")
    right.set_xlabel("flipped (%)", fontsize=8)
    right.legend(fontsize=7, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)
    return figure
