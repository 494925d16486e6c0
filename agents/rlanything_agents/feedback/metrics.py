"""Metrics of a run: success rates with intervals, and the quality of a judge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlanything_agents.feedback.percent import interval

__all__ = [
    "JudgeQuality",
    "SuccessRate",
    "action_shares",
    "judge_quality",
    "quality_intervals",
    "success_rate",
    "wilson",
]

_Z = NormalDist().inv_cdf(0.975)
FEWEST = 16
"""Fewest trajectories with which a bootstrap over them tells how sure a share is."""
RESAMPLES = 200
"""Resamples of a bootstrap over the trajectories of a judge's panel: 1.5 s for 96 of them."""


@dataclass(frozen=True)
class SuccessRate:
    """Share of solved episodes with its 95 % Wilson interval.

    Episodes that ended with an infrastructure failure are counted in ``errors`` and do not enter the share.
    """

    successes: int
    episodes: int
    rate: float
    low: float
    high: float
    errors: int = 0

    def above(self, other: SuccessRate) -> bool:
        """Whether this interval lies wholly above the other one."""
        return self.low > other.high

    def __str__(self) -> str:
        return interval(self.rate, self.low, self.high)


def success_rate(outcomes: Sequence[int | None]) -> SuccessRate:
    """Compute the success rate of ``outcomes`` (1 solved, -1 failed, None infrastructure error).

    Raises:
        ValueError: No episode ended with an outcome.
    """
    counted = [outcome for outcome in outcomes if outcome is not None]
    if not counted:
        raise ValueError("no episode ended with an outcome; see the infrastructure errors in the log")
    solved = sum(outcome == 1 for outcome in counted)
    trials = len(counted)
    return SuccessRate(solved, trials, solved / trials, *wilson(solved, trials), errors=len(outcomes) - trials)


def wilson(successes: float, trials: float) -> tuple[float, float]:
    """95 % Wilson score interval of a share, both ends from 0 to 1 (E. B. Wilson, JASA 22, 1927); ``trials`` > 0."""
    share, shrunk = successes / trials, 1 + _Z * _Z / trials
    middle = (share + _Z * _Z / (2 * trials)) / shrunk
    half = _Z * sqrt(share * (1 - share) / trials + (_Z / (2 * trials)) ** 2) / shrunk
    return (middle - half if successes else 0.0), (middle + half if successes < trials else 1.0)


def action_shares(commands: Iterable[str]) -> dict[str, float | None]:
    """Compute the shares of turns with a readable action, and with an admissible action.

    Args:
        commands: Result of the action of each turn (``info["command"]``); empty ones do not count.

    Returns:
        ``readable`` and ``admissible``, each from 0 to 1; None if no turn counts.
    """
    known = [command for command in commands if command]
    if not known:
        return {"readable": None, "admissible": None}
    return {
        "readable": sum(command != "unreadable" for command in known) / len(known),
        "admissible": known.count("ok") / len(known),
    }


@dataclass(frozen=True)
class JudgeQuality:
    """Agreement of a judge's votes with true labels and outcomes; None where a metric has no data.

    A vote that cannot be read is no verdict: every metric is over the readable votes, and ``unparsable`` is the share
    of the others. A judge of which nothing can be read has no other metric.

    Attributes:
        process: Share of single votes that agree with the true step labels, here and below over steps whose label is
            1 (right) or -1 (wrong); a step of label 0 is neither.
        process_balanced: Mean of that share over right and over wrong steps; a judge that always answers
            "wrong" scores 0.5.
        p_plus: Share of +1 among the votes on right steps.
        p_minus: Share of -1 among the votes on wrong steps.
        mu: ``p_plus + p_minus``, which Theorem 1 of the paper requires to be above 1.
        right: Share of right steps among right and wrong ones, weighted by readable votes; a judge that always answers
            "wrong" has a ``process`` of 1 minus this.
        outcome: Share of the trajectories with a readable vote whose mean score has the sign of their outcome (0 counts
            as negative).
        outcome_balanced: Mean of that share over solved and over failed trajectories.
        outcome_auc: Area under the ROC curve of the mean score as a predictor of the outcome.
        mid_auc: The same for the scores of single steps, over pairs of a solved and a failed trajectory at the same
            step number that both go on after it: what a judge knows in mid-episode. A constant one has 0.5.
        calibration: Expected calibration error of a step's mean score, read as the chance of success ``(1 + score) /
            2``: the mean distance, over ten bins of chances, of chance and share of success; a forecast's measure.
        unparsable: Share of votes without a score; None without votes.
        steps: Number of steps, those of label 0 included.
        trajectories: Number of trajectories.
    """

    process: float | None
    process_balanced: float | None
    p_plus: float | None
    p_minus: float | None
    mu: float | None
    right: float | None
    outcome: float | None
    outcome_balanced: float | None
    outcome_auc: float | None
    mid_auc: float | None
    calibration: float | None
    unparsable: float | None
    steps: int
    trajectories: int

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain data."""
        return asdict(self)


def judge_quality(
    scores: Sequence[NDArray[np.float64]], labels: Sequence[NDArray[np.int64]], outcomes: Sequence[int]
) -> JudgeQuality:
    """Measure the quality of a judge.

    Args:
        scores: Votes on each trajectory, of shape ``(steps, votes)``, -1 or 1, or the forecast of a chance c as 2c - 1;
            NaN is an unparsable vote. A forecast is compared with a label by its sign.
        labels: True step labels of each trajectory, of shape ``(steps,)`` in {-1, 0, 1}; 0 is neither right nor wrong.
        outcomes: Outcome of each trajectory, 1 or -1.

    Raises:
        ValueError: There are no trajectories.
    """
    if not scores:
        raise ValueError("nothing to measure a judge on: no trajectory ended with an outcome")
    votes = np.concatenate([s.reshape(-1) for s in scores])
    truth = np.concatenate([np.repeat(label, s.shape[1]) for s, label in zip(scores, labels, strict=True)])
    unread = np.isnan(votes)
    unparsable = _share(unread)
    votes, truth = np.sign(votes[~unread]), truth[~unread]
    p_plus, p_minus = _share(votes[truth == 1] == 1), _share(votes[truth == -1] == -1)
    mu = None if p_plus is None or p_minus is None else p_plus + p_minus
    judged = [(s[~np.isnan(s)], outcome) for s, outcome in zip(scores, outcomes, strict=True)]
    readable = [(known.mean(), outcome) for known, outcome in judged if known.size]
    means, ends = np.array([mean for mean, _ in readable]), np.array([outcome for _, outcome in readable])
    called = np.where(means > 0, 1, -1)
    steps = [_step_means(row) for row in scores]
    per_class = [float(np.mean(called[ends == end] == end)) for end in np.unique(ends)]
    return JudgeQuality(
        process=_share((votes == truth)[truth != 0]),
        process_balanced=None if mu is None else mu / 2,
        p_plus=p_plus,
        p_minus=p_minus,
        mu=mu,
        right=_share((truth == 1)[truth != 0]),
        outcome=_share(called == ends),
        outcome_balanced=float(np.mean(per_class)) if per_class else None,
        outcome_auc=_auc([(means[ends == 1], means[ends == -1])]),
        mid_auc=_mid_auc(steps, outcomes),
        calibration=_calibration(steps, outcomes),
        unparsable=unparsable,
        steps=sum(len(label) for label in labels),
        trajectories=len(scores),
    )


def _step_means(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean readable score of each step, shape (steps,); NaN for a step without one."""
    read = ~np.isnan(scores)
    total, count = np.where(read, scores, 0.0).sum(axis=1), read.sum(axis=1)
    return np.where(count, total / np.maximum(1, count), np.nan)


