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

__all__ = ["Guess", "NoGuess", "guess_of"]


class NoGuess(LookupError):
    """The domain has no guesses: no admissible commands and no module ``guess``."""


Guess = Callable[["Turn", "np.random.Generator"], str]
"""Function from a turn of the environment and a random generator to an answer."""


def guess_of(domain: str) -> Guess:
    """Guess function of a domain; that of a domain without one raises `NoGuess` where no commands are listed."""
    place = f"{__package__}.{domain}.guess"
    try:
        found: Guess = import_module(place).guess
    except ModuleNotFoundError as error:
        if error.name not in (place, place.rpartition(".")[0]):
            raise
        return _command
    return found


def _command(turn: Turn, rng: np.random.Generator) -> str:
    if not turn.commands:
        raise NoGuess("the environment lists no admissible_commands, and nothing is known of its domain")
    return turn.commands[int(rng.integers(len(turn.commands)))]
