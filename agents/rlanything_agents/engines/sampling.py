"""Sampling of the next token, reproducible on every machine: each completion has its own random stream."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import torch

__all__ = ["NoiseStreams", "sample_tokens"]


class NoiseStreams:
    """Uniform random numbers in independent streams, so that no completion depends on the others of its batch.

    Args:
        seed: Seed of all streams, or one for each.
        numbers: Number of each stream, below 2**32.
        block: Random numbers that a stream draws at a time.
    """

    def __init__(self, seed: int | Sequence[int], numbers: Sequence[int], block: int = 512) -> None:
        # As ``default_rng((seed, number))``, whose conversion of small numbers takes as long as all the rest.
        words = np.array([*_words(seed), 0] if isinstance(seed, int) else [0], dtype=np.uint32)
        self._streams = []
        for place, number in enumerate(numbers):
            if not isinstance(seed, int):
                words = np.array([*_words(seed[place]), 0], dtype=np.uint32)
            words[-1] = number
            self._streams.append(np.random.Generator(np.random.PCG64(np.random.SeedSequence(words))))
        self._block = np.array([stream.random(block) for stream in self._streams])
        self._used = np.zeros(len(numbers), dtype=np.int64)

    def draw(self, rows: np.ndarray) -> np.ndarray:
        """Draw the next number in [0, 1) of each of these streams.

        Args:
            rows: int64 array of shape (n,): positions of the streams, distinct.

        Returns:
            float64 array of shape (n,).
        """
        for row in rows[self._used[rows] == self._block.shape[1]]:
            self._block[row] = self._streams[row].random(self._block.shape[1])
            self._used[row] = 0
        drawn: np.ndarray = self._block[rows, self._used[rows]]
        self._used[rows] += 1
        return drawn


def _words(number: int) -> list[int]:
    """32-bit words of a natural number, the lowest first; at least one."""
    return [number & 0xFFFFFFFF, *(_words(number >> 32) if number >> 32 else [])]


def sample_tokens(
    logits: torch.Tensor,
    choices: Sequence[tuple[int, ...] | None],
    uniform: np.ndarray,
    temperature: float,
    top_p: float = 1.0,
    masks: Sequence[np.ndarray | None] = (),
) -> tuple[list[int], list[float]]:
    """Sample one token per row by inversion of the cumulative distribution.

    Args:
        logits: float32 of shape (n, vocabulary).
        choices: Allowed ids of each row, or None for all.
        uniform: float64 of shape (n,) in [0, 1).
        temperature: Divisor of the logits; 0 takes the most probable id, the first of equals.
        top_p: Probability that the most probable ids to sample from reach together, at this temperature and among those
            that choices and masks leave; 1 for all.
        masks: For each row a bool array of shape (at most vocabulary,) of the ids to sample from, or None for all; for
            rows without choices. Empty if there are none.

    Returns:
        n ids, and their log-probabilities at temperature 1 among the choices. Temperature, ``top_p`` and masks do
        not change these: a trainer scores a token among the choices, or else over the whole vocabulary, and
        cannot know what the sampler cut off.
    """
    free = np.array([choice is None for choice in choices], dtype=bool)
    if free.any() and not free.all():
        # Free and constrained rows separately: one table for both would cover the whole vocabulary.
        tokens, values = np.zeros(len(choices), dtype=np.int64), np.zeros(len(choices))
        for rows in (np.flatnonzero(free), np.flatnonzero(~free)):
            part, some = logits[torch.from_numpy(rows).to(logits.device)], [choices[row] for row in rows.tolist()]
            own = [masks[row] for row in rows.tolist()] if masks else ()
            tokens[rows], values[rows] = sample_tokens(part, some, uniform[rows], temperature, top_p, own)
        return tokens.tolist(), values.tolist()
    table = None if free.all() else _table(choices)  # type: ignore[arg-type]
    if table is not None:  # compute with the candidates only
        ids, outside = (torch.from_numpy(part).to(logits.device) for part in table)
        logits = logits.gather(1, ids.expand(len(logits), -1)).masked_fill(outside, float("-inf"))
    logprobs = logits.log_softmax(-1)
    if table is None and any(mask is not None for mask in masks):
        logits = logits.masked_fill(torch.from_numpy(_excluded(masks, logits.shape[-1])).to(logits.device), -torch.inf)
    if temperature == 0:
        places = logits.argmax(-1, keepdim=True)
    else:
        cumulative = (_bar(logits, temperature, top_p).double() / temperature).softmax(-1).cumsum(-1)
        threshold = torch.from_numpy(uniform).to(logits.device)[:, None] * cumulative[:, -1:]
        places = (cumulative <= threshold).sum(-1, keepdim=True)
    chosen = places if table is None else ids.expand(len(logits), -1).gather(1, places)
    return chosen[:, 0].tolist(), logprobs.gather(1, places)[:, 0].tolist()


def _bar(logits: torch.Tensor, temperature: float, top_p: float) -> torch.Tensor:
    """Logits of shape (n, candidates), with the ids that ``top_p`` excludes at minus infinity."""
    if top_p < 1:
        ordered, order = (logits / temperature).softmax(-1).sort(-1, descending=True)
        beyond = (ordered.cumsum(-1) - ordered) >= top_p
        logits = logits.masked_fill(beyond.scatter(1, order, beyond), float("-inf"))
    return logits


def _excluded(masks: Sequence[np.ndarray | None], vocabulary: int) -> np.ndarray:
    """Ids outside of the masks, bool of shape (n, vocabulary)."""
    excluded = np.zeros((len(masks), vocabulary), dtype=np.bool_)
    for row, mask in zip(excluded, masks, strict=True):
        if mask is not None:
            row[:] = True
            row[: len(mask)] = ~mask
    return excluded


def _table(choices: Sequence[tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray]:
    """Candidate ids of shape (n, most candidates) in their order, and the mask of unused places; n is 1 if all rows
    have the same candidates."""
    if all(choice == choices[0] for choice in choices):  # every row has the same slots in its thought
        choices = choices[:1]
    counts = np.fromiter(map(len, choices), dtype=np.int64, count=len(choices))
    inside = np.arange(counts.max()) < counts[:, None]
    ids = np.zeros(inside.shape, dtype=np.int64)
    ids[inside] = np.fromiter(chain.from_iterable(choices), dtype=np.int64, count=int(counts.sum()))
    return ids, ~inside
