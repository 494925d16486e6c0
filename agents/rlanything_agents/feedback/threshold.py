"""Outcomes by a threshold on scores, where a task has no verifier."""

from __future__ import annotations

import numpy as np

from rlanything_agents.feedback.arrays import ZERO, Floats


def success_threshold(scores: Floats, outcomes: Floats) -> float:
    """The threshold with the fewest errors on episodes of known outcome, if those above it count as solved.

    A rank within the group needs no known outcome, but calls half of every group solved, whatever became of it. Of
    scores that say little of the outcome few lie above this threshold while most episodes fail, and few below while
    most are solved: then groups share one outcome, which teaches nothing.

    Args:
        scores: Shape (n,), of each episode; NaN for one without a score, which does not count.
        outcomes: Shape (n,): 1 solved, -1 failed, NaN unknown, which does not count.

    Returns:
        A value halfway between two neighbouring scores, or infinite. Of several with the fewest errors the highest,
        since a false success teaches what should not be done. Infinity without an episode that counts.
    """
    counts = ~(np.isnan(scores) | np.isnan(outcomes))
    order = np.argsort(scores[counts], kind="stable")
    ordered, solved = scores[counts][order], outcomes[counts][order] > 0
    # errors[k]: if the k lowest are called failed, the solved ones among them and the failed ones above.
    errors = np.concatenate([[0], np.cumsum(solved)]) + np.concatenate([np.cumsum(~solved[::-1])[::-1], [0]])
    bounds = np.concatenate([[-np.inf], ordered, [np.inf]])
    between = np.diff(bounds) > ZERO  # equal scores are not told apart
    best = int(np.flatnonzero(between & (errors == errors[between].min()))[-1])
    return float("inf") if best == len(ordered) else float(bounds[best : best + 2].mean())


def outcomes_above(threshold: float, scores: Floats) -> Floats:
    """Success for each score above a threshold, failure for the others, NaN where a score is NaN; shape (n,)."""
    return np.where(np.isnan(scores), np.nan, np.where(scores > threshold, 1.0, -1.0))
