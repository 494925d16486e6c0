"""Random play in programming problems: short programs that do not depend on the problem, tested or submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from rlanything_envs.conversation import Turn

__all__ = ["guess"]

_VERBS = ("TEST", "SUBMIT")

_READ = "import sys\nwords = sys.stdin.read().split()\nnumbers = [int(w) for w in words if w.lstrip('-').isdigit()]\n"
_BLIND = (
    "print(0)",
    "print(1)",
    "print(' '.join(words))",
    "print(len(words))",
    "print(sum(numbers))",
    "print(max(numbers, default=0))",
    "print(min(numbers, default=0))",
    "print(*sorted(numbers))",
)
"""Last lines of programs that may be right by chance."""


def guess(turn: Turn, rng: np.random.Generator) -> str:
    """A random answer: ``TEST`` or ``SUBMIT`` with one of a few short programs."""
    verb, program = _VERBS[int(rng.integers(len(_VERBS)))], _BLIND[int(rng.integers(len(_BLIND)))]
    return f"{verb}\n```python\n{_READ}{program}\n```"
