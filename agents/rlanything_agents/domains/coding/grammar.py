"""Constrained decoding of programs: an automaton that knows which token can come next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rlanything_agents.domains.coding.language import DIGITS, MAX_DIGITS, MAX_STEPS, RESULTS, STEPS
from rlanything_agents.domains.coding.words import END, name_of

__all__ = ["Grammar", "ProgramConstraint"]


@dataclass(frozen=True, slots=True)
class Grammar:
    """The language in token ids.

    Attributes:
        steps: Ids of the lines that change the list.
        results: Ids of the lines that end a program.
        holes: Ids of the lines with a number.
        digits: Ids of the digits, from 0.
        end: Id of the end of a program.
    """

    steps: tuple[int, ...]
    results: tuple[int, ...]
    holes: frozenset[int]
    digits: tuple[int, ...]
    end: int

    @classmethod
    def of(cls, ids: Mapping[str, int]) -> Grammar:
        """The language in the ids of a vocabulary."""
        return cls(
            steps=tuple(sorted(ids[name_of(line)] for line in STEPS)),
            results=tuple(sorted(ids[name_of(line)] for line in RESULTS)),
            holes=frozenset(ids[name_of(line)] for line in (*STEPS, *RESULTS) if "{}" in line),
            digits=tuple(ids[digit] for digit in DIGITS),
            end=ids[END],
        )


class ProgramConstraint:
    """What the rest of one program may be: up to `MAX_STEPS` lines, then a result, then the end.

    A line with a number is followed by its digits, without leading zeros; the number ends where the next line begins.
    """

    __slots__ = ("_finished", "_grammar", "_lines", "_number")

    command = None
    """The tokens are the program: there is no text it was chosen from."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._lines = 0
        self._number: list[int] | None = None  # digits of the number that is being written
        self._finished: int | None = None  # the result line, then the end

    @property
    def allowed(self) -> tuple[int, ...]:
        """The ids that may come next, ascending; empty once the program is complete."""
        grammar, number = self._grammar, self._number
        if self._finished is not None:
            return () if self._finished == grammar.end else (grammar.end,)
        if number is not None and not number:
            return tuple(sorted(grammar.digits))
        lines = grammar.results if self._lines == MAX_STEPS else grammar.steps + grammar.results
        if number is not None and len(number) < MAX_DIGITS and number != [grammar.digits[0]]:
            lines += grammar.digits
        return tuple(sorted(lines))

    def advance(self, token: int) -> None:
        """Take the next token, one of `allowed`."""
        grammar = self._grammar
        if token in grammar.digits and self._number is not None:
            self._number.append(token)
        elif token == grammar.end or token in grammar.results:
            self._finished = token
        else:
            self._lines += 1
            self._number = [] if token in grammar.holes else None
