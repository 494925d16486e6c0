"""Detection of corrupted steps by judges: AUC and shares of negative votes, with intervals over trajectories.

The score of a place is a judge's mean vote on it. A judge notices a corruption when the corrupted steps score lower
than the same steps in order; ``auc`` is the chance that a step in order scores higher than a corrupted one (a tie
counts half), 0.5 where nothing is noticed. Where the outcome is corrupted, a place is a whole trajectory and its
score is its reported outcome times the mean vote on all of its steps.

Intervals are percentile bootstraps over trajectories within a judge; values of several seeds' judges are averaged.
How much judges of further seeds would differ is not in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from numpy.typing import NDArray

__all__ = ["COLUMNS", "FIGURES", "Figure", "Noticed", "auc_of", "noticed", "noticed_more"]

Floats = NDArray[np.float64]

COLUMNS = ("seed", "judge", "corruption", "trajectory", "clean", "corrupted", "clean_negative", "corrupted_negative")
"""Of a frame of places: which judge, what was done to which trajectory, the scores of the place in order and
corrupted, and the shares of single votes on it that are negative."""

RESAMPLES = 2000
SEED = 20_260_202
"""Seed of the resampling: all judges of a seed have the same draws, so their differences are paired."""

Figure = Literal["auc", "clean_negative", "corrupted_negative", "turned"]
FIGURES: tuple[Figure, ...] = get_args(Figure)
"""``clean_negative`` and ``corrupted_negative``: share of single votes that are negative. ``turned``: of the places
with a positive score in order, the share whose score is negative when corrupted."""


@dataclass(frozen=True, slots=True)
class Noticed:
    """One figure with its 95 % interval.

    Attributes:
        value: Mean over seeds.
        low: Lower end.
        high: Upper end.
        places: Steps, or trajectories, it is measured on.
        trajectories: Trajectories they lie in.
        seeds: Judges that were measured.
    """

    value: float
    low: float
    high: float
    places: int
    trajectories: int
    seeds: int


def auc_of(clean: Floats, corrupted: Floats) -> float:
    """Chance that a draw of ``clean`` is above one of ``corrupted``, ties counted half; NaN for an empty side."""
    if not (clean.size and corrupted.size):
        return float("nan")
    return float(np.mean((clean[:, None] > corrupted) + 0.5 * (clean[:, None] == corrupted)))


def noticed(places: pd.DataFrame, figure: Figure) -> Noticed | None:
    """One figure of one judge and one corruption; None where it has no value.

    Args:
        places: Rows of a frame with `COLUMNS`, of one judge and one corruption.
        figure: Which.
    """
    measured = [_of_seed(int(str(seed)), rows, figure) for seed, rows in places.groupby("seed")]
    return _summary([value for value, _ in measured], [draws for _, draws in measured], places)


def noticed_more(one: pd.DataFrame, other: pd.DataFrame, figure: Figure) -> Noticed | None:
    """By how much a figure of one judge exceeds that of another, on the seeds and trajectories both have.

    Args:
        one: As for `noticed`.
        other: The same places, judged by the other.
        figure: Which.
    """
    theirs = {int(str(seed)): _of_seed(int(str(seed)), rows, figure) for seed, rows in other.groupby("seed")}
    values, draws = [], []
    for seed, rows in one.groupby("seed"):
        if int(str(seed)) in theirs:
            value, drawn = _of_seed(int(str(seed)), rows, figure)
            value_there, drawn_there = theirs[int(str(seed))]
            values.append(value - value_there)
            draws.append(drawn - drawn_there)
    return _summary(values, draws, one)


def _summary(values: Sequence[float], draws: Sequence[Floats], places: pd.DataFrame) -> Noticed | None:
    if not values or np.isnan(values).any():
        return None
    low, high = np.nanquantile(np.mean(draws, axis=0), (0.025, 0.975))
    return Noticed(
        value=float(np.mean(values)),
        low=float(low),
        high=float(high),
        places=len(places),
        trajectories=len(places[["seed", "trajectory"]].drop_duplicates()),
        seeds=len(values),
    )


def _of_seed(seed: int, rows: pd.DataFrame, figure: Figure) -> tuple[float, Floats]:
    """The score of one judge, and its values in resamples of the trajectories."""
    clusters, which = np.unique(rows.trajectory.to_numpy(), return_inverse=True)
    rng = np.random.default_rng((SEED, seed))
    count = len(clusters)
    weights = rng.multinomial(count, np.full(count, 1 / count), size=RESAMPLES).astype(np.float64)
    weights = np.concatenate([np.ones((1, count)), weights])  # the sample itself comes first
    columns = {name: rows[name].to_numpy(dtype=np.float64) for name in COLUMNS[4:]}
    with np.errstate(invalid="ignore", divide="ignore"):
        values = _weighted(columns, which, weights, figure)
    return float(values[0]), values[1:]


def _weighted(columns: Mapping[str, Floats], which: NDArray[np.intp], weights: Floats, figure: Figure) -> Floats:
    """The figure for each row of weights of the trajectories, shape (rows,)."""
    clean, corrupted = columns["clean"], columns["corrupted"]

    def total(values: Floats) -> Floats:
        return weights @ np.bincount(which, weights=values, minlength=weights.shape[1])

    if figure == "turned":
        return total(((clean > 0) & (corrupted < 0)).astype(np.float64)) / total((clean > 0).astype(np.float64))
    if figure != "auc":
        return total(columns[figure]) / total(np.ones(len(which)))
    levels = np.unique(np.concatenate([clean, corrupted]))
    shares = []
    for side in (clean, corrupted):
        counts = np.zeros((weights.shape[1], len(levels)))
        np.add.at(counts, (which, np.searchsorted(levels, side)), 1.0)
        drawn = weights @ counts
        shares.append(drawn / drawn.sum(axis=1, keepdims=True))
    below = np.cumsum(shares[1], axis=1) - 0.5 * shares[1]
    auc: Floats = (shares[0] * below).sum(axis=1)
    return auc
