"""Random play in each domain: the baseline that an agent has to beat.

A domain whose environment lists no admissible commands has a module ``guess`` in its folder with a function of that
name. In any other domain a guess is a random admissible command.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from rlanything_envs.conversation import Turn

__all__ = ["Guess", "guess_of"]


Guess = Callable[["Turn", "np.random.Generator"], str | None]
"""Function from a turn of the environment and a random generator to an answer; None where none can be guessed."""


def guess_of(domain: str) -> Guess:
    """Guess function of a domain; that of a domain without one chooses among the commands that an environment lists."""
    place = f"{__package__}.{domain}.guess"
    try:
        found: Guess = import_module(place).guess
    except ModuleNotFoundError as error:
        if error.name not in (place, place.rpartition(".")[0]):
            raise
        return _command
    return found


def _command(turn: Turn, rng: np.random.Generator) -> str | None:
    return None if not turn.commands else turn.commands[int(rng.integers(len(turn.commands)))]
