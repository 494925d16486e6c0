"""Directions of updates against a reference gradient: pure functions of inner products.

A small batch's update ``b`` is compared with the gradient ``g`` of success. What is known of ``g`` are independent
unbiased estimates ``r_k`` of it (the folds of the reference), so nothing below needs ``g`` itself:

- ``<b, g>`` is estimated by the mean of ``<b, r_k>``, since the episodes of ``b`` and of the folds differ;
- ``|g|^2`` by the mean of ``<r_k, r_l>`` over pairs of different folds. The square of the mean fold would be too large
  by the noise of the folds, and all cosines too small by the same factor;
- ``|E b|^2``, of the mean update, by the mean of ``<b_i, b_j>`` over pairs of different batches, for the same reason.

So the cosines are those with the gradient of success, not with a noisy measurement of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

__all__ = ["BUCKETS", "Directions", "Sketch", "directions", "pairs_mean"]

Floats = NDArray[np.float64]

BUCKETS = 32749
"""Numbers of a sketch: a prime, so that no column of a weight matrix falls into few buckets. The inner product of two
sketches is unbiased, and off by 1/sqrt(32749) = 0.6 % of the product of the two norms (standard deviation)."""


class Sketch:
    """Linear map of gradients to `BUCKETS` numbers that keeps inner products: random signs, then sums over buckets.

    Args:
        weights: Length of a gradient.
    """

    def __init__(self, weights: int) -> None:
        rng = torch.Generator().manual_seed(0)
        self.signs = torch.randint(0, 2, (weights,), generator=rng, dtype=torch.float32) * 2 - 1

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        """Sketches of gradients, shape (rows, weights), as shape (rows, BUCKETS)."""
        signed = rows * self.signs
        whole = signed.shape[1] // BUCKETS * BUCKETS
        sums = signed[:, :whole].reshape(len(rows), -1, BUCKETS).sum(1)
        sums[:, : signed.shape[1] - whole] += signed[:, whole:]
        return sums


@dataclass(frozen=True, slots=True)
class Directions:
    """Small batches of one kind of update against the gradient of success.

    Attributes:
        cosines: Cosine of each batch's update with the gradient, shape (batches,); 0 for a batch without an update.
        empty: Share of batches without an update: no group taught anything.
        bias: Cosine of the mean update with the gradient: 1 where only noise is between them. None where the mean is
            not told from 0.
        noise: Variance of the updates over the square of their mean, both summed over all weights; None likewise.
    """

    cosines: Floats
    empty: float
    bias: float | None
    noise: float | None


def pairs_mean(vectors: NDArray[np.floating]) -> float:
    """Mean inner product of two different rows, an unbiased estimate of the square of the norm of their mean."""
    count, rows = len(vectors), np.asarray(vectors, dtype=np.float64)
    return float((np.square(rows.sum(axis=0)).sum() - np.square(rows).sum()) / (count * (count - 1)))


def directions(batches: NDArray[np.floating], reference: NDArray[np.floating]) -> Directions:
    """Compare the updates of small batches with the gradient of success.

    Args:
        batches: Updates, shape (batches, numbers), in the direction of ascent.
        reference: Independent unbiased estimates of the gradient, shape (folds, numbers), from other episodes.

    Raises:
        ValueError: The folds do not tell the gradient from 0: it takes more episodes.
    """
    length = pairs_mean(reference)
    if not length > 0:
        raise ValueError(f"{len(reference)} folds of the reference do not agree on a direction: give it more episodes")
    rows = np.asarray(batches, dtype=np.float64)
    along = rows @ np.asarray(reference, dtype=np.float64).mean(axis=0) / np.sqrt(length)
    norms = np.sqrt(np.square(rows).sum(axis=1))
    moved = norms > 0
    cosines = np.divide(along, norms, out=np.zeros(len(rows)), where=moved)
    own = pairs_mean(rows) if len(rows) > 1 else 0.0
    if not own > 0:
        return Directions(cosines, float(1 - moved.mean()), None, None)
    noise = (np.square(norms).mean() - own) / own
    return Directions(cosines, float(1 - moved.mean()), float(along.mean() / np.sqrt(own)), float(noise))
