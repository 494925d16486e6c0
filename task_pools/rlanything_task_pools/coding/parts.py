"""Pieces the families share: task texts, wrong programs made from right ones, random numbers and lines."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.rng_stream import RngStream

T = TypeVar("T")

OFF_ON = (False, True)
"""The levels of a knob that adds something."""


def swap(program: str, *changes: str) -> str:
    """A wrong program: the right one with texts replaced, given as old, new, old, new and so on.

    Raises:
        ValueError: An old text is not in the program, so that the mutant would be a copy.
    """
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        if old not in program:
            raise ValueError(f"No mutant: {old!r} does not occur in the program; correct the family's swap()")
        program = program.replace(old, new)
    return program


def dispatch(codes: Mapping[str, str]) -> str:
    """Statements that run the code of the operation called ``op``."""
    return "\n".join(fill("if op == '@op@':\n    @code@", op=op, code=code).rstrip() for op, code in codes.items())


def several(n: int, noun: str) -> str:
    """A number with its noun: ``1 step``, ``2 steps``."""
    return f"{n} {noun if n == 1 else noun + 's'}"


def either(choices: Sequence[object], word: str = "or") -> str:
    """A list in words: ``1, 2 or 3``."""
    shown = [str(choice) for choice in choices]
    return f" {word} ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def power(n: int) -> str:
    """A limit in the notation of statements: powers of ten from a million on as such."""
    return f"10^{len(str(n)) - 1}" if n >= 10**6 and str(n).strip("0") == "1" else str(n)


def when(given: bool, text: str) -> str:
    """The text, or nothing."""
    return text if given else ""


def between(rng: RngStream, low: int, high: int) -> int:
    """An integer from low to high, both included."""
    return low + rng.below(high - low + 1)


def integers(rng: RngStream, n: int, low: int, high: int) -> list[int]:
    """Integers from low to high, both included, one after the other."""
    return [between(rng, low, high) for _ in range(n)]


def count(rng: RngStream, most: int, least: int = 1) -> int:
    """A random count: with probability 1/2 within a tenth of the most, else uniform."""
    return between(rng, max(least, most - most // 10) if rng.chance(0.5) else least, most)


def choose(rng: RngStream, items: Sequence[T], k: int) -> list[T]:
    """Different items in their own order; all of them when there are fewer."""
    return [items[i] for i in sorted(rng.shuffled(len(items))[:k])]


def line(values: Iterable[object]) -> str:
    """Values with blanks between them."""
    return " ".join(map(str, values))


def page(*lines: object) -> str:
    """Lines of input, each ended by a newline."""
    return "".join(f"{row}\n" for row in lines)
