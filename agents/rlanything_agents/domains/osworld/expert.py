"""Expert that knows the programs and observes what the agent observes, with deliberate mistakes and recoveries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlanything_agents.domains.lessons import Move
from rlanything_agents.domains.osworld.belief import Belief
from rlanything_agents.domains.osworld.plan import plan
from rlanything_envs.osworld.short.words import NOBODY

__all__ = ["DesktopExpert", "thought_of"]


def thought_of(about: str, command: str) -> str:
    """The thought before a command: the slot that the command serves, and the number of the place that it goes to."""
    verb, *rest = command.split()
    return f"{about} {rest[-1] if verb in ('click', 'line', 'cell') else NOBODY}"


class DesktopExpert:
    """Follows the plan of the remaining commands, one command per turn.

    Args:
        seed: Seed of the mistakes.
        mistakes: Share of turns with a useless command instead, from which the expert then recovers.
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
            info: Holds the environment's own ``message``, which is read in the first turn.
        """
        if self._belief is None:
            self._belief = Belief(str(info["message"]))
        else:
            self._belief.update(self._last, observation)
        about, command = plan(self._belief)[0]
        exemplary = True
        if command not in ("done", "fail") and self._rng.random() < self._mistakes:
            mistake = self._mistake(self._belief)
            exemplary = mistake == command
            about, command = (about, command) if exemplary else (NOBODY, mistake)
        self._last = command
        return Move(thought_of(about, command), command, exemplary)

    def _mistake(self, belief: Belief) -> str:
        """A random command without lasting harm: a click on some place, or a key without effect."""
        numbers = sorted(belief.rows)
        if belief.dialog is not None or belief.app == "terminal" or not numbers:
            return "press escape" if belief.app != "terminal" else "press return"
        number = int(self._rng.choice(numbers))
        if belief.app == "files":
            return f"click {number}"
        return f"line {number}" if belief.app == "editor" else f"cell {self._rng.choice(['a', 'b', 'c'])} {number}"
