"""A player that knows the programs, sees what the agent sees, and now and then errs and recovers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlanything_agents.domains.osworld.belief import Belief
from rlanything_agents.domains.osworld.plan import plan
from rlanything_agents.domains.supervision import Move
from rlanything_envs.osworld.short.words import NOBODY

__all__ = ["DesktopExpert", "thought_of"]


def thought_of(about: str, command: str) -> str:
    """The thought before a command: the slot that it is about, and the number of the place that it goes to."""
    verb, *rest = command.split()
    return f"{about} {rest[-1] if verb in ('click', 'line', 'cell') else NOBODY}"


class DesktopExpert:
    """Does what remains to be done, one deed a turn.

    Args:
        seed: Seed of its mistakes.
        mistakes: Share of turns in which it does something useless first, which it then has to mend.
    """

    def __init__(self, seed: int, mistakes: float = 0.1) -> None:
        self._rng = np.random.default_rng(seed)
        self._mistakes = mistakes
        self._belief: Belief | None = None
        self._last = ""

    def act(self, observation: str, info: Mapping[str, Any]) -> Move:
        """The next move after a message; the first message opens the episode.

        Args:
            observation: The message in the short view.
            info: Has the environment's own first ``message``.
        """
        if self._belief is None:
            self._belief = Belief(str(info["message"]))
        else:
            self._belief.update(self._last, observation)
        about, command = plan(self._belief)[0]
        exemplary = True
        if command not in ("done", "fail") and self._rng.random() < self._mistakes:
            astray = self._astray(self._belief)
            exemplary = astray == command
            about, command = (about, command) if exemplary else (NOBODY, astray)
        self._last = command
        return Move(thought_of(about, command), command, exemplary)

    def _astray(self, belief: Belief) -> str:
        """A move that does no lasting harm: a place that is not the one, a key that does nothing."""
        numbers = sorted(belief.rows)
        if belief.dialog is not None or belief.app == "terminal" or not numbers:
            return "press escape" if belief.app != "terminal" else "press return"
        number = int(self._rng.choice(numbers))
        if belief.app == "files":
            return f"click {number}"
        return f"line {number}" if belief.app == "editor" else f"cell {self._rng.choice(['a', 'b', 'c'])} {number}"
