"""Choosing the next token, the same way on every machine: randomness comes in from outside, one stream per lane."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

__all__ = ["LaneNoise", "sample_tokens"]


class LaneNoise:
    """Uniform random numbers with a stream per lane, so that no lane's luck depends on another lane.

    Args:
        seed: Seed of all streams.
        lanes: Number of each stream.
        block: How many numbers a stream draws at a time.
    """

    def __init__(self, seed: int, lanes: Sequence[int], block: int = 512) -> None:
        self._streams = [np.random.default_rng((seed, lane)) for lane in lanes]
        self._block = np.array([stream.random(block) for stream in self._streams])
        self._used = np.zeros(len(lanes), dtype=np.int64)

    def draw(self, rows: np.ndarray) -> np.ndarray:
        """The next number in [0, 1) of each of these streams, given by their positions."""
        for row in rows[self._used[rows] == self._block.shape[1]]:
            self._block[row] = self._streams[row].random(self._block.shape[1])
            self._used[row] = 0
        drawn: np.ndarray = self._block[rows, self._used[rows]]
        self._used[rows] += 1
        return drawn


def sample_tokens(
    logits: torch.Tensor, choices: Sequence[tuple[int, ...] | None], uniform: np.ndarray, temperature: float
) -> tuple[list[int], list[float]]:
    """One token per row by inversion of the distribution function.

    Args:
        logits: float32 of shape (n, vocabulary).
        choices: Per row the ids to choose from, or None for all.
        uniform: float64 of shape (n,) in [0, 1).
        temperature: Divides the logits.

    Returns:
        n ids, and their log-probabilities at temperature 1 among the choices.
    """
    if any(choice is not None for choice in choices):
        barred = np.zeros(logits.shape, dtype=bool)
        for row, choice in enumerate(choices):
            if choice is not None:
                barred[row] = True
                barred[row, list(choice)] = False
        logits = logits.masked_fill(torch.from_numpy(barred).to(logits.device), float("-inf"))
    logprobs = logits.log_softmax(-1)
    cumulative = (logits.double() / temperature).softmax(-1).cumsum(-1)
    threshold = torch.from_numpy(uniform).to(logits.device)[:, None] * cumulative[:, -1:]
    tokens = (cumulative <= threshold).sum(-1, keepdim=True)
    return tokens[:, 0].tolist(), logprobs.gather(1, tokens)[:, 0].tolist()
