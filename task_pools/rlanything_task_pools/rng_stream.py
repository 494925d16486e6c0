"""Random draws that come out the same on every machine, Python and library version."""

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

VERSION = 1
"""Version of the generator's draws; any change of them changes it, since the same seeds then give other tasks."""


class RngStream:
    """A stream of draws named by a key.

    Only ``random.Random(int).random()`` is used, the one sequence Python promises to keep across versions;
    NumPy makes no such promise for its generators, and ``hash()`` differs between processes.
    """

    __slots__ = ("_random",)

    def __init__(self, *key: str | int) -> None:
        digest = hashlib.sha256("\x1f".join(str(part) for part in (VERSION, *key)).encode()).digest()
        self._random = random.Random(int.from_bytes(digest, "big")).random

    def uniform(self) -> float:
        """A number in [0, 1)."""
        return self._random()

    def chance(self, probability: float) -> bool:
        """True with a probability."""
        return self._random() < probability

    def below(self, n: int) -> int:
        """An integer in [0, n)."""
        return int(self._random() * n)

    def pick(self, items: Sequence[T]) -> T:
        """One of the items, uniformly."""
        return items[int(self._random() * len(items))]

    def weighted(self, weights: Mapping[T, float]) -> T:
        """A key with a probability in proportion to its weight; depends on the order of the mapping."""
        mark = self._random() * sum(weights.values())
        for item, weight in weights.items():
            mark -= weight
            if mark < 0:
                return item
        return next(reversed(list(weights)))

    def shuffled(self, n: int) -> list[int]:
        """The numbers below n in random order."""
        draws = [self._random() for _ in range(n)]
        return sorted(range(n), key=draws.__getitem__)


def count_at(share: float, quantiles: Sequence[float]) -> int:
    """The count at a share in [0, 1) of a distribution given by evenly spaced quantiles; at least 1."""
    place = share * (len(quantiles) - 1)
    low = int(place)
    value = quantiles[low] + (place - low) * (quantiles[low + 1] - quantiles[low])
    return max(1, int(value + 0.5))
