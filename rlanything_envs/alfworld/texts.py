"""Parsers of the game's messages: task sentence, names, and a message in a few words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rlanything_envs.alfworld.commands import without_listing
from rlanything_envs.alfworld.words import WORDS

__all__ = [
    "TaskWords",
    "compact",
    "kind_of_name",
    "listed_names",
    "parse_hint",
    "parse_start",
    "parse_task",
    "words_of",
]

_TASK = "Your task is to: "
_HINT = " (Hint: "
_NAME = re.compile(r"\b([a-z]+ \d+)\b")
_CARRIED = re.compile(r"You are carrying: an? ([a-z]+ \d+)\.")
_DONE = re.compile(r"You (?:pick up|move|clean|heat|cool|close|turn on|sliced|slice|put) ")
_SHOWN = re.compile(r"(?:On the|The) [a-z]+ \d+(?: is open\. In it)?, you see ")
_CLOSED = re.compile(r"The [a-z]+ \d+ is closed\.")
_LETTERS = re.compile(r"[a-z]+")
_WORD = re.compile(r"[a-z]+|\d+")
_CONTENT_WORDS = frozenset(WORDS) - frozenset(["a", "an", "it", "the"])
"""Words of a message that are kept in short; others are skipped."""

_MESSAGE_LIMIT = 64
"""Maximum words of one short message; the fullest official countertop shows 20 things in 40."""

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
    """Parts of a task sentence.

    Attributes:
        kind: simple, clean, heat, cool, two or look.
        object: Type of the thing to find, such as ``apple``; empty when the sentence names none.
        receptacle: Type of the place (or of the lamp) it belongs to; empty when the sentence names none.
    """

    kind: str
    object: str
    receptacle: str


def kind_of_name(name: str) -> str:
    """The type of a numbered thing: ``"apple 2"`` -> ``"apple"``."""
    return name.partition(" ")[0]


def listed_names(text: str) -> list[str]:
    """All numbered things that a text names, in order."""
    return _NAME.findall(text)


def parse_task(observation: str, types: frozenset[str]) -> tuple[str, TaskWords]:
    """The task sentence of an opening message, and its parts.

    A sentence of unknown form still gives the known types that it names.
    """
    sentence = without_listing(observation).partition(_TASK)[2].partition(_HINT)[0].rstrip().removesuffix(".")
    words = _LETTERS.findall(sentence.lower())
    named = [word for word in words if word in types]
    kind = next((_KINDS[word] for word in words if word in _KINDS), "simple")
    return sentence, TaskWords(kind, named[0] if named else "", named[-1] if len(named) > 1 else "")


def parse_hint(observation: str) -> str:
    """The hint after the task sentence of an opening message; empty without one."""
    return without_listing(observation).partition(_TASK)[2].partition(_HINT)[2].rstrip().removesuffix(")")


def parse_start(observation: str) -> tuple[list[str], str | None]:
    """The receptacles that an opening message names, in order, and the thing in hand, if any.

    Games start with empty hands unless a rewrite put the wanted thing there.
    """
    start = observation.partition(_TASK.rstrip())[0]
    carried = _CARRIED.search(start)
    return listed_names(_CARRIED.sub("", start)), carried[1] if carried else None


def words_of(text: str) -> list[str]:
    """Words and numbers of a text, in lower case."""
    return _WORD.findall(text.lower())


def compact(message: str) -> list[str]:
    """A message in a few words: visible things, ``closed``, ``ok`` after a success, else its content words."""
    message = without_listing(message)
    if (found := _SHOWN.search(message)) and (end := message.find(".", found.end())) >= 0:
        names = listed_names(message[found.end() : end])
        return [word for name in names for word in name.split()][:_MESSAGE_LIMIT] or ["nothing"]
    if _CLOSED.search(message):
        return ["closed"]
    if _DONE.match(message):
        return ["ok"]
    return [word for word in words_of(message) if word in _CONTENT_WORDS][:_MESSAGE_LIMIT]
