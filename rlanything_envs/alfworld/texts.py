"""What the game's messages say: the task, the names in them, and each in a few words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rlanything_envs.alfworld.commands import without_listing
from rlanything_envs.alfworld.words import WORDS

__all__ = ["TaskWords", "compact", "kind_of_name", "listed_names", "parse_start", "parse_task", "words_of"]

_TASK = "Your task is to: "
_NAME = re.compile(r"\b([a-z]+ \d+)\b")
_CARRIED = re.compile(r"You are carrying: an? ([a-z]+ \d+)\.")
_DONE = re.compile(r"You (?:pick up|move|clean|heat|cool|close|turn on|sliced|slice|put) ")
_SHOWN = re.compile(r"(?:On the|The) [a-z]+ \d+(?: is open\. In it)?, you see ")
_CLOSED = re.compile(r"The [a-z]+ \d+ is closed\.")
_LETTERS = re.compile(r"[a-z]+")
_WORD = re.compile(r"[a-z]+|\d+")
_TELLING = frozenset(WORDS) - frozenset(["a", "an", "it", "the"])
"""Words of a message that say something; others are passed over."""

_MESSAGE_LIMIT = 64
"""Most words one message takes; the fullest official countertop shows 20 things in 40."""

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
    """A task sentence taken apart.

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
    """All numbered things a text names, in its order."""
    return _NAME.findall(text)


def parse_task(observation: str, types: frozenset[str]) -> tuple[str, TaskWords]:
    """The task sentence of an opening message, and its parts.

    A sentence without a known form still gives whatever known types it names.
    """
    sentence = without_listing(observation).partition(_TASK)[2].rstrip().removesuffix(".")
    words = _LETTERS.findall(sentence.lower())
    named = [word for word in words if word in types]
    kind = next((_KINDS[word] for word in words if word in _KINDS), "simple")
    return sentence, TaskWords(kind, named[0] if named else "", named[-1] if len(named) > 1 else "")


def parse_start(observation: str) -> tuple[list[str], str | None]:
    """The receptacles an opening message names, in its order, and the thing in hand, if any.

    Games start with empty hands unless a rewrite put the wanted thing there.
    """
    start = observation.partition(_TASK.rstrip())[0]
    carried = _CARRIED.search(start)
    return listed_names(_CARRIED.sub("", start)), carried[1] if carried else None


def words_of(text: str) -> list[str]:
    """Words and numbers of a text, in lower case."""
    return _WORD.findall(text.lower())


def compact(message: str) -> list[str]:
    """A message in a few words: what is seen, ``closed``, ``ok`` for a deed done, else its telling words."""
    message = without_listing(message)
    if (found := _SHOWN.search(message)) and (end := message.find(".", found.end())) >= 0:
        names = listed_names(message[found.end() : end])
        return [word for name in names for word in name.split()][:_MESSAGE_LIMIT] or ["nothing"]
    if _CLOSED.search(message):
        return ["closed"]
    if _DONE.match(message):
        return ["ok"]
    return [word for word in words_of(message) if word in _TELLING][:_MESSAGE_LIMIT]
