"""The space of texts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import gymnasium as gym

_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789 "
_SAMPLE_LENGTH = 32  # long enough to look like a command, short enough to cost nothing


class Unicode(gym.spaces.Space[str]):
    """Every string of at most `max_length` code points, the empty one included.

    `gymnasium.spaces.Text` needs its whole character set spelled out, so it is either too narrow for real
    text or takes megabytes; and under `AsyncVectorEnv`'s shared memory it silently returns garbage
    (Gymnasium 1.4). This space has no character set, batches in the standard vector environments, and is
    refused by shared memory with a clear error: pass ``vector_kwargs={"shared_memory": False}`` there.

    Args:
        max_length: greatest length in code points, at least 1.
        seed: seed of `sample`.

    Raises:
        ValueError: if `max_length` is not a positive integer.
    """

    def __init__(self, max_length: int = 4096, seed: int | None = None) -> None:
        if isinstance(max_length, bool) or not isinstance(max_length, int) or max_length < 1:
            raise ValueError(f"Unicode: max_length must be a positive integer, got {max_length!r}")
        self.max_length = max_length
        super().__init__(seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """False: a text is not an array of fixed size."""
        return False

    def sample(self, mask: Sequence[str] | None = None, probability: Mapping[str, float] | None = None) -> str:
        """A random text of at most 32 ASCII characters, or one of the given texts.

        Args:
            mask: the allowed texts, one of which is drawn uniformly; ``info["admissible_commands"]`` gives a
                random agent in one line.
            probability: texts with their probabilities (summing to 1); not together with `mask`.

        Raises:
            ValueError: if both are given, one is empty, or a text in it is not in this space.
        """
        if mask is not None and probability is not None:
            raise ValueError("Unicode.sample: give mask or probability, not both")
        if mask is None and probability is None:
            length = int(self.np_random.integers(1, min(_SAMPLE_LENGTH, self.max_length) + 1))
            return "".join(_ALPHABET[i] for i in self.np_random.integers(len(_ALPHABET), size=length))
        texts = list(mask) if mask is not None else list(probability or ())
        if not texts or not all(self.contains(text) for text in texts):
            raise ValueError("Unicode.sample: the texts to draw from must be a non-empty set of this space's texts")
        weights = None if probability is None else list(probability.values())
        return texts[int(self.np_random.choice(len(texts), p=weights))]

    def contains(self, x: Any) -> bool:
        """Whether `x` is a string within the length."""
        return isinstance(x, str) and len(x) <= self.max_length

    def to_jsonable(self, sample_n: Iterable[str]) -> list[str]:
        """Texts are JSON already."""
        return list(sample_n)

    def from_jsonable(self, sample_n: list[Any]) -> list[str]:
        """Texts are JSON already."""
        return list(sample_n)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unicode) and self.max_length == other.max_length

    def __hash__(self) -> int:
        return hash((Unicode, self.max_length))

    def __repr__(self) -> str:
        return f"Unicode({self.max_length})"
