"""Random play in each domain: the baseline that an agent has to beat.

A domain whose environment lists no admissible commands has a module ``guess`` in its folder with a function of that
name. In any other domain a guess is a random admissible command.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rlanything_agents.domains import own_module

if TYPE_CHECKING:
    import numpy as np

    from rlanything_envs.conversation import Turn

__all__ = ["Guess", "guess_of"]


Guess = Callable[["Turn", "np.random.Generator"], str | None]
"""Function from a turn of the environment and a random generator to an answer; None where none can be guessed."""


def guess_of(domain: str) -> Guess:
    """Guess function of a domain; that of a domain without one chooses among the commands that an environment lists."""
    module = own_module(domain, "guess")
    found: Guess = _command if module is None else module.guess
    return found


def _command(turn: Turn, rng: np.random.Generator) -> str | None:
    return None if not turn.commands else turn.commands[int(rng.integers(len(turn.commands)))]
