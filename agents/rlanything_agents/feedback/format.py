"""Format feedback: answers that can be read against those that cannot, where outcomes teach nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rlanything_agents.feedback.arrays import Floats, standardise


def format_advantages(readable: Sequence[Floats], outcomes: Floats) -> list[Floats]:
    """Standardise readability over all answers of a group (population standard deviation).

    Where a share p of them can be read, a readable answer gets ``sqrt((1 - p) / p)`` and an unreadable one
    ``-sqrt(p / (1 - p))``; all get 0 where all can be read, or none.

    Args:
        readable: For each trajectory an array of any shape: 1 readable, 0 not, NaN unknown.
        outcomes: Shape (n,): NaN masks a trajectory.

    Returns:
        Arrays of the same shapes; 0 where unknown or masked.
    """
    readable = [np.where(np.isnan(end), np.nan, array) for array, end in zip(readable, outcomes, strict=True)]
    values = np.concatenate([np.zeros(0), *(array.ravel() for array in readable)])
    known = values[~np.isnan(values)]
    if not known.size:
        return [np.zeros(array.shape) for array in readable]
    mean, spread = float(known.mean()), float(known.std())
    return [np.nan_to_num(standardise(array, mean, spread)) for array in readable]
