"""State of a household as far as the messages reveal it: place, object in hand, objects seen in each receptacle."""

from __future__ import annotations

import re

from rlanything_envs.alfworld.texts import kind_of_name, listed_names, parse_start, parse_task
from rlanything_envs.alfworld.words import TYPES

__all__ = ["APPLIANCES", "LAMP", "Belief"]

APPLIANCES = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}
"""Appliance of each preparation."""

LAMP = "desklamp"
"""The one lamp that ALFWorld's examine-in-light tasks use."""

_TYPES = frozenset(TYPES)

_LISTING = re.compile(r"(?:On the|The) ([a-z]+ \d+)(?: is open\. In it)?, you see (.*?)\.", re.DOTALL)
_CLOSED = re.compile(r"The ([a-z]+ \d+) is closed\.")
_TAKEN = re.compile(r"You pick up the ([a-z]+ \d+) from the ([a-z]+ \d+)\.")
_PLACED = re.compile(r"You move the ([a-z]+ \d+) to the ([a-z]+ \d+)\.")
_PREPARED = re.compile(r"You (?:clean|heat|cool) the ([a-z]+ \d+) using")
_ARRIVED = re.compile(r"You arrive at ([a-z]+ \d+)\.")
_SHUT = re.compile(r"You close the ([a-z]+ \d+)\.")


class Belief:
    """Belief about the state of one episode, updated with each message of the game.

    Attributes:
        task: The parsed task.
        sentence: The sentence of the task.
        receptacles: Names of the receptacles, in the order of the opening message.
        contents: Receptacle -> objects seen in it and not taken since; a receptacle not looked into is missing.
        closed: Receptacles last seen closed.
        visited: Receptacles walked to.
        place: The receptacle last walked to, or None.
        holding: The object in hand, or None.
        prepared: Objects cleaned, heated or cooled so far.
    """

    def __init__(self, opening: str) -> None:
        self.sentence, self.task = parse_task(opening, _TYPES)
        self.receptacles, self.holding = parse_start(opening)
        self.contents: dict[str, set[str]] = {}
        self.closed: set[str] = set()
        self.visited: set[str] = set()
        self.place: str | None = None
        self.prepared: set[str] = set()

    @property
    def sought(self) -> set[str]:
        """Types of which too few objects have been seen: the wanted one, and a lamp where the task needs one."""
        wanted = {self.task.object: 2 if self.task.kind == "two" else 1}
        if self.task.kind == "look":
            wanted[LAMP] = 1
        held = kind_of_name(self.holding or "")
        return {kind for kind, number in wanted.items() if len(self.found(kind)) + (kind == held) < number}

    def update(self, observation: str) -> str | None:
        """Update the belief with the message that followed a command.

        Returns:
            The receptacle that the command searched: one looked into for the first time, or a closed one walked to for
            the first time before it was ever looked into. None where it searched nothing.
        """
        searched = None
        if found := _ARRIVED.search(observation):
            self.place = found[1]
            if self.place not in self.visited and self.place not in self.contents:
                searched = self.place
            self.visited.add(self.place)
        if found := _LISTING.search(observation):
            searched = searched if found[1] in self.contents else found[1]
            self.contents[found[1]] = set(listed_names(found[2]))
            self.closed.discard(found[1])
        if found := _CLOSED.search(observation) or _SHUT.search(observation):
            self.closed.add(found[1])
        if found := _TAKEN.search(observation):
            self.holding = found[1]
            self.contents.get(found[2], set()).discard(found[1])
        if found := _PLACED.search(observation):
            self.holding = None
            self.contents.setdefault(found[2], set()).add(found[1])
        if found := _PREPARED.search(observation):
            self.prepared.add(found[1])
        return searched

    def found(self, kind: str) -> list[tuple[str, str]]:
        """(receptacle, object) pairs of the objects of a type that were seen and not taken, in order of receptacles."""
        return [
            (place, name)
            for place in self.receptacles
            for name in sorted(self.contents.get(place, ()))
            if kind_of_name(name) == kind
        ]
