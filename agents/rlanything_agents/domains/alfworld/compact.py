"""Commands and messages of the game in few words."""

from __future__ import annotations

import re

from rlanything_agents.domains.alfworld.belief import listed_names
from rlanything_envs.alfworld.commands import without_listing

__all__ = ["command_words", "compact", "words_of"]

_DONE = re.compile(r"You (?:pick up|move|clean|heat|cool|close|turn on|sliced|slice|put) ")
_SHOWN = re.compile(r"(?:On the|The) [a-z]+ \d+(?: is open\. In it)?, you see (.*?)\.", re.DOTALL)
_CLOSED = re.compile(r"The [a-z]+ \d+ is closed\.")
_WORD = re.compile(r"[a-z]+|\d+")
_SKIPPED = frozenset(
    ["you", "are", "see", "the", "a", "an", "is", "it", "this", "of", "there", "s", "t", "about", "don"]
)

_MESSAGE_LIMIT = 64
"""Most tokens one message takes; the fullest official countertop shows 20 things in 40."""


def words_of(text: str) -> list[str]:
    """Words and numbers of a text, in lower case."""
    return _WORD.findall(text.lower())


def command_words(action: str) -> list[str]:
    """The words of a command, ``go to`` being one."""
    return words_of(action.replace("go to ", "goto ", 1))


def compact(observation: str) -> list[str]:
    """A message in a few words: what is seen, ``closed``, ``ok`` for a deed done, else its telling words."""
    observation = without_listing(observation)
    if found := _SHOWN.search(observation):
        return [w for name in listed_names(found[1]) for w in name.split()][:_MESSAGE_LIMIT] or ["nothing"]
    if _CLOSED.search(observation):
        return ["closed"]
    if _DONE.match(observation):
        return ["ok"]
    return [word for word in words_of(observation) if word not in _SKIPPED][:_MESSAGE_LIMIT]
