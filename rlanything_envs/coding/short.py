"""The short view of coding, for small models: easy problems, and programs of some 40 sentences.

::

    * keep only the even numbers
    * add 3 to every number
    * print the sum ...
        a_=_[x_for_x_in_a_if_x_%_2_==_0]
        a_=_[x_+_{}_for_x_in_a] 3
        print(sum(a))
    solved

A line of an answer is a sentence of `list_language` with underscores for its blanks, followed by the digits of its
number: a tokenizer that splits at blanks has one token a sentence. The same program in plain Python is read as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlanything_envs.coding import list_language
from rlanything_envs.coding.list_words import LINE, WORDS, name_of, words_of
from rlanything_envs.llm.choices import Form, OneOf, Repeat, Then
from rlanything_envs.thoughts import split_thought
from rlanything_envs.views import ShortWrapper, View

__all__ = ["PROGRAM", "VIEW", "ShortCoding", "read", "submission", "write"]

_SENTENCES = {name_of(sentence): sentence for sentence in (*list_language.STEPS, *list_language.RESULTS)}
_LONGEST = 2_000
"""Longest answer that is parsed, in characters; the longest program has some 400."""
_BEFORE, _AFTER = "SUBMIT\n```python\n", "```"

_DIGIT = OneOf(tuple(f" {digit}" for digit in list_language.DIGITS))
_NUMBER = OneOf((" 0", Then((OneOf(_DIGIT.options[1:]), Repeat(_DIGIT, 0, list_language.MAX_DIGITS - 1)))))


def _line(sentence: str) -> Form:
    name = name_of(sentence)
    return Then((name, _NUMBER, "\n")) if "{}" in sentence else f"{name}\n"


PROGRAM = Then(
    (
        Repeat(OneOf(tuple(map(_line, list_language.STEPS))), 0, list_language.MAX_STEPS),
        OneOf(tuple(map(name_of, list_language.RESULTS))),
    )
)
"""The form of every answer: a program of the language."""


def submission(source: str) -> str:
    """The action that submits a program."""
    return f"{_BEFORE}{source}{_AFTER}"


def read(answer: str) -> tuple[str, str]:
    """The thought of an answer, which may be empty, and its program as a submission.

    A program is read as sentences with underscores, in any layout, and as plain Python without its first lines. Any
    other answer is passed to the environment unchanged.
    """
    thought, text = split_thought(answer)
    words = _program(text) if len(text) <= _LONGEST else None
    return thought, text if words is None else submission(list_language.write_program(words))


def write(thought: str, action: str) -> str:
    """The answer with a thought, which may be empty, and a submission of a program of the language.

    Any other action is written unchanged. Reading the answer gives the program in its plain form, without empty lines.
    """
    source = action.removeprefix(_BEFORE).removesuffix(_AFTER)
    words = list_language.read_program(source) if action == submission(source) else None
    text = action if words is None else _lines(words)
    return f"<think>{thought}</think>\n{text}" if thought else text


class ShortCoding(ShortWrapper):
    """Wrapper of the short view of coding.

    The first observation is the statement in words of `list_words.WORDS`, line by line, and numbers digit by digit; a
    later one is a single word of `list_words.VERDICTS`. Problems are those of the family ``list_steps``.

    Args:
        env: A coding environment, with one turn.

    ```python
    from rlanything_envs.views import make_env

    env = make_env("RLAnything/Coding-v0", "short", knobs={"families": ["list_steps"]})
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step("a_=_sorted(a)\\nprint(sum(a))")
    ```
    """

    def action_of(self, answer: str) -> str:
        """The submission."""
        return read(answer)[1]

    def opening(self, seen: Any, info: Mapping[str, Any]) -> tuple[str, str]:
        """The statement in short, and the environment's own message."""
        return " ".join(words_of(seen)).replace(f" {LINE} ", f"\n{LINE} "), seen

    def later(self, seen: Any, info: Mapping[str, Any]) -> tuple[str, str]:
        """The verdict as one word, and the environment's own message."""
        outcome = info["outcome"]
        verdict = info["command"] if outcome is None else {1: "solved", -1: "failed"}.get(outcome, "error")
        return str(verdict), seen

    def choices(self, info: Mapping[str, Any]) -> Form:
        """The form of all programs of the language."""
        return PROGRAM


def _program(text: str) -> list[str] | None:
    """The words of a program in either form."""
    words: list[str] = []
    for word in text.split():
        words += [_SENTENCES[word]] if word in _SENTENCES else list(word)
    return words if list_language.is_program(words) else list_language.read_program(list_language.HEAD + text)


def _lines(words: list[str]) -> str:
    return "".join(f" {word}" if word in list_language.DIGITS else f"\n{name_of(word)}" for word in words).strip()


VIEW = View("short", read, write, words=WORDS, arguments={"max_turns": 1, "reward": "fraction"}, wrapper=ShortCoding)
"""The short view of coding: programs on one list, one try."""
