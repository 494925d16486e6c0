"""What a player can know from the messages alone: where it is, what it holds, what it has seen where."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rlanything_envs.alfworld.commands import without_listing

__all__ = ["APPLIANCES", "LAMP", "Belief", "TaskWords", "kind_of_name", "listed_names", "parse_start", "parse_task"]

APPLIANCES = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}
"""Where each preparation is done."""

LAMP = "desklamp"
"""The one lamp that ALFWorld's examine-in-light tasks use."""

_TASK = re.compile(r"Your task is to: (.*?)\.?\s*$", re.DOTALL)
_NAME = re.compile(r"\b([a-z]+ \d+)\b")
_LISTING = re.compile(r"(?:On the|The) ([a-z]+ \d+)(?: is open\. In it)?, you see (.*?)\.", re.DOTALL)
_CLOSED = re.compile(r"The ([a-z]+ \d+) is closed\.")
_TAKEN = re.compile(r"You pick up the ([a-z]+ \d+) from the ([a-z]+ \d+)\.")
_PLACED = re.compile(r"You move the ([a-z]+ \d+) to the ([a-z]+ \d+)\.")
_PREPARED = re.compile(r"You (?:clean|heat|cool) the ([a-z]+ \d+) using")
_ARRIVED = re.compile(r"You arrive at ([a-z]+ \d+)\.")
_CARRIED = re.compile(r"You are carrying: an? ([a-z]+ \d+)\.")
_SHUT = re.compile(r"You close the ([a-z]+ \d+)\.")

_KINDS = {
    "clean": "clean",
    "hot": "heat",
    "heat": "heat",
    "cool": "cool",
    "two": "two",
    "look": "look",
    "examine": "look",
}


@dataclass(frozen=True, slots=True)
class TaskWords:
    """A task sentence taken apart."""

    kind: str
    """simple, clean, heat, cool, two or look."""
    object: str
    """Type of the thing to find, such as ``apple``; empty when the sentence names none."""
    receptacle: str
    """Type of the place (or of the lamp) it belongs to; empty when the sentence names none."""


def kind_of_name(name: str) -> str:
    """The type of a numbered thing: ``"apple 2"`` -> ``"apple"``."""
    return name.partition(" ")[0]


def listed_names(text: str) -> list[str]:
    """All numbered things a text names, in its order."""
    return _NAME.findall(text)


def parse_task(observation: str, types: frozenset[str]) -> tuple[str, TaskWords]:
    """The task sentence of an opening message, and its parts.

    A sentence without a known form still gives whatever known types it names.
    """
    found = _TASK.search(without_listing(observation))
    sentence = found[1] if found else ""
    words = re.findall(r"[a-z]+", sentence.lower())
    named = [word for word in words if word in types]
    kind = next((_KINDS[word] for word in words if word in _KINDS), "simple")
    return sentence, TaskWords(kind, named[0] if named else "", named[-1] if len(named) > 1 else "")


def parse_start(observation: str) -> tuple[list[str], str | None]:
    """The receptacles an opening message names, in its order, and the thing in hand, if any.

    Games start with empty hands unless a rewrite put the wanted thing there.
    """
    start = observation.partition("Your task is to:")[0]
    carried = _CARRIED.search(start)
    return listed_names(_CARRIED.sub("", start)), carried[1] if carried else None


class Belief:
    """The memory of one episode, fed with each message.

    Attributes:
        task: The task, taken apart.
        sentence: The task, in words.
        receptacles: Names in the order of the opening message.
        contents: Receptacle -> names seen in it and not taken since. Missing: never looked into.
        closed: Receptacles last seen closed.
        place: The receptacle last walked to, or None.
        holding: The thing in hand, or None.
        prepared: Things cleaned, heated or cooled so far.
    """

    def __init__(self, opening: str, types: frozenset[str]) -> None:
        self.sentence, self.task = parse_task(opening, types)
        self.receptacles, self.holding = parse_start(opening)
        self.contents: dict[str, set[str]] = {}
        self.closed: set[str] = set()
        self.place: str | None = None
        self.prepared: set[str] = set()

    def update(self, observation: str) -> None:
        """Take in the message that followed a command."""
        if found := _ARRIVED.search(observation):
            self.place = found[1]
        if found := _LISTING.search(observation):
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

    def found(self, kind: str) -> list[tuple[str, str]]:
        """(receptacle, name) of everything of a type seen and still there, in the order of the receptacles."""
        return [
            (place, name)
            for place in self.receptacles
            for name in sorted(self.contents.get(place, ()))
            if kind_of_name(name) == kind
        ]
