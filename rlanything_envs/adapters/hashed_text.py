"""Text as vectors of fixed length. The hash is CRC-32, the same on every machine and in every process."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

__all__ = ["counts", "known_counts", "scaled"]

_WORD = re.compile(r"\w+")


def counts(text: str, features: int) -> NDArray[np.float64]:
    """Counts of the words and of the pairs of words of a text, hashed with signs; shape (features,)."""
    words = _WORD.findall(text.lower())
    hashes = [crc32(gram.encode()) for gram in (*words, *map(" ".join, pairwise(words)))]
    signs = [1.0 if value >> 31 else -1.0 for value in hashes]
    return np.bincount([value % features for value in hashes] or [0], signs or [0.0], features).astype(np.float64)


known_counts = lru_cache(maxsize=16_384)(counts)  # for commands, which recur


def scaled(counts: NDArray[np.float64]) -> NDArray[np.float32]:
    """Counts scaled to length 1; zeros stay zeros."""
    length = float(np.linalg.norm(counts))
    return (counts / length if length else counts).astype(np.float32)
