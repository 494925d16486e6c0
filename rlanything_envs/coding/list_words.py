"""The vocabulary of the short view: some 130 words for statements, programs and tests of easy problems."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rlanything_envs.coding.list_language import DIGITS, RESULTS, STEPS

__all__ = ["GIVES", "LINE", "MINUS", "NEXT", "OTHER", "VERDICTS", "WORDS", "name_of", "words_of"]

LINE = "*"
"""Mark at the beginning of a line of the statement."""

GIVES = "<gives>"
"""Separator between the input of a test and its expected output."""

NEXT, MINUS, OTHER = ",", "-", "EMPTY"
"""Separator of numbers in a test, sign of a negative number, and mark of an empty list."""

VERDICTS = ("solved", "failed", "error", "ok", "impossible", "unreadable")
"""Observations after an answer: the outcome of the episode, or, before its end, ``info["command"]``."""

_STATEMENT = """
    1st 2nd 3rd 4th 5th 6th above add all and before by copies decreasing double earlier each empty end even
    every fewer first following how if in increasing integers is it keep left list many move multiples
    multiply negative none number numbers odd of on only or order print remove replace reverse sort square sum
    the them to up x
"""
"""Words of statements; others are skipped."""

_TOKEN = re.compile(r"\d{1,3}(?:st|nd|rd|th)|[a-z]+|\d|-")
_READ = frozenset((*_STATEMENT.split(), *DIGITS, MINUS))
MAX_WORDS = 160
"""Maximum words of a statement that are read; four steps take about 50."""


def name_of(sentence: str) -> str:
    """A sentence of the language as one word, with underscores for blanks."""
    return sentence.replace(" ", "_")


WORDS: tuple[str, ...] = (
    *(LINE, GIVES, NEXT, MINUS, OTHER),
    *DIGITS,
    *_STATEMENT.split(),
    *map(name_of, (*STEPS, *RESULTS)),
    *VERDICTS,
)
"""All words of statements, programs, verdicts and tests."""


def words_of(text: str) -> list[str]:
    """Words of a statement, from the line after the title up to ``Input``, numbers digit by digit."""
    return list(_words(text))[:MAX_WORDS]


def _words(text: str) -> Iterator[str]:
    lines = text[:20_000].split("\n")
    end = next((n for n, line in enumerate(lines) if line.strip().lower() == "input"), len(lines))
    for line in lines[1:end]:
        known = [word for word in _TOKEN.findall(line.lower()) if word in _READ]
        if known:
            yield LINE
            yield from known
