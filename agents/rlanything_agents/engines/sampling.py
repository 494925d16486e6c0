"""Choosing the next token, the same way on every machine: randomness comes in from outside, one stream per lane."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import torch

__all__ = ["LaneNoise", "sample_tokens"]


class LaneNoise:
    """Uniform random numbers with a stream per lane, so that no lane's luck depends on another lane.

    Args:
        seed: Seed of all streams, or one for each.
        lanes: Number of each stream, below 2**32.
        block: How many numbers a stream draws at a time.
    """

    def __init__(self, seed: int | Sequence[int], lanes: Sequence[int], block: int = 512) -> None:
        # As ``default_rng((seed, lane))``, whose conversion of small numbers takes as long as all the rest.
        words = np.array([*_words(seed), 0] if isinstance(seed, int) else [0], dtype=np.uint32)
        self._streams = []
        for place, lane in enumerate(lanes):
            if not isinstance(seed, int):
                words = np.array([*_words(seed[place]), 0], dtype=np.uint32)
            words[-1] = lane
            self._streams.append(np.random.Generator(np.random.PCG64(np.random.SeedSequence(words))))
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


def _words(number: int) -> list[int]:
    """The 32-bit words of a natural number, the lowest first; at least one."""
    return [number & 0xFFFFFFFF, *(_words(number >> 32) if number >> 32 else [])]


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
    table = None if all(choice is None for choice in choices) else _table(choices, logits.shape[1])
    if table is not None:  # only the candidates are looked at
        ids, outside = (torch.from_numpy(part).to(logits.device) for part in table)
        logits = logits.gather(1, ids.expand(len(logits), -1)).masked_fill(outside, float("-inf"))
    logprobs = logits.log_softmax(-1)
    cumulative = (logits.double() / temperature).softmax(-1).cumsum(-1)
    threshold = torch.from_numpy(uniform).to(logits.device)[:, None] * cumulative[:, -1:]
    places = (cumulative <= threshold).sum(-1, keepdim=True)
    tokens = places if table is None else ids.expand(len(logits), -1).gather(1, places)
    return tokens[:, 0].tolist(), logprobs.gather(1, places)[:, 0].tolist()


def _table(choices: Sequence[tuple[int, ...] | None], vocabulary: int) -> tuple[np.ndarray, np.ndarray]:
    """Candidate ids of shape (n, most candidates) in their order, and which places have none; n is 1 if all agree."""
    if all(choice is choices[0] for choice in choices):  # the slots of a thought are the same for every lane
        choices = choices[:1]
    lists = [range(vocabulary) if choice is None else choice for choice in choices]
    counts = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    inside = np.arange(counts.max()) < counts[:, None]
    ids = np.zeros(inside.shape, dtype=np.int64)
    ids[inside] = np.fromiter(chain.from_iterable(lists), dtype=np.int64, count=int(counts.sum()))
    return ids, ~inside
