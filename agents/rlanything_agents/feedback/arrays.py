"""Array arithmetic shared by both halves of the feedback."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rlanything_agents.config.feedback import Band

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

ZERO = 1e-9
"""Standard deviation below which values count as equal: rewards are of order 1, and rounding errors about 1e-16."""


class FeedbackError(ValueError):
    """Outcomes or votes of a shape or value that no trajectory can have."""


def standardise(values: Floats, mean: Floats | float, spread: Floats | float) -> Floats:
    """Compute ``(values - mean) / spread``; zeros where ``spread`` is below `ZERO`."""
    spread = np.asarray(spread)
    standard = np.where(spread < ZERO, 0.0, (values - mean) / np.maximum(spread, ZERO))
    # A value that equals the mean up to rounding drops its sample: no tiny advantages.
    standard[np.abs(standard) < ZERO] = 0.0
    return standard


def standardise_by(values: Floats, labels: Indices) -> Floats:
    """Standardise each value over all values with the same label (population standard deviation).

    Args:
        values: Shape (k,).
        labels: Shape (k,), integers from 0.
    """
    if not values.size:
        return values.copy()
    number = np.maximum(np.bincount(labels), 1)
    mean = np.bincount(labels, values) / number
    spread = np.sqrt(np.bincount(labels, (values - mean[labels]) ** 2) / number)
    return standardise(values, mean[labels], spread[labels])


def flat(arrays: Sequence[NDArray[np.generic]]) -> NDArray[np.generic]:
    """Concatenate all entries of some arrays into one array of shape (k,)."""
    return np.concatenate([a.ravel() for a in arrays]) if arrays else np.zeros(0)


def inside(accuracy: float | None, band: Band | None) -> bool:
    """Whether an accuracy is known and lies in a band; every known one does without a band."""
    return accuracy is not None and (band is None or band[0] <= accuracy <= band[1])


def mean_of(values: NDArray[np.generic]) -> float | None:
    """Mean of the values; ``None`` if there are none."""
    return float(values.astype(np.float64).mean()) if values.size else None
