"""What both halves do with numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

ZERO = 1e-9
"""Spread below which values count as equal: rewards are of order 1 and rounding leaves about 1e-16."""


class FeedbackError(ValueError):
    """Outcomes or votes of a shape or value that no trajectory can have."""


def standardise(values: Floats, mean: Floats | float, spread: Floats | float, floor: float = 0.0) -> Floats:
    """``(values - mean) / max(spread, floor)``; all zeros where there is no spread."""
    spread = np.asarray(spread)
    standard = np.where(spread < ZERO, 0.0, (values - mean) / np.maximum(spread, max(floor, ZERO)))
    # A value that equals the mean up to rounding is a dropped sample, not a tiny advantage.
    standard[np.abs(standard) < ZERO] = 0.0
    return standard


def standardise_by(values: Floats, labels: Indices) -> Floats:
    """Standardise values over all that share their label (population standard deviation).

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
    """All numbers of some arrays in one row."""
    return np.concatenate([a.ravel() for a in arrays]) if arrays else np.zeros(0)


def mean_of(values: NDArray[np.generic]) -> float | None:
    """The mean; ``None`` of nothing."""
    return float(values.astype(np.float64).mean()) if values.size else None
