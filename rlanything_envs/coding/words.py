"""Parser of action words in a language model's text: at the beginning of a line, or named in a sentence.

No regular expression is used: each line is read once, and only at its beginning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["VERBS", "Verb", "Word", "intended_verbs", "word_of"]

Verb = Literal["RUN", "TEST", "SUBMIT", "GIVE_UP"]
VERBS: tuple[Verb, ...] = ("RUN", "TEST", "SUBMIT", "GIVE_UP")

_LOOKED_AT = 120  # characters of a line that are searched for an action word
_MARKUP = " \t>#*_`-–—•[](){}<\"'~+=|:.!,\\→➡✅🚀\u200b"
_NAMES: tuple[tuple[str, Verb], ...] = (
    ("give_up", "GIVE_UP"),
    ("give up", "GIVE_UP"),
    ("submit", "SUBMIT"),
    ("test", "TEST"),
    ("run", "RUN"),
)
_LABELS = frozenset({"action", "answer", "command", "decision", "verb", "word", "move", "boxed", "text", "step"})
"""Last word of a label before an action word: ``Final action: SUBMIT``, ``<action>SUBMIT``."""
_INTENTIONS = (
    "let me",
    "let's",
    "let us",
    "i will",
    "i'll",
    "i want",
    "i'd like",
    "i am going",
    "i'm going",
    "now",
    "first",
)


@dataclass(frozen=True, slots=True)
class Word:
    """An action word at the beginning of a line.

    Attributes:
        verb: The action.
        alone: Whether nothing else stands on the line.
        capital: Whether it is written in capitals.
    """

    verb: Verb
    alone: bool
    capital: bool


def word_of(line: str) -> Word | None:
    """The action word that a line begins with: alone in any case, or in capitals before other words.

    Markup, numbers of a list and labels such as ``Action:`` or ``<action>`` may stand around it.
    """
    head = _without_labels(line[:_LOOKED_AT])
    if not head:
        return None
    lower = head.lower()
    name, verb = next(((name, verb) for name, verb in _NAMES if lower.startswith(name)), ("", None))
    if verb is None:
        return None
    written, rest = head[: len(name)], head[len(name) :]
    if rest[:1].isalnum() or rest[:1] in ("_", "[", "/", "|", "'", "’", ",") or rest.lstrip()[:1] in ("=", "("):
        return None
    if rest[:1] in (".", "-") and rest[1:2].isalnum():  # run.py, RUN-time
        return None
    rest = _without_end_tag(rest).strip(_MARKUP)
    if rest and (not written.isupper() or rest.partition(" ")[0].lower() in ("and", "or")):
        return None
    return Word(verb, not rest, written.isupper())


def _without_labels(head: str) -> str:
    """The beginning of a line without markup, numbers and labels."""
    for _ in range(4):
        head = head.lstrip(_MARKUP)
        if not head:
            break
        digits = len(head) - len(head.lstrip("0123456789"))
        if 0 < digits <= 3 and head[digits : digits + 1] in (".", ")", ":"):
            head = head[digits + 1 :]
            continue
        ends = [place for mark in ":>{" if 0 <= (place := head.find(mark)) <= 30]
        if not ends:
            break
        label = head[: min(ends)].strip(_MARKUP).lower().split()
        if label and label[-1].isdigit():  # Step 3:
            label.pop()
        if not 1 <= len(label) <= 3 or label[-1] not in _LABELS:
            break
        head = head[min(ends) + 1 :]
    return head.lstrip(_MARKUP)


def _without_end_tag(rest: str) -> str:
    """The rest of a line without a closing tag such as ``</action>``."""
    before, tag, after = rest.partition("</")
    return before if tag and not after.partition(">")[2].strip() else rest


def intended_verbs(lines: list[str]) -> set[Verb]:
    """The action words named in sentences: in capitals anywhere, or in the last line where it says what comes next.

    Args:
        lines: The prose before a program.
    """
    found: set[Verb] = set()
    for line in lines:
        for piece in line.replace("GIVE UP", "GIVE_UP").split():
            word = piece.strip(_MARKUP.replace("_", "") + ";?")
            found |= {verb for verb in VERBS if word == verb}
    last = next((line for line in reversed(lines) if line.strip()), "").lower().strip(_MARKUP)
    if not found and last.startswith(_INTENTIONS):
        words = {piece.strip(_MARKUP) for piece in last.split()}
        found |= {verb for name, verb in _NAMES if name in words}
    return found
