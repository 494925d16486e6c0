"""The operator ``hint``: the same game, with a hint after the task sentence, or without one.

A hint is written by a language model and read by the policy: plain words of bounded length, without characters that a
chat template, the text grammar of the game or a terminal would interpret. Whether it helps is for the trial to show.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from rlanything_task_pools.alfworld.operators.change import MAX_HINT, Change, Parent, check_fields, hint_of
from rlanything_task_pools.task import Direction, Refused

MAX_COMMANDS = 1
"""Most commands of the proof that a hint may spell out."""

_PLAIN = re.compile(rf"[A-Za-z0-9 ,.:'!?-]{{0,{MAX_HINT}}}")


class HintOperator:
    """Adds, replaces or removes the hint."""

    name = "hint"
    note = "keep the game and add a hint, or remove it with an empty text"
    fields: tuple[str, ...] = ("hint",)

    def propose(self, parent: Parent, direction: Direction, rng: np.random.Generator) -> list[dict[str, Any]]:
        """Nothing: hints are written by models."""
        return []

    def apply(self, parent: Parent, proposal: Mapping[str, Any]) -> Change:
        """The game with the proposed hint.

        Raises:
            Refused: ``malformed``, ``unchanged``.
        """
        hint = check_fields(proposal, self.fields, "proposal").get("hint")
        if not isinstance(hint, str) or not _PLAIN.fullmatch(hint):
            raise Refused("malformed", f"hint: expected up to {MAX_HINT} letters, digits and , . : ' ! ? -")
        hint = " ".join(hint.split())
        if hint == hint_of(parent.task):
            raise Refused("unchanged", "the hint is that of the task" if hint else "the task has no hint")
        return Change(parent.scene, parent.goal, {"hint": hint}, hint=hint)

    def properties(self, parent: Parent) -> dict[str, dict[str, Any]]:
        """JSON schema of a hint."""
        return {"hint": {"type": "string", "maxLength": MAX_HINT, "description": "a sentence that the agent will read"}}


def check_secret(hint: str, proof: tuple[str, ...]) -> None:
    """Check that a hint does not spell out the solution.

    Raises:
        Refused: ``solution_in_hint``: it holds more commands of the proof than `MAX_COMMANDS`.
    """
    text = hint.lower()
    if sum(command in text for command in set(proof)) > MAX_COMMANDS:
        raise Refused("solution_in_hint", f"the hint spells out more than {MAX_COMMANDS} command of the solution")
