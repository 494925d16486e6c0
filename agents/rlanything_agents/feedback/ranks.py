"""Outcomes by rank, where a group has no verifier."""

from __future__ import annotations

import numpy as np

from rlanything_agents.feedback.arrays import ZERO, Floats


def ranked_outcomes(worth: Floats) -> Floats:
    """Success for what is worth more than the median of its group, failure for the rest.

    The rank alone counts: a reward model that leans to one answer, or comes to lean to it while it is trained, shifts
    all episodes of a group alike, which a fixed threshold would read as success or failure of all. The price is that
    about half of a group succeeds, however many of its episodes did. Equal worth is a tie, and what ties with the
    median has failed, so a group without differences has no spread and teaches nothing.

    Args:
        worth: Shape (n,): of each episode; NaN masks it.

    Returns:
        Shape (n,): 1, -1, or NaN where masked.
    """
    valid = ~np.isnan(worth)
    if not valid.any():
        return worth.copy()
    above = np.where(worth > np.median(worth[valid]) + ZERO, 1.0, -1.0)
    return np.where(valid, above, np.nan)
