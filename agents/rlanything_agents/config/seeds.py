"""Named random streams: every random choice of a run has its own seed, derived from the run's seed."""

from __future__ import annotations

import zlib

import numpy as np

__all__ = ["rng_of", "seed_of"]


def seed_of(root: int, *path: str | int) -> int:
    """32-bit seed of the stream named by ``path``; the same on every machine and in every process."""
    return int(_sequence(root, path).generate_state(1)[0])


def rng_of(root: int, *path: str | int) -> np.random.Generator:
    """NumPy generator of the stream named by ``path``."""
    return np.random.default_rng(_sequence(root, path))


def _sequence(root: int, path: tuple[str | int, ...]) -> np.random.SeedSequence:
    return np.random.SeedSequence([root, *(zlib.crc32(p.encode()) if isinstance(p, str) else p for p in path)])
