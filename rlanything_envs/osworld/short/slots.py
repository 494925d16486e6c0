"""The strings of a task by number, so that a model of a few words can name and type any of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rlanything_envs.osworld.short.words import MAX_SLOTS, NUMBER, OTHER, SCREEN, SLOTS, TASK_WORDS, WORDS

__all__ = ["Slots", "tidy"]

_TASK_PIECE = re.compile(r'"([^"]{1,200})"|(-?\w[\w+]*(?:[.\-]\w+)*)|([,.:])')
_SCREEN_PIECE = re.compile(r"\w+(?:[.\-]\w+)*|\S")
_SAYABLE = frozenset(word for word in WORDS if not word.startswith("<")) - {SCREEN}
_KNOWN = frozenset(TASK_WORDS)
_FEW = 40
"""Most words of one text of the screen."""


class Slots:
    """The strings of one task.

    A quoted text is one string; so is every number, and every word outside the vocabulary.

    Args:
        instruction: The task.

    Attributes:
        words: The instruction in words of the vocabulary.
        texts: The strings, the first one that of slot 1.
    """

    def __init__(self, instruction: str) -> None:
        self.texts: list[str] = []
        self.words: list[str] = []
        for quoted, word, mark in _TASK_PIECE.findall(instruction):
            if mark or (word and word.lower() in _KNOWN):
                self.words.append(mark or word.lower())
            else:
                self.words.append(self._slot(quoted or word))
        self._numbers = {text: SLOTS[number] for number, text in enumerate(self.texts)}

    def _slot(self, text: str) -> str:
        if text not in self.texts:
            if len(self.texts) == MAX_SLOTS:
                return OTHER
            self.texts.append(text)
        return SLOTS[self.texts.index(text)]

    def text(self, slot: str) -> str | None:
        """The string of a slot; None where there is none."""
        number = SLOTS.index(slot) if slot in SLOTS else MAX_SLOTS
        return self.texts[number] if number < len(self.texts) else None

    def read(self, text: str) -> list[str]:
        """Words of a text of the screen: slots where it names them, ``#`` for numbers, ``?`` for unknown words."""
        text = text.strip()
        if text in self._numbers:
            return [self._numbers[text]]
        return [self._word(piece) for piece in _SCREEN_PIECE.findall(text[:2000])[:_FEW]]

    def _word(self, piece: str) -> str:
        if piece in self._numbers:
            return self._numbers[piece]
        if piece.isdecimal():
            return NUMBER
        return piece.lower() if piece.lower() in _SAYABLE else OTHER


def tidy(words: Sequence[str]) -> list[str]:
    """The words, runs of ``?`` as one."""
    return [word for number, word in enumerate(words) if word != OTHER or number == 0 or words[number - 1] != OTHER]
