"""``studies search``: what is a judge's score worth at test time, at the same number of environment steps?

The report: success per environment step, with best of n and with step-level search.
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
from studies.tables import NONE, Table

__all__ = ["ANY", "RANDOM", "SHORTEST", "best_of", "most_steps", "write_search"]

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
COLUMNS = ("seed", "way", "arm", "budget", "game", "solved", "env_steps")
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
        tables = [_attempt_table(results), _search_table(results), _difference_table(results)]
        text = "\n".join([CLAIM, "", REFUTED, "", *(table.markdown() for table in tables)])
    page = folder / "search.md"
    write_atomically(page, text)
    return page


def most_steps(candidates: int, ahead: int, max_steps: int) -> int:
    """Most environment steps of a step-level search in one game: those of all candidates, and those replayed."""
    replayed = sum(range(ahead, max_steps, ahead))
    return candidates * max_steps + (candidates - 1) * replayed


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
    """One row for each seed, way to search, arm, budget and game, from the results of the seeds."""
    frames = []
    for seed, result in found.items():
        solved, steps = (
            np.array([a[key] for a in result["attempts"]], dtype=np.float64) for key in ("solved", "steps")
        )
        scores = {arm: np.array([a["scores"][arm] for a in result["attempts"]]) for arm in ARMS}
        limit = result["max_steps"]
        searches = {
            (s["candidates"], s["ahead"]): most_steps(s["candidates"], s["ahead"], limit) for s in result["searches"]
        }
        games = np.arange(solved.shape[1])
        for budget in sorted({limit, *searches.values()}):
            spent = np.where(np.cumsum(steps, axis=0) <= budget, steps, 0.0).sum(axis=0)
            for arm, chance in best_of(solved, steps, scores, budget).items():
                frames.append(_frame(seed, "best of n", arm, budget, games, chance, spent))
        for part in result["searches"]:
            budget, way = searches[part["candidates"], part["ahead"]], _way(part["candidates"], part["ahead"])
            frames.append(_frame(seed, way, part["arm"], budget, games, part["solved"], part["env_steps"]))
    return pd.concat(frames, ignore_index=True)


def _frame(
    seed: int, way: str, arm: str, budget: int, games: NDArray[np.intp], solved: Any, env_steps: Any
) -> pd.DataFrame:
    rows = {"seed": seed, "way": way, "arm": arm, "budget": budget, "game": games}
    frame = pd.DataFrame({**rows, "solved": solved, "env_steps": env_steps}, columns=list(COLUMNS))
    return frame.astype({"solved": float, "env_steps": float})


def _way(candidates: int, ahead: int) -> str:
    return f"{candidates} candidates, {ahead} step{'s' if ahead > 1 else ''} ahead"


def _attempt_table(results: pd.DataFrame) -> Table:
    """Success of best of n, by budget."""
    own = results[results.way == "best of n"]
    budgets = sorted(int(budget) for budget in own.budget.unique())
    arms = (RANDOM, HEURISTIC, WARM, TRAINED, TRUTH, SHORTEST, ANY)
    return Table(
        title="Best of n: success by environment steps for each game",
        note=f"Percent, 95 % intervals over {own.game.nunique()} games, means over {own.seed.nunique()} seeds. As many "
        "whole attempts as fit; the one of the highest mean vote is chosen. Only a solved episode ends before the "
        "last step in these games, so `shortest` reads the outcome: a ceiling, as is `any`, that an attempt solved it.",
        header=("chosen by", *(f"{budget} steps" for budget in budgets)),
        rows=tuple((arm, *(_cell(own, "best of n", arm, budget) for budget in budgets)) for arm in arms),
    )


def _search_table(results: pd.DataFrame) -> Table:
    """Success of step-level search."""
    ways = _ways(results)
    return Table(
        title="Step-level search: success, and environment steps used for each game",
        note="Percent, 95 % intervals over games, means over seeds. At each decision all candidates go on, the one of "
        "the highest mean vote on its new steps is kept, and the others replay it. Budgets count replayed steps.",
        header=("chosen by", *(f"{way} (at most {budget})" for way, budget in ways)),
        rows=tuple(
            (arm, *(f"{_cell(results, way, arm, b)}, {_used(results, way, arm):.0f} steps" for way, b in ways))
            for arm in ARMS
        ),
    )


def _difference_table(results: pd.DataFrame) -> Table:
    """Paired differences between arms."""
    columns = [
        ("best of n", budget) for budget in sorted(int(b) for b in results[results.way == "best of n"].budget.unique())
    ]
    columns = columns[1:] + _ways(results)
    rows = []
    for one, other in PAIRS:
        cells = []
        for way, budget in columns:
            # a search by random scores is one attempt
            base = _values_of(results, "best of n" if other == RANDOM else way, other, budget)
            ours = _values_of(results, way, one, budget)
            cells.append(_signed(over_games((ours - base).tolist())) if len(ours) and len(base) else NONE)
        rows.append((f"{one} − {other}", *cells))
    return Table(
        title="Paired differences (points)",
        note="On the same games; 95 % intervals over games; * the interval excludes 0. Not corrected for their number.",
        header=("difference", *(f"{way}, {budget} steps" for way, budget in columns)),
        rows=tuple(rows),
    )


def _values_of(results: pd.DataFrame, way: str, arm: str, budget: int) -> Floats:
    """Mean over seeds of the success in each game, shape (games,)."""
    rows = results[(results.way == way) & (results.arm == arm) & (results.budget == budget)]
    return np.asarray(rows.groupby("game").solved.mean().to_numpy(), dtype=np.float64)


def _ways(results: pd.DataFrame) -> list[tuple[str, int]]:
    """Step-level searches with their budgets, in the order of the study."""
    own = results[results.way != "best of n"]
    return list(dict.fromkeys((str(way), int(budget)) for way, budget in zip(own.way, own.budget, strict=True)))


def _used(results: pd.DataFrame, way: str, arm: str) -> float:
    return float(results[(results.way == way) & (results.arm == arm)].env_steps.mean())


def _cell(results: pd.DataFrame, way: str, arm: str, budget: int) -> str:
    values = _values_of(results, way, arm, budget)
    return points(over_games(values.tolist())) if len(values) else NONE


def _signed(value: Estimate) -> str:
    clear = value.low is not None and value.high is not None and (value.low > 0 or value.high < 0)
    return points(value, signed=True) + ("*" if clear else "")
