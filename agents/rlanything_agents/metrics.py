"""The numbers a run reports: success with an interval, and how far a judge can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.metrics import roc_auc_score

__all__ = ["JudgeQuality", "SuccessRate", "judge_quality", "success_rate"]


@dataclass(frozen=True)
class SuccessRate:
    """Share of won episodes with its 95 % Wilson interval.

    Episodes that an infrastructure failure ended are counted apart and enter neither side of the share.
    """

    successes: int
    episodes: int
    rate: float
    low: float
    high: float
    errors: int = 0

    def above(self, other: SuccessRate) -> bool:
        """True iff this interval lies wholly above the other one."""
        return self.low > other.high

    def __str__(self) -> str:
        return f"{self.rate:.1%} [{self.low:.1%}, {self.high:.1%}]"


def success_rate(outcomes: Sequence[int | None]) -> SuccessRate:
    """Success over ``outcomes`` (1 won, -1 lost, None infrastructure error).

    Raises:
        ValueError: Not one episode ended with an outcome.
    """
    counted = [outcome for outcome in outcomes if outcome is not None]
    if not counted:
        raise ValueError("no episode ended with an outcome; see the infrastructure errors in the log")
    won = sum(outcome == 1 for outcome in counted)
    interval = binomtest(won, len(counted)).proportion_ci(confidence_level=0.95, method="wilson")
    return SuccessRate(
        successes=won,
        episodes=len(counted),
        rate=won / len(counted),
        low=float(interval.low),
        high=float(interval.high),
        errors=len(outcomes) - len(counted),
    )


@dataclass(frozen=True)
class JudgeQuality:
    """Agreement of a judge's votes with the truth.

    ``process`` compares single votes with the planner's step labels; an unparsable vote is wrong.
    ``process_balanced`` is the mean over right and wrong steps, so that always answering "wrong" scores 0.5.
    ``outcome`` compares the sign of a trajectory's mean score with its outcome; ``outcome_auc`` ranks
    trajectories by that mean. ``p_plus`` and ``p_minus`` are the shares of right (wrong) steps that a vote
    calls right (wrong); ``mu`` is their sum, which Theorem 1 of the paper wants above 1.
    """

    process: float
    process_balanced: float
    p_plus: float
    p_minus: float
    mu: float
    outcome: float
    outcome_balanced: float
    outcome_auc: float | None
    unparsable: float
    steps: int
    trajectories: int

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def judge_quality(
    scores: Sequence[NDArray[np.float64]], labels: Sequence[NDArray[np.int64]], outcomes: Sequence[int]
) -> JudgeQuality:
    """Measure a judge.

    Args:
        scores: Per trajectory, votes of shape ``(steps, votes)`` in {-1, 0, 1}; 0 is an unparsable vote.
        labels: Per trajectory, true step labels of shape ``(steps,)`` in {-1, 1}.
        outcomes: Per trajectory, 1 or -1.
    """
    votes = np.concatenate([s.reshape(-1) for s in scores])
    truth = np.concatenate([np.repeat(label, s.shape[1]) for s, label in zip(scores, labels, strict=True)])
    p_plus = float(np.mean(votes[truth == 1] == 1))
    p_minus = float(np.mean(votes[truth == -1] == -1))
    means = np.array([s.mean() for s in scores])
    ends = np.array(outcomes)
    called = np.where(means > 0, 1, -1)
    both = len(set(outcomes)) == 2
    per_class = [float(np.mean(called[ends == end] == end)) for end in sorted(set(outcomes))]
    return JudgeQuality(
        process=float(np.mean(votes == truth)),
        process_balanced=(p_plus + p_minus) / 2,
        p_plus=p_plus,
        p_minus=p_minus,
        mu=p_plus + p_minus,
        outcome=float(np.mean(called == ends)),
        outcome_balanced=float(np.mean(per_class)),
        outcome_auc=float(roc_auc_score(ends == 1, means)) if both else None,
        unparsable=float(np.mean(votes == 0)),
        steps=sum(len(label) for label in labels),
        trajectories=len(scores),
    )
