"""The tables of a study: arms by measurement, and differences between arms; as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pandas as pd  # type: ignore[import-untyped]

from studies.plan import StudyFile
from studies.statistics import ENOUGH, MIN_SEEDS, Difference, estimate, paired_difference, points

__all__ = [
    "JUDGE_MEASURES",
    "NONE",
    "Measure",
    "Table",
    "arm_table",
    "compared",
    "difference_table",
    "differences",
    "interval_note",
    "iter_tables",
    "measures_of",
    "ordered",
    "signed",
]

JUDGE_MEASURES = (
    ("process", "process acc."),
    ("process_balanced", "process acc., balanced"),
    ("likeliest", "of the most probable votes"),
    ("outcome", "outcome acc."),
    ("outcome_auc", "outcome AUC"),
    ("mid_auc", "in mid-episode"),
    ("calibration", "calibration error"),
    ("unparsable", "unreadable votes"),
    ("ut", "ut"),
    ("detect", "detect"),
)
"""Shares of the judge on the fixed trajectories of the warm start; of a writer of unit tests ``ut`` and ``detect``."""
LOOP_MEASURES = (("accepted", "accepted tasks"), ("env_steps", "env steps"), ("seconds", "seconds of learning"))
PLACES = ("in-domain", "out-of-domain")
NONE = "–"


@dataclass(frozen=True, slots=True)
class Measure:
    """A column: where its numbers are, and what it is called. Shares are shown as percentages."""

    panel: str
    metric: str
    label: str
    share: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text."""

    title: str
    note: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """As GitHub Markdown."""
        lines = [f"### {self.title}", "", *map(_pipes, (self.header, ["---"] + ["---:"] * (len(self.header) - 1)))]
        return "\n".join([*lines, *map(_pipes, self.rows), "", self.note, ""])


def measures_of(panels: Sequence[str]) -> list[Measure]:
    """The columns of a study whose panels are these; the first is in-domain, the second out-of-domain."""
    success = [
        Measure(panel, "success", f"success, {PLACES[k]}" if k < len(PLACES) else f"success, {panel}")
        for k, panel in enumerate(panels)
    ]
    judge = [Measure("judge", metric, label) for metric, label in JUDGE_MEASURES]
    return success + judge + [Measure("loop", metric, label, share=False) for metric, label in LOOP_MEASURES]


def ordered(study: StudyFile, present: Sequence[str]) -> list[str]:
    """Arms in the order of the study: the ladder, then the others as the file lists them."""
    known = list(dict.fromkeys((*study.ladder, *study.variants)))
    return [arm for arm in known if arm in present] + sorted(set(present) - set(known))


def by_seed(results: pd.DataFrame, regime: str, arm: str, measure: Measure) -> dict[int, float]:
    """One number for each seed of an arm."""
    found = results[
        (results.regime == regime)
        & (results.arm == arm)
        & (results.panel == measure.panel)
        & (results.metric == measure.metric)
    ]
    return {int(seed): float(value) for seed, value in zip(found.seed, found.value, strict=True)}


def arm_table(results: pd.DataFrame, study: StudyFile, regime: str, measures: Sequence[Measure]) -> Table:
    """Mean over seeds of every measure of every arm."""
    present = results[results.regime == regime]
    measures = [m for m in measures if ((present.panel == m.panel) & (present.metric == m.metric)).any()]
    rows, counts = [], []
    for arm in ordered(study, list(present.arm.unique())):
        counts.append(int(present[present.arm == arm].seed.nunique()))
        rows.append((arm, str(counts[-1]), *(_entry(by_seed(results, regime, arm, m), m) for m in measures)))
    meaning = study.regimes[regime].meaning if regime in study.regimes else ""
    return Table(
        title=f"{study.name}, regime {regime}",
        note=f"{meaning} {interval_note('Means over seeds', counts)}".strip(),
        header=("arm", "seeds", *(measure.label for measure in measures)),
        rows=tuple(rows),
    )


