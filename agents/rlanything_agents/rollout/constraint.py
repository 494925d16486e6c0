"""Constrained decoding: an automaton says which tokens a turn may go on with.

`TurnConstraint` is that of a thought from given slots and one of the admissible commands: what a trie over the
tokenised commands would say. Where only one token can come next, there is nothing to choose: it is forced, and costs
neither a sample nor a term of the loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

__all__ = ["Constraint", "EmptyConstraint", "TurnConstraint"]


class Constraint(Protocol):
    """An automaton over the tokens of one turn."""

    @property
    def allowed(self) -> tuple[int, ...]:
        """The ids that may come next, ascending; empty once the turn is complete."""
        ...

    @property
    def command(self) -> str | None:
        """The text the tokens stand for, where it was chosen from a list; else the dialect reads the tokens."""
        ...

    def advance(self, token: int) -> None:
        """Take the next token, one of `allowed`."""
        ...


class EmptyConstraint(ValueError):
    """No command is admissible, so that no turn can be written."""


class TurnConstraint:
    """What the rest of one turn may be.

    Args:
        slots: For each token of the thought the ids it may take.
        commands: Tokens of each admissible command -> its text. No sequence is a prefix of another: all end
            alike.

    Raises:
        EmptyConstraint: There are no commands.
    """

    __slots__ = ("_commands", "_depth", "_open", "_slots", "_thought")

    def __init__(self, slots: Sequence[tuple[int, ...]], commands: Iterable[tuple[tuple[int, ...], str]]) -> None:
        self._slots = slots
        self._thought = 0
        self._commands = dict(commands)
        self._open = list(self._commands)
        self._depth = 0
        if not self._open:
            raise EmptyConstraint("the environment lists no admissible commands; decode without a constraint")

    @property
    def allowed(self) -> tuple[int, ...]:
        """The ids that may come next, ascending; empty once the turn is complete."""
        if self._thought < len(self._slots):
            return self._slots[self._thought]
        depth = self._depth
        return tuple(sorted({tokens[depth] for tokens in self._open if len(tokens) > depth}))

    @property
    def command(self) -> str | None:
        """The text of the chosen command, or None while the turn is incomplete."""
        tokens = self._open[0]
        return self._commands[tokens] if len(self._open) == 1 and len(tokens) == self._depth else None

    def advance(self, token: int) -> None:
        """Take the next token, one of `allowed`."""
        if self._thought < len(self._slots):
            self._thought += 1
            return
        depth = self._depth
        self._open = [tokens for tokens in self._open if tokens[depth] == token]
        self._depth += 1
