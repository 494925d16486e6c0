"""Constrained decoding of turns: an automaton that knows which token can come next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlanything_agents.domains.osworld.gestures import MAX_PIECES
from rlanything_agents.domains.osworld.words import COLUMNS, COUNTS, DONE, END, KEYS, LITERALS, NOBODY, SLOTS

__all__ = ["GestureConstraint"]


class GestureConstraint:
    """What the rest of one turn may be: a slot that the turn is about, a place, a command, the end.

    Args:
        ids: The vocabulary.
        choices: How many ``slots`` the task has, how many things there are to ``click`` on, and how many lines
            (``line``) or rows (``cell``) to go to; nothing is offered of what there is none of.
    """

    __slots__ = ("_choices", "_ids", "_words")

    command = None
    """The tokens are the command: there is no text it was chosen from."""

    def __init__(self, ids: Mapping[str, int], choices: Mapping[str, Any]) -> None:
        self._ids = ids
        self._choices = {name: int(choices.get(name, 0)) for name in ("slots", "click", "line", "cell")}
        self._words: list[int] = []

    @property
    def allowed(self) -> tuple[int, ...]:
        """The ids that may come next, ascending; empty once the turn is complete."""
        return tuple(sorted(self._ids[word] for word in self._next()))

    def advance(self, token: int) -> None:
        """Take the next token, one of `allowed`."""
        self._words.append(token)

    def _next(self) -> Sequence[str]:
        slots = SLOTS[: self._choices["slots"]]
        if not self._words:
            return [NOBODY, *slots]
        if len(self._words) == 1:
            return [NOBODY, *COUNTS[: max(self._choices[name] for name in ("click", "line", "cell"))]]
        if len(self._words) == 2:
            return [*DONE, "press", "type", *(verb for verb in ("click", "line", "cell") if self._choices[verb])]
        verb, *rest = self._words[2:]
        if rest and rest[-1] == self._ids[END]:
            return []
        name = next(word for word in ("press", "type", "click", "line", "cell", *DONE) if self._ids[word] == verb)
        if name == "type" and len(rest) < MAX_PIECES:
            return [*LITERALS, *slots, *([END] if rest else [])]
        if name == "press" and not rest:
            return list(KEYS)
        if name == "cell" and not rest:
            return COLUMNS
        if len(rest) < {"click": 1, "line": 1, "cell": 2}.get(name, 0):
            return COUNTS[: self._choices[name]]
        return [END]
