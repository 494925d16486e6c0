"""What somebody says in a domain who has no idea: the least that an agent should beat.

A domain whose environment lists no admissible commands has a module ``guess`` in its folder with a
function of that name. In any other one chance draws among the commands.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from rlanything_agents.tools.benchmark.errors import AgentError

if TYPE_CHECKING:
    import numpy as np

    from rlanything_envs.conversation import Turn

__all__ = ["Guess", "guess_of"]

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
        raise AgentError(
            "the environment lists no admissible_commands, and nothing is known of its domain: the agent random "
            "cannot play it"
        )
    return turn.commands[int(rng.integers(len(turn.commands)))]
