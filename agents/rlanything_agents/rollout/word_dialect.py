"""What dialects with one token a word have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import gymnasium as gym
from transformers import PreTrainedTokenizerFast

from rlanything_agents.models.small import UNK, word_tokenizer

__all__ = ["WordDialect"]


class WordDialect:
    """A vocabulary of whole words, and the word that closes a turn."""

    words: ClassVar[Sequence[str]]
    """The vocabulary, beside the marks of every small model."""
    end: ClassVar[str]
    """The word that closes a turn of the agent."""

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerFast:
        """One token per word of `words`."""
        return word_tokenizer(self.words)

    @property
    def end_id(self) -> int:
        """The id of the word that closes a turn."""
        return self._ids[self.end]

    def wrapped(self, env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
        """The environment as it is."""
        return env

    @cached_property
    def _ids(self) -> dict[str, int]:
        vocabulary: dict[str, int] = self.tokenizer.get_vocab()
        return vocabulary

    @cached_property
    def _names(self) -> dict[int, str]:
        return {i: word for word, i in self._ids.items()}

    def _encode(self, words: Iterable[str]) -> list[int]:
        unknown = self._ids[UNK]
        return [self._ids.get(word, unknown) for word in words]

    def _decode(self, ids: Iterable[int]) -> list[str]:
        """The words of a turn, without the one that closes it."""
        return [self._names[i] for i in ids if i != self.end_id]
