"""Batches of sequences of different lengths, and prefixes that they share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["Batches", "common_prefix", "like_length", "shared_prefixes"]

FEW = 8
"""Rows below which `like_length` does not cut a group for the sake of padding."""


class Batches:
    """Cuts a sequence of prompts into batches as they come in; equal sequences are always cut at the same places.

    Args:
        tokens: Maximum tokens of a batch, each sample padded to the longest; a batch has at least one prompt.
        samples: Samples per prompt.
        room: Tokens that a sample may add to its prompt.
    """

    def __init__(self, tokens: int, samples: int, room: int) -> None:
        self._tokens, self._samples, self._room = tokens, samples, room
        self._prompts = self._longest = 0

    def begins(self, length: int) -> bool:
        """Count the next prompt, of ``length`` tokens; True if it begins a new batch."""
        self._prompts, self._longest = self._prompts + 1, max(self._longest, length + self._room)
        if self._prompts == 1 or self._prompts * self._samples * self._longest <= self._tokens:
            return False
        self._prompts, self._longest = 1, length + self._room
        return True


def like_length(counts: np.ndarray, tokens: int) -> list[np.ndarray]:
    """Split rows into groups padded to less than twice their length, unless that leaves groups of a few rows.

    Args:
        counts: Tokens of each row, int64 array of shape (n,).
        tokens: Maximum padded tokens of a group, which bounds the memory of a forward pass; a single row may have more.

    Returns:
        Indices of the rows of each group, ascending.
    """
    groups: list[list[int]] = []
    for i in np.argsort(-counts, kind="stable"):
        longest = counts[groups[-1][0]] if groups else 0
        fits = groups and longest * (len(groups[-1]) + 1) <= tokens
        if fits and (2 * counts[i] > longest or len(groups[-1]) < FEW):
            groups[-1].append(int(i))
        else:
            groups.append([int(i)])
    return [np.sort(np.array(group, dtype=np.int64)) for group in groups]


def common_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    """Number of tokens in the common prefix of two sequences."""
    length = min(len(one), len(other))
    if one[:length] == other[:length]:
        return length
    return int((np.asarray(one[:length]) != np.asarray(other[:length])).argmax())


def shared_prefixes(texts: Sequence[Sequence[int]], least: int) -> list[tuple[int, int] | None]:
    """Find the prefix that each text shares with another one, so that a model reads it only once.

    Neighbours with a common prefix form a group (turns of one episode, samples of one task); the model reads the
    longest text of a group whole.

    Args:
        texts: Token ids of each text.
        least: Fewest tokens of a prefix that is worth sharing.

    Returns:
        For each text the index of the text that shares its prefix, and the tokens of the prefix, which leave at least
        one token to read; None for a text that is read whole.
    """
    shared: list[tuple[int, int] | None] = [None] * len(texts)
    first = 0
    for end in range(1, len(texts) + 1):
        if end < len(texts) and common_prefix(texts[end - 1], texts[end]) >= least:
            continue
        longest = max(range(first, end), key=lambda at: len(texts[at]))
        for at in range(first, end):
            same = min(common_prefix(texts[longest], texts[at]), len(texts[at]) - 1)
            if at != longest and same >= least:
                shared[at] = longest, same
        first = end
    return shared
