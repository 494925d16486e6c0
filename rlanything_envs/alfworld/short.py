"""The short view of ALFWorld, for small models and small budgets.

::

    clean some apple and put it in fridge room cabinet 6 fridge 1 ...
        find apple: go to cabinet 2
    closed
        find apple: open cabinet 2
    cup 1 ...

The first observation is the task and the number of receptacles of each type in the room. A later one is the result of
the last command. An answer is a thought of two words (`words.PHASES`, and a type), a colon and a command.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from rlanything_envs.alfworld.commands import has_form, to_command
from rlanything_envs.alfworld.texts import compact, kind_of_name, parse_hint, parse_start, parse_task, words_of
from rlanything_envs.alfworld.words import PHASES, ROOM, TYPES, WORDS
from rlanything_envs.llm.choices import Form, OneOf, Then
from rlanything_envs.thoughts import split_thought
from rlanything_envs.views import ShortWrapper, View

__all__ = ["VIEW", "ShortAlfWorld", "read", "write"]

_TYPES, _WORDS = frozenset(TYPES), frozenset(WORDS)
_THOUGHT = (OneOf(PHASES), OneOf(tuple(f" {kind}" for kind in TYPES)), ":")
_MAX_HEAD = 80
"""Characters at the beginning of an answer in which a thought must end; the longest has some 30."""


def read(answer: str) -> tuple[str, str]:
    """The thought and the command of an answer.

    ``find apple: go to fridge 1``, the same without the colon or with line ends in it, and a command alone are read; of
    several lines the first command counts. Any other answer is passed to the environment unchanged.
    """
    before, text = split_thought(answer)
    thought, rest = _split(text)
    lines = rest.strip().split("\n", 1)
    command = " ".join(lines[0].split())
    if not thought and not has_form(to_command(command) or ""):
        command = text
    return "\n".join(part for part in (before, thought) if part), command


def write(thought: str, action: str) -> str:
    """The answer with a thought, which may be empty, and a command."""
    return f"{thought}: {action}" if thought else action


class ShortAlfWorld(ShortWrapper):
    """Wrapper of the short view of ALFWorld.

    Observations consist of `words.WORDS`. An answer is ``find apple: go to fridge 1``, or a command alone.

    Args:
        env: An environment with ALFWorld's messages and ``info["admissible_commands"]``.

    ```python
    import gymnasium as gym
    from rlanything_envs.alfworld.short import ShortAlfWorld

    env = ShortAlfWorld(gym.make("RLAnything/AlfWorld-v0"))
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step("find apple: look")
    ```
    """

    def action_of(self, answer: str) -> str:
        """The command of an answer."""
        return read(answer)[1]

    def opening(self, seen: Any, info: Mapping[str, Any]) -> tuple[str, str]:
        """Task, number of receptacles of each type, and the thing that is in hand at the start."""
        names, held = parse_start(seen)
        counts = sorted(Counter(map(kind_of_name, names)).items())
        hint = [word for word in words_of(parse_hint(seen)) if word in _WORDS]  # of a hint, the words of the view
        words = [*words_of(parse_task(seen, _TYPES)[0]), *hint, ROOM, *(f"{kind} {count}" for kind, count in counts)]
        # Written as if the agent had just taken it, in words that occur in every other game.
        return " ".join([*words, *([f"take {held} ok"] if held else [])]), seen

    def later(self, seen: Any, info: Mapping[str, Any]) -> tuple[str, str]:
        """The result of the last command in short, and the environment's own message."""
        return " ".join(compact(seen)), seen

    def choices(self, info: Mapping[str, Any]) -> Form:
        """A thought, then an admissible command."""
        return Then((*_THOUGHT, OneOf(tuple(f" {command}" for command in info["admissible_commands"]))))


def _split(text: str) -> tuple[str, str]:
    """The thought at the beginning of a text, which may be empty, and the rest."""
    head, colon, rest = text[:_MAX_HEAD].partition(":")
    words = head.split()
    if colon and _is_thought(words):
        return " ".join(words), rest + text[_MAX_HEAD:]
    words = text[:_MAX_HEAD].split(None, 3)
    if _is_thought(words[:2]) and len(words) > 2:
        rest = text.lstrip()
        for word in words[:2]:
            rest = rest[len(word) :].lstrip()
        if has_form(to_command(" ".join(rest.split("\n", 1)[0].split())) or ""):
            return " ".join(words[:2]), rest
    return "", text


def _is_thought(words: list[str]) -> bool:
    return len(words) == 2 and words[0] in PHASES and words[1] in _TYPES


VIEW = View("short", read, write, words=WORDS, wrapper=ShortAlfWorld)
"""The short view of ALFWorld."""
