"""Expert that explores: it knows the rules of the household, but not where the objects are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlanything_agents.domains.alfworld.belief import APPLIANCES, LAMP, Belief
from rlanything_agents.domains.lessons import Move
from rlanything_envs.alfworld.texts import kind_of_name

__all__ = ["ExploringExpert"]

PLAIN = {
    "find": "I still have to find the {focus}.",
    "get": "I have seen the {focus}, so I fetch it.",
    "need": "I need the {focus} for the {object}.",
    "put": "I bring the {object} to the {focus}.",
    "light": "I look at the {object} under the {focus}.",
    "drop": "I do not need the {focus}, so I put it down.",
}
"""Thoughts in English by the first word of the short view's thought."""

_AIMLESS = ("help", "inventory", "look")


class ExploringExpert:
    """Searches the receptacles in random order, with a share of random moves.

    It solves about nine in ten generated games within 40 steps. Its demonstrations show search, mistakes and recovery
    instead of knowledge that an agent cannot have.

    Args:
        seed: Seed of the search order and of the mistakes.
        mistakes: Share of random moves, 0 to 1.
    """

    def __init__(self, seed: int, mistakes: float = 0.1) -> None:
        self._rng = np.random.default_rng(seed)
        self._mistakes = mistakes
        self._belief: Belief | None = None
        self._order: list[str] = []

    def act(self, observation: str, info: Mapping[str, Any]) -> Move:
        """The next move after a message; the first message opens the episode.

        Args:
            observation: The message, in any view.
            info: Holds ``admissible_commands`` and, where the view shortens messages, the game's own ``message``.
        """
        observation = str(info.get("message") or observation)
        if self._belief is None:
            self._belief = Belief(observation)
            self._order = [str(name) for name in self._rng.permutation(self._belief.receptacles)]
        else:
            self._belief.update(observation)
        commands = set(info["admissible_commands"])
        phase, focus, wanted = self._plan(self._belief, commands)
        exemplary = not self._rng.random() < self._mistakes and wanted in commands
        if not exemplary:
            choices = [command for command in sorted(commands) if command not in _AIMLESS] or sorted(commands)
            wanted = choices[int(self._rng.integers(len(choices)))]
        plain = PLAIN[phase].format(focus=focus, object=self._belief.task.object)
        return Move(f"{phase} {focus}", wanted, exemplary, plain)

    def _plan(self, belief: Belief, commands: set[str]) -> tuple[str, str, str]:
        """Phase, focus and next command; a command that is not admissible yet is replaced by a step towards it."""
        task, held = belief.task, belief.holding
        if held and kind_of_name(held) != task.object:
            return "drop", kind_of_name(held), self._put_down(held, commands)
        if not held:
            return self._fetch(belief, commands)
        if task.kind == "look":
            lamps = belief.found(LAMP)
            if not lamps:
                return "find", LAMP, self._search(belief, commands)
            place, lamp = lamps[0]
            return "light", LAMP, self._at(place, f"use {lamp}", belief, commands)
        appliance = APPLIANCES.get(task.kind)
        if appliance and held not in belief.prepared:
            wanted = [(name, f"{task.kind} {held} with {name}") for name in self._named(belief, appliance)]
            return "need", appliance, self._nearest(wanted, belief, commands)
        targets = self._named(belief, task.receptacle)
        begun = [place for place, _ in belief.found(task.object) if place in targets]
        wanted = [(place, f"move {held} to {place}") for place in (begun if task.kind == "two" and begun else targets)]
        return "put", task.receptacle, self._nearest(wanted, belief, commands)

    def _fetch(self, belief: Belief, commands: set[str]) -> tuple[str, str, str]:
        task = belief.task
        kept = set(self._named(belief, task.receptacle)) if task.kind in ("two", "simple") else set()
        known = [(place, name) for place, name in belief.found(task.object) if place not in kept]
        if known:
            place, name = known[0]
            return "get", task.object, self._at(place, f"take {name} from {place}", belief, commands)
        return "find", task.object, self._search(belief, commands)

    def _search(self, belief: Belief, commands: set[str]) -> str:
        for place in self._order:
            if place not in belief.contents:
                return self._at(place, f"examine {place}", belief, commands, looking=True)
        return ""

    def _nearest(self, wanted: list[tuple[str, str]], belief: Belief, commands: set[str]) -> str:
        """First admissible one of some (place, command) pairs, or a step towards the first."""
        if not wanted:
            return ""
        place, command = next((pair for pair in wanted if pair[1] in commands), wanted[0])
        return self._at(place, command, belief, commands)

    @staticmethod
    def _at(place: str, command: str, belief: Belief, commands: set[str], looking: bool = False) -> str:
        """The command if it is admissible; else open the place if it is here and closed; else walk there."""
        walk, opening = f"go to {place}", f"open {place}"
        if opening in commands and (place in belief.closed or belief.place == place):
            return opening if looking or command not in commands else command
        if command in commands and not (looking and belief.place != place and walk in commands):
            return command
        return walk if walk in commands else opening

    @staticmethod
    def _named(belief: Belief, kind: str) -> list[str]:
        return [name for name in belief.receptacles if kind_of_name(name) == kind]

    @staticmethod
    def _put_down(held: str, commands: set[str]) -> str:
        down = sorted(command for command in commands if command.startswith(f"move {held} to "))
        return down[0] if down else next((c for c in sorted(commands) if c.startswith("open ")), "")
