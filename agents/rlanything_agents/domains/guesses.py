"""What somebody says in a domain who has no idea: the least that an agent should beat.

A domain whose environment lists no admissible commands has a module ``guess`` in its folder with a
function of that name. In any other one chance draws among the commands.
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
    """Nothing is known of the domain that chance could draw from."""


Guess = Callable[["Turn", "np.random.Generator"], str]
"""From what the environment says, and chance, to an answer."""


def guess_of(domain: str) -> Guess:
    """How to guess in a domain."""
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
