"""Weights of the tokens in a loss: how the losses of single tokens become the loss of an optimizer step.

A sequence is one answer of the model: a step of an episode, or a vote. A row may hold several of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rlanything_agents.training.samples import Sample

__all__ = ["OUTSIDE", "aggregated", "answers_of"]

OUTSIDE = -1
"""Index of the answer of a token without weight."""


def answers_of(sample: Sample) -> list[int]:
    """Index of the answer of each token, from 0 in order; `OUTSIDE` for tokens without weight."""
    steps = [0] * len(sample.weights) if sample.steps is None else sample.steps
    numbers: dict[int | None, int] = {}
    return [
        numbers.setdefault(step, len(numbers)) if weight else OUTSIDE
        for step, weight in zip(steps, sample.weights, strict=True)
    ]


def aggregated(batch: Sequence[Sample], loss: str, longest: int) -> tuple[list[Sample], float]:
    """Weights and divisor of a loss: the loss of an optimizer step is ``sum(weight * loss) / divisor``.

    Args:
        batch: Samples of one optimizer step, whose weights sum to 1 over each answer.
        loss: ``loss`` of the trainer's settings.
        longest: Maximum tokens of an answer, by which ``dr_grpo`` divides.

    Returns:
        The samples with the loss's weights, and the divisor.
    """
    answers = sum(sum(sample.weights) for sample in batch)
    if loss == "grpo":
        return list(batch), answers
    counted = [_by_token(sample) for sample in batch]
    if loss != "dr_grpo":
        return counted, sum(sum(sample.weights) for sample in counted)
    return counted, answers * longest


def _by_token(sample: Sample) -> Sample:
    """Sample with the weight of its whole answer for each token, which is 1, in place of a share of it."""
    answers = np.array(answers_of(sample))
    sizes = np.bincount(answers[answers != OUTSIDE], minlength=1)
    weights = np.where(answers == OUTSIDE, 0.0, np.array(sample.weights) * sizes[answers])
    return replace(sample, weights=weights.tolist())
