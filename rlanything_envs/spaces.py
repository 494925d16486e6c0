"""The space of texts."""

import multiprocessing
from collections.abc import Mapping, Sequence
from multiprocessing.heap import BufferWrapper
from typing import Any, overload

import gymnasium as gym
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory

_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789 "
_SAMPLE_LENGTH = 32  # long enough to look like a command, short enough to cost nothing


class Unicode(gym.spaces.Space[str]):
    """Every string of at most `max_length` code points, the empty one included.

    `gymnasium.spaces.Text` needs its whole character set spelled out, so it is either too narrow for real
    text or takes megabytes; and under `AsyncVectorEnv`'s shared memory it silently returns garbage
    (Gymnasium 1.4). This space has no character set, batches in the standard vector environments, and has a shared
    memory (`SharedTexts`).

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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unicode) and self.max_length == other.max_length

    def __hash__(self) -> int:
        return hash((Unicode, self.max_length))

    def __repr__(self) -> str:
        return f"Unicode({self.max_length})"


class SharedTexts(Sequence[str]):
    """The texts of several environments in memory that their processes share.

    It shows what is in the memory now; a deep copy, as `AsyncVectorEnv` makes one by default, is a tuple of strings. A
    text takes as much memory as it has bytes in UTF-8: pages that nothing was written to take none.

    Args:
        count: number of texts, which begin empty.
        max_length: greatest length of a text in code points.
    """

    def __init__(self, count: int, max_length: int) -> None:
        self._count, self._stride = count, _LENGTH + 4 * max_length  # UTF-8 has at most four bytes a code point
        self._buffer = BufferWrapper(count * self._stride)
        for index in range(count):
            self.put(index, "")  # the memory may have been another's

    def put(self, index: int, text: str) -> None:
        """Replace a text.

        Raises:
            ValueError: it is longer than the space allows.
        """
        data = text.encode("utf-8", "surrogatepass")
        if len(data) > self._stride - _LENGTH:
            raise ValueError(
                f"a text of {len(text)} code points is longer than its space: raise the space's max_length"
            )
        at = index * self._stride
        memory = self._buffer.create_memoryview()
        memory[at : at + _LENGTH + len(data)] = len(data).to_bytes(_LENGTH, "little") + data

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(self._count)))
        at = range(self._count)[index] * self._stride + _LENGTH
        memory = self._buffer.create_memoryview()
        end = at + int.from_bytes(memory[at - _LENGTH : at], "little")
        return bytes(memory[at:end]).decode("utf-8", "surrogatepass")

    def __deepcopy__(self, memo: object) -> tuple[str, ...]:
        return tuple(self)


_LENGTH = 8  # bytes of a text's length


@create_shared_memory.register(Unicode)
def _create(space: Unicode, n: int = 1, ctx: Any = multiprocessing) -> SharedTexts:
    return SharedTexts(n, space.max_length)


@read_from_shared_memory.register(Unicode)
def _read(space: Unicode, shared_memory: SharedTexts, n: int = 1) -> SharedTexts:
    return shared_memory


@write_to_shared_memory.register(Unicode)
def _write(space: Unicode, index: int, value: str, shared_memory: SharedTexts) -> None:
    shared_memory.put(index, value)
