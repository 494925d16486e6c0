"""The form of an answer: a slot, the number of a target, and a command."""

from __future__ import annotations

from collections.abc import Iterable

from rlanything_envs.llm.choices import Form, OneOf, Repeat, Then
from rlanything_envs.osworld.short.gestures import MAX_PIECES
from rlanything_envs.osworld.short.screen import Screen
from rlanything_envs.osworld.short.slots import Slots
from rlanything_envs.osworld.short.words import COLUMNS, COUNTS, DONE, KEYS, LITERALS, NOBODY, SLOTS

__all__ = ["answer_form"]


def answer_form(screen: Screen, slots: Slots) -> Form:
    """The form of the next answer, restricted to slots and targets that exist."""
    known = SLOTS[: len(slots.texts)]
    clicks = COUNTS[: len(screen.targets)]
    lines = COUNTS[: screen.rows] if screen.app == "editor" else ()
    rows = COUNTS[: screen.rows] if screen.app == "sheet" else ()
    commands: list[Form] = [
        *(f" {word}" for word in DONE),
        Then((" press", _one(KEYS))),
        Then((" type", Repeat(_one((*LITERALS, *known)), 1, MAX_PIECES))),
    ]
    if clicks:
        commands.append(Then((" click", _one(clicks))))
    if lines:
        commands.append(Then((" line", _one(lines))))
    if rows:
        commands.append(Then((" cell", _one(COLUMNS), _one(rows))))
    places = max(clicks, lines, rows, key=len)
    return Then((OneOf((NOBODY, *known)), _one((NOBODY, *places)), OneOf(tuple(commands))))


def _one(words: Iterable[str]) -> Form:
    """One of these words, after a blank."""
    return OneOf(tuple(f" {word}" for word in words))
