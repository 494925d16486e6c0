"""The reward of a judge that forecasts: the Brier score of the chance of success that it wrote after each step.

Consistency pays a vote for agreeing with the outcome, linearly in its probability, so the best answer is always the
more likely side, and votes converge to 0 and 1. The Brier score is proper: the best forecast is the chance itself
(RLCR, arXiv 2507.16806).

A forecast is one of ten bins, and the probabilities of the bins say more than the one that was sampled. So the chance
that others read, the policy's critic too, is their mean, and the sampled bin is what is rewarded. Dividing by the
spread over the answers of a step would not be proper (two forecasts of .1 and .3 differ by .32 in a solved episode and
by .08 in a failed one, and would count the same), so rewards are only centred.
"""

from __future__ import annotations

import numpy as np

from rlanything_agents.feedback.arrays import Floats

__all__ = ["BINS", "brier_advantages", "mean_chance"]

BINS = (np.arange(10) + 0.5) / 10
"""Chance of each bin of a forecast: .05, .15, ... .95."""


def mean_chance(probabilities: Floats) -> float:
    """Chance of success by the probabilities of the ten bins, shape (10,); they need not sum to 1."""
    return float(np.asarray(probabilities) @ BINS / np.sum(probabilities))


def brier_advantages(
    chances: Floats, sampled: Floats, outcome: float, *, unparsable_reward: float | None = None
) -> Floats:
    """Advantage of each sampled forecast on an episode, shape (steps, m); 0 for all where the outcome is masked.

    ``(c - y)^2 - (s - y)^2`` with the sampled forecast ``s``, the mean chance ``c`` of the step, and 1 or 0 for ``y``.
    The first term depends on no sampled bin, so the mean gradient is that of the Brier score, with one answer a step
    too.

    Args:
        chances: Chance by the probabilities of the bins, shape (steps, m); NaN for an answer that cannot be read.
        sampled: Chance of the sampled bin, shape (steps, m).
        outcome: 1, -1 or NaN.
        unparsable_reward: Advantage of an answer that cannot be read; 0 if None.
    """
    if np.isnan(outcome) or not chances.size:
        return np.zeros_like(chances)
    read = ~np.isnan(chances) & ~np.isnan(sampled)
    total, count = np.where(read, chances, 0.0).sum(axis=1), read.sum(axis=1)
    mean = (total / np.maximum(1, count))[:, None]
    solved = float(outcome > 0)
    worth = (mean - solved) ** 2 - (np.where(read, sampled, 0.0) - solved) ** 2
    return np.where(read, worth, 0.0 if unparsable_reward is None else unparsable_reward)
