"""``studies search``: what is a judge's score worth at test time, at the same number of environment steps?

The report: success of best of n by environment steps, and of the best of unfinished attempts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from numpy.typing import NDArray

from rlanything_agents.runs.folder import write_atomically
from studies.judge_study import TRAINED, WARM
from studies.report import write_frame
from studies.searching import ARMS, HEURISTIC, TRUTH
from studies.statistics import Difference, estimate, points
from studies.tables import NONE, Table, interval_note, signed

__all__ = ["ANY", "RANDOM", "SHORTEST", "best_of", "best_unfinished", "write_search"]

Floats = NDArray[np.float64]

RANDOM, SHORTEST, ANY = "random", "shortest", "any"
CLAIM = (
    "**Claim.** At test time, at the same number of environment steps, choosing by a judge's scores solves more games "
    "than choosing at random, and by a trained judge's more than by an untrained one's."
)
REFUTED = (
    "**What would refute it**, set down before the run: at no budget does the trained judge solve more than random "
    "choice (first part) or than the warm judge (second part); paired on the same games, 95 % interval over seeds. A "
    "judge that is not above the heuristic labels it was taught, or above the shortest attempt, adds nothing that a "
    "rule does not have. Of unfinished attempts, where length says nothing, the same."
)
PAIRS = (
    (WARM, RANDOM),
    (TRAINED, RANDOM),
    (TRAINED, WARM),
    (TRAINED, HEURISTIC),
    (TRAINED, SHORTEST),
    (TRUTH, TRAINED),
)
UNFINISHED = "unfinished"
"""Stands where a budget would, for the choice among unfinished attempts."""


def write_search(folder: Path) -> Path:
    """Write search.parquet and search.md from the results so far; return the Markdown."""
    paths = sorted(folder.glob("search/seed-*/result.json"))
    text = "No seed has been played yet.\n"
    if paths:
        found = {int(p.parent.name.removeprefix("seed-")): json.loads(p.read_text(encoding="utf-8")) for p in paths}
        results = _results_of(found)
        write_frame(results, folder / "search.parquet")
        cut = max(result["cut"] for result in found.values())
        tables = [_attempt_table(results, cut), _difference_table(results)]
        text = "\n".join([CLAIM, "", REFUTED, "", *(table.markdown() for table in tables)])
    page = folder / "search.md"
    write_atomically(page, text)
    return page


def best_of(solved: Floats, steps: Floats, scores: Mapping[str, Floats], budget: int) -> dict[str, Floats]:
    """Best of as many whole attempts as a budget has room for, with ties broken at random.

    Args:
        solved: 1 or 0, shape (attempts, games).
        steps: Environment steps of each attempt, same shape.
        scores: Scores by arm, same shape.
        budget: Environment steps for each game; at least one attempt is played.

    Returns:
        Chance that the chosen attempt has solved the game, by arm, shape (games,); `RANDOM` chooses any attempt,
        `SHORTEST` the one of fewest steps, and `ANY` is whether one of them has solved it.
    """
    within = np.cumsum(steps, axis=0) <= budget
    within[0] = True
    return _chosen(solved, {SHORTEST: -steps, **scores}, within)


def best_unfinished(solved: Floats, steps: Floats, scores: Mapping[str, Floats], cut: int) -> dict[str, Floats]:
    """Best of the attempts that had not ended after ``cut`` steps, in games that have two of them, as `best_of`.

    ``scores`` are those of the first ``cut`` steps. All attempts are of equal length then, so no rule can read it.
    """
    going = steps > cut
    games = going.sum(axis=0) >= 2
    return _chosen(solved[:, games], {arm: score[:, games] for arm, score in scores.items()}, going[:, games])


def _chosen(solved: Floats, scores: Mapping[str, Floats], among: NDArray[np.bool_]) -> dict[str, Floats]:
    """Chance that the attempt of the highest score has solved the game; each game has one to choose ``among``."""
    found = {ANY: np.where(among, solved, 0.0).max(axis=0)}
    for arm, values in {RANDOM: np.zeros_like(solved), **scores}.items():
        shown = np.where(among, np.round(values, 9), -np.inf)
        best = shown == shown.max(axis=0)
        found[arm] = (solved * best).sum(axis=0) / best.sum(axis=0)
    return found


def _results_of(found: Mapping[int, Mapping[str, Any]]) -> pd.DataFrame:
    """Success by seed, arm and budget, from the results of the seeds."""
    rows = []
    for seed, result in found.items():
        attempts, cut = result["attempts"], result["cut"]
        solved, steps = (np.array([a[key] for a in attempts], dtype=np.float64) for key in ("solved", "steps"))
        whole = {arm: _means(attempts, arm, None) for arm in ARMS}
        chosen = {str(budget): best_of(solved, steps, whole, budget) for budget in result["budgets"]}
        chosen[UNFINISHED] = best_unfinished(solved, steps, {arm: _means(attempts, arm, cut) for arm in ARMS}, cut)
        rows += [
            {"seed": seed, "arm": arm, "budget": budget, "games": len(chance), "solved": chance.mean()}
            for budget, arms in chosen.items()
            for arm, chance in arms.items()
            if len(chance)
        ]
    return pd.DataFrame(rows)


def _means(attempts: Sequence[Mapping[str, Any]], arm: str, steps: int | None) -> Floats:
    """Mean vote on the first steps of each attempt, all of them if None, shape (attempts, games); 0 without a step."""
    return np.array([[np.mean(votes[:steps] or [0.0]) for votes in attempt["scores"][arm]] for attempt in attempts])


def _attempt_table(results: pd.DataFrame, cut: int) -> Table:
    """Success by budget."""
    budgets = list(results.budget.unique())
    seeds = int(results.seed.nunique())
    games = int(results[results.budget == budgets[0]].games.max())
    left = results[(results.budget == UNFINISHED) & (results.arm == RANDOM)].games
    return Table(
        title="Best of n: success by environment steps for each game",
        note=f"Percent of {games} games a seed. {interval_note('Means over seeds', [seeds])} As many whole attempts as "
        "fit; the one of the highest mean vote is chosen. Only a solved episode ends before the last step in these "
        "games, so `shortest` reads the outcome: a ceiling, as is `any`, that an attempt solved it. Unfinished: of the "
        f"attempts that had not ended after {cut} steps, by the votes on these, in "
        f"{left.mean() if len(left) else 0:.0f} games a seed.",
        header=("chosen by", *(f"{budget} steps" if budget.isdigit() else budget for budget in budgets)),
        rows=tuple(
            (arm, *(points(estimate(found)) if (found := _values(results, arm, b)) else NONE for b in budgets))
            for arm in (RANDOM, HEURISTIC, WARM, TRAINED, TRUTH, SHORTEST, ANY)
        ),
    )


def _difference_table(results: pd.DataFrame) -> Table:
    """Paired differences between arms, where there is more than one attempt to choose from."""
    budgets = list(results.budget.unique())[1:]

    def cell(one: str, other: str, budget: str) -> str:
        ours, base = _values(results, one, budget), _values(results, other, budget)
        if not ours or not base:
            return NONE
        return signed(Difference(one, other, estimate([a - b for a, b in zip(ours, base, strict=True)])))

    return Table(
        title="Paired differences (points)",
        note="On the same games; intervals over seeds; * the interval excludes 0. Not corrected for their number.",
        header=("difference", *(f"{budget} steps" if budget.isdigit() else budget for budget in budgets)),
        rows=tuple((f"{a} − {b}", *(cell(a, b, budget) for budget in budgets)) for a, b in PAIRS),
    )


def _values(results: pd.DataFrame, arm: str, budget: str) -> list[float]:
    """Success of each seed that has this arm and budget, by seed."""
    rows = results[(results.arm == arm) & (results.budget == budget)].sort_values("seed")
    return [float(value) for value in rows.solved]
