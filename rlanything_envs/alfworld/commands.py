"""From an agent's action to a command of the game."""

import re
from collections.abc import Sequence

from rlanything_envs.llm.choices import Form, OneOf, Prose, Then

MAX_ACTION_LENGTH = 512
"""Longest action that is read, in code points; the longest real command has about 60."""

MAX_ANSWER_LENGTH = 20_000
"""Length of the end of an answer that is read, in code points."""

# ALFWorld before 0.4 used "put X in/on Y", and prompts and papers still do; the game uses "move X to Y".
_PUT = re.compile(r"put (\S.*?) (?:in/on|in|on) (\S.*)\Z")


def to_command(action: str) -> str | None:
    """The command of an action, or None where it cannot be a command: nothing happens then.

    Surrounding white space is dropped, and ``put X in Y``, ``put X on Y`` and ``put X in/on Y`` are read as
    ``move X to Y``. Case matters, as in the game.
    """
    if len(action) > MAX_ACTION_LENGTH:
        return None
    command = action.strip()
    if not command.isprintable():
        return None
    if command.startswith("put ") and (match := _PUT.match(command)):
        return f"move {match[1]} to {match[2]}"
    return command


_PAIRS = {"take": " from ", "move": " to ", "heat": " with ", "clean": " with ", "cool": " with ", "slice": " with "}
_SINGLE = ("go to ", "open ", "close ", "use ", "examine ")
_BARE = frozenset({"look", "inventory", "help"})


def has_form(command: str) -> bool:
    """Whether a text has the form of one of the game's commands, with any names in it."""
    if command in _BARE:
        return True
    verb, _, rest = command.partition(" ")
    if verb in _PAIRS:
        thing, _, other = rest.partition(_PAIRS[verb])
        return bool(thing.strip() and other.strip())
    return command.startswith(_SINGLE)


_LISTED = "\n\nAdmissible commands: "


def with_listing(observation: str, commands: Sequence[str]) -> str:
    """An observation followed by the list of admissible commands."""
    return f"{observation}{_LISTED}{', '.join(commands)}."


def without_listing(observation: str) -> str:
    """The game's own message, without the list of admissible commands."""
    return observation.partition(_LISTED)[0]


THOUGHT = 400
"""Most characters of a thought in an answer of a given form."""


def answer_form(commands: Sequence[str]) -> Form:
    """The form of an answer with one of these commands, after a thought on one line or none; see `read_answer`."""
    thought = OneOf(("", Then((Prose(THOUGHT), "\n"))))
    return Then((thought, "Action:", OneOf(tuple(f" {command}" for command in commands))))


MANUAL = """\
You are in a house and have a task. Send one command a message, on a line of its own after "Action:". Commands are:
go to X, open X, close X, take THING from X, move THING to X, clean THING with X, heat THING with X,
cool THING with X, use X, examine X, look, inventory. X is a place or a thing with its number.
For example:
Action: go to fridge 1"""
"""Instructions for agents that have not been trained on the game."""

_TAGGED = re.compile(r"<action>(.*?)</action>", re.DOTALL | re.IGNORECASE)
_MARKED = re.compile(r"^(?:(?!\n)[\s>*_#-])*action[*_]*\s*:[*_\s]*(.*)$", re.IGNORECASE | re.MULTILINE)


def read_answer(text: str) -> str:
    """The command in a language model's answer: the last one that is marked, else the last line.

    Text before ``</think>`` is skipped. Marks are a line ``Action: ...`` and ``<action>...</action>``.
    """
    said = text.rpartition("</think>")[2][-MAX_ANSWER_LENGTH:]
    marked = _TAGGED.findall(said) or _MARKED.findall(said)
    lines = [line for line in (marked[-1] if marked else said).splitlines() if line.strip()]
    return lines[-1].strip(" \t`\"'*>") if lines else ""
