"""``studies search``: what is a judge's score worth at test time, at the same number of environment steps?

The report: success of best of n by environment steps.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from numpy.typing import NDArray

from rlanything_agents.runs.folder import write_atomically
from studies.judge_study import TRAINED, WARM
from studies.report import write_frame
from studies.searching import ARMS, HEURISTIC, TRUTH
from studies.statistics import Estimate, over_games, points
from studies.tables import Table

__all__ = ["ANY", "RANDOM", "SHORTEST", "best_of", "write_search"]

Floats = NDArray[np.float64]

RANDOM, SHORTEST, ANY = "random", "shortest", "any"
CLAIM = (
    "**Claim.** At test time, at the same number of environment steps, choosing by a judge's scores solves more games "
    "than choosing at random, and by a trained judge's more than by an untrained one's."
)
REFUTED = (
    "**What would refute it**, set down before the run: at no budget does the trained judge solve more than random "
    "choice (first part) or than the warm judge (second part); paired on the same games, 95 % interval over games. A "
    "judge that is not above the heuristic labels it was taught adds nothing that a rule does not have."
)
PAIRS = (
    (WARM, RANDOM),
    (TRAINED, RANDOM),
    (TRAINED, WARM),
    (TRAINED, HEURISTIC),
    (TRUTH, TRAINED),
)


def write_search(folder: Path) -> Path:
    """Write search.parquet and search.md from the results so far; return the Markdown."""
    paths = sorted(folder.glob("search/seed-*/result.json"))
    text = "No seed has been played yet.\n"
    if paths:
        found = {int(p.parent.name.removeprefix("seed-")): json.loads(p.read_text(encoding="utf-8")) for p in paths}
        results = _results_of(found)
        write_frame(results, folder / "search.parquet")
        tables = [_attempt_table(results), _difference_table(results)]
        text = "\n".join([CLAIM, "", REFUTED, "", *(table.markdown() for table in tables)])
    page = folder / "search.md"
    write_atomically(page, text)
    return page


def best_of(solved: Floats, steps: Floats, scores: Mapping[str, Floats], budget: int) -> dict[str, Floats]:
    """Best of as many whole attempts as a budget has room for, with ties broken by chance.

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
    ranked = {RANDOM: np.zeros_like(solved), SHORTEST: -steps, **scores}
    found = {ANY: np.where(within, solved, 0.0).max(axis=0)}
    for arm, values in ranked.items():
        shown = np.where(within, np.round(values, 9), -np.inf)
        best = shown == shown.max(axis=0)
        found[arm] = (solved * best).sum(axis=0) / best.sum(axis=0)
    return found


def _results_of(found: Mapping[int, Mapping[str, Any]]) -> pd.DataFrame:
    """One row for each seed, arm, budget and game, from the results of the seeds."""
    frames = []
    for seed, result in found.items():
        solved, steps = (
            np.array([a[key] for a in result["attempts"]], dtype=np.float64) for key in ("solved", "steps")
        )
        scores = {arm: np.array([a["scores"][arm] for a in result["attempts"]]) for arm in ARMS}
        for budget in result["budgets"]:
            for arm, chance in best_of(solved, steps, scores, budget).items():
                rows = {"seed": seed, "arm": arm, "budget": budget, "game": np.arange(len(chance)), "solved": chance}
                frames.append(pd.DataFrame(rows))
    return pd.concat(frames, ignore_index=True)


def _attempt_table(results: pd.DataFrame) -> Table:
    """Success by budget."""
    budgets = _budgets(results)
    return Table(
        title="Best of n: success by environment steps for each game",
        note=f"Percent, 95 % intervals over {results.game.nunique()} games, means over {results.seed.nunique()} seeds. "
        "As many whole attempts as fit; the one of the highest mean vote is chosen. Only a solved episode ends before "
        "the last step in these games, so `shortest` reads the outcome: a ceiling, as is `any`, that an attempt solved "
        "it.",
        header=("chosen by", *(f"{budget} steps" for budget in budgets)),
        rows=tuple(
            (arm, *(points(over_games(_values_of(results, arm, budget).tolist())) for budget in budgets))
            for arm in (RANDOM, HEURISTIC, WARM, TRAINED, TRUTH, SHORTEST, ANY)
        ),
    )


def _difference_table(results: pd.DataFrame) -> Table:
    """Paired differences between arms, where there is more than one attempt to choose from."""
    budgets = _budgets(results)[1:]

    def cell(one: str, other: str, budget: int) -> str:
        ours, base = _values_of(results, one, budget), _values_of(results, other, budget)
        return _signed(over_games((ours - base).tolist()))

    return Table(
        title="Paired differences (points)",
        note="On the same games; 95 % intervals over games; * the interval excludes 0. Not corrected for their number.",
        header=("difference", *(f"{budget} steps" for budget in budgets)),
        rows=tuple((f"{a} − {b}", *(cell(a, b, budget) for budget in budgets)) for a, b in PAIRS),
    )


def _budgets(results: pd.DataFrame) -> list[int]:
    return sorted(int(budget) for budget in results.budget.unique())


def _values_of(results: pd.DataFrame, arm: str, budget: int) -> Floats:
    """Mean over seeds of the success in each game, shape (games,)."""
    rows = results[(results.arm == arm) & (results.budget == budget)]
    return np.asarray(rows.groupby("game").solved.mean().to_numpy(), dtype=np.float64)


def _signed(value: Estimate) -> str:
    clear = value.low is not None and value.high is not None and (value.low > 0 or value.high < 0)
    return points(value, signed=True) + ("*" if clear else "")
