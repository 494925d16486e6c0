"""Which lanes of different length go through a model together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["common_prefix", "like_length"]


def like_length(counts: np.ndarray, tokens: int, smallest: int = 8) -> list[np.ndarray]:
    """Split lanes into groups padded to at most twice the length, unless that leaves groups of a few lanes.

    Args:
        counts: Tokens of each lane, int64 array of shape (n,).
        tokens: Most padded tokens of a group, which bounds the memory of a forward pass.
        smallest: A group is not cut below this many lanes for the sake of padding.

    Returns:
        The lanes of each group, ascending.
    """
    groups: list[list[int]] = []
    for i in np.argsort(-counts, kind="stable"):
        longest = counts[groups[-1][0]] if groups else 0
        fits = groups and longest * (len(groups[-1]) + 1) <= tokens
        if fits and (2 * counts[i] > longest or len(groups[-1]) < smallest):
            groups[-1].append(int(i))
        else:
            groups.append([int(i)])
    return [np.sort(np.array(group, dtype=np.int64)) for group in groups]


def common_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two sequences have in common at the beginning."""
    length = min(len(one), len(other))
    if one[:length] == other[:length]:
        return length
    return int((np.asarray(one[:length]) != np.asarray(other[:length])).argmax())