def _mid_auc(steps: Sequence[NDArray[np.float64]], outcomes: Sequence[int]) -> float | None:
    means = [row[:-1] for row in steps]  # the last step may show how the episode ended
    pairs = []
    for number in range(max(map(len, means))):
        there = [(row[number], end) for row, end in zip(means, outcomes, strict=True) if len(row) > number]
        solved, failed = (np.array([mean for mean, end in there if end == side and mean == mean]) for side in (1, -1))
        pairs.append((solved, failed))
    return _auc(pairs)


def _auc(sides: Iterable[tuple[NDArray[np.float64], NDArray[np.float64]]]) -> float | None:
    """Share of the pairs of a solved and a failed one in which the solved one has the higher score; ties are half."""
    won = pairs = 0.0
    for solved, failed in sides:
        difference = solved[:, None] - failed
        won += float((difference > 0).sum() + (difference == 0).sum() / 2)
        pairs += difference.size
    return won / pairs if pairs else None


def _calibration(steps: Sequence[NDArray[np.float64]], outcomes: Sequence[int]) -> float | None:
    chances = (1 + np.concatenate(steps)) / 2
    solved = np.repeat(np.array(outcomes) == 1, [len(row) for row in steps])
    chances, solved = chances[known := ~np.isnan(chances)], solved[known]
    bins = np.minimum(9, (10 * chances).astype(np.intp))
    off = np.abs(np.bincount(bins, chances, 10) - np.bincount(bins, solved, 10)).sum()
    return float(off / len(chances)) if len(chances) else None


def quality_intervals(
    scores: Sequence[NDArray[np.float64]], labels: Sequence[NDArray[np.int64]], outcomes: Sequence[int], seed: int
) -> dict[str, list[float]]:
    """95 % intervals of the shares of `judge_quality`, bootstrapped over the trajectories.

    Args:
        scores: As in `judge_quality`, and so are `labels` and `outcomes`.
        seed: Seed of the resampling.

    Returns:
        Lower and upper end by field, without the fields that have no value in half of the resamples. Empty for fewer
        than `FEWEST` trajectories.
    """
    if len(scores) < FEWEST:
        return {}
    found: dict[str, list[float]] = {}
    for drawn in np.random.default_rng(seed).integers(len(scores), size=(RESAMPLES, len(scores))).tolist():
        quality = judge_quality(*([part[k] for k in drawn] for part in (scores, labels, outcomes)))
        for name, value in quality.to_dict().items():
            if isinstance(value, float):
                found.setdefault(name, []).append(value)
    limits = {
        name: np.quantile(values, (0.025, 0.975)).tolist()
        for name, values in found.items()
        if 2 * len(values) >= RESAMPLES
    }
    # A share of 0 or 1 is the same in every resample, and yet not known exactly.
    return {
        n: list(wilson(low * len(scores), len(scores))) if low == high in (0, 1) and n != "mu" else [low, high]
        for n, (low, high) in limits.items()
    }


def _share(agreed: NDArray[np.bool_]) -> float | None:
    return float(agreed.mean()) if agreed.size else None