def compared(study: StudyFile, present: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of arms that are reported: the steps of the ladder, then every arm against each baseline."""
    ladder = [arm for arm in study.ladder if arm in present]
    pairs = [(one, other) for other, one in pairwise(ladder)]
    arms = ordered(study, present)
    for baseline in study.baselines:
        if baseline in present:
            rank = arms.index(baseline)
            pairs += [(arm, baseline) for arm in arms if arms.index(arm) > rank]
    return list(dict.fromkeys(pairs))


def differences(results: pd.DataFrame, study: StudyFile, regime: str, measure: Measure) -> list[Difference]:
    """The reported pairs, on the seeds that both arms have."""
    present = results[results.regime == regime]
    values = {arm: by_seed(results, regime, arm, measure) for arm in present.arm.unique()}
    found = (paired_difference(a, b, values[a], values[b]) for a, b in compared(study, list(values)))
    return [difference for difference in found if difference is not None]


def difference_table(results: pd.DataFrame, study: StudyFile, regime: str, measures: Sequence[Measure]) -> Table:
    """Differences of the shares among the measures, in points."""
    columns = {
        m.label: {(d.one, d.other): d for d in differences(results, study, regime, m)} for m in measures if m.share
    }
    columns = {label: found for label, found in columns.items() if found}
    pairs = list(dict.fromkeys(pair for found in columns.values() for pair in found))
    order = {pair: k for k, pair in enumerate(compared(study, list(results[results.regime == regime].arm.unique())))}
    pairs.sort(key=lambda pair: order[pair])
    rows = [
        (
            f"{one} − {other}",
            str(max(found[one, other].estimate.seeds for found in columns.values() if (one, other) in found)),
            *(signed(found.get((one, other))) for found in columns.values()),
        )
        for one, other in pairs
    ]
    seeds = [d.estimate.seeds for found in columns.values() for d in found.values()]
    return Table(
        title=f"Paired differences, regime {regime} (points)",
        note=f"{interval_note('Differences on the same seeds; a rate is over the games with an outcome', seeds)} "
        "* the interval excludes zero; not corrected for the number of comparisons.",
        header=("difference", "seeds", *columns),
        rows=tuple(rows),
    )


def signed(difference: Difference | None) -> str:
    """A difference in points, with a star where its interval excludes zero."""
    if difference is None:
        return NONE
    return points(difference.estimate, signed=True) + ("*" if difference.clear else "")


def _entry(values: Mapping[int, float], measure: Measure) -> str:
    if not values:
        return NONE
    mean = estimate(list(values.values()))
    if measure.share:
        return points(mean)
    if measure.metric != "accepted" or mean.low is None or mean.high is None:
        return f"{mean.mean:,.0f}" if mean.mean >= 10 else f"{mean.mean:.1f}"
    return f"{mean.mean:.1f} [{mean.low:.1f}, {mean.high:.1f}]"


def interval_note(what: str, seeds: Sequence[int]) -> str:
    """Note on the intervals in brackets, as far as these numbers of seeds give any."""
    text = f"{what}."
    if any(count >= ENOUGH for count in seeds):
        text += " Brackets: 95 % studentised bootstrap intervals over seeds."
    if any(MIN_SEEDS <= count < ENOUGH for count in seeds):
        text += f" With fewer than {ENOUGH} seeds: 95 % Student intervals."
    if any(count < MIN_SEEDS for count in seeds):
        text += f" Fewer than {MIN_SEEDS} seeds: too few for an interval."
    return text


def _pipes(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def iter_tables(results: pd.DataFrame, study: StudyFile, regime: str, measures: Sequence[Measure]) -> Iterator[Table]:
    """Both tables of a regime."""
    yield arm_table(results, study, regime, measures)
    table = difference_table(results, study, regime, measures)
    if table.rows:
        yield table
