"""ALFWorld for small models: an append-only transcript in some 250 words.

::

    <bos> clean some apple and put it in fridge <room> cabinet 6 fridge 1 ... <act>
          find apple goto cabinet 2 <end>
    <obs> closed <act>
          find apple open cabinet 2 <end>
    <obs> cup 1 <act> ...

Every step of an episode is a (prompt, response) pair whose prompt is all that stands before it. As the
transcript only grows, one pass over its last state trains all of its steps, and playing on costs only the new
tokens.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from transformers import PreTrainedTokenizerFast

from rlanything_agents.alfworld.belief import kind_of_name, listed_names, parse_task
from rlanything_agents.alfworld.expert import ExploringExpert
from rlanything_agents.alfworld.opinion import opinions
from rlanything_agents.alfworld.words import ACT, ANSWER, END, OBS, PHASES, REPEAT, ROOM, TYPES, WORDS
from rlanything_agents.backends.tiny import BOS, EOS, UNK, word_tokenizer
from rlanything_agents.dialect import Judgement, Step

__all__ = ["AlfWorldDialect"]

_TYPES = frozenset(TYPES)

_DONE = re.compile(r"You (?:pick up|move|clean|heat|cool|close|turn on|sliced|slice|put) ")
_SHOWN = re.compile(r"(?:On the|The) [a-z]+ \d+(?: is open\. In it)?, you see (.*?)\.", re.DOTALL)
_CLOSED = re.compile(r"The [a-z]+ \d+ is closed\.")
_WORD = re.compile(r"[a-z]+|\d+")
_SKIPPED = frozenset(
    ["you", "are", "see", "the", "a", "an", "is", "it", "this", "of", "there", "s", "t", "about", "don"]
)

_MESSAGE_LIMIT = 64
"""Most tokens one message takes; the fullest official countertop shows 20 things in 40."""

_HISTORY = 4
"""Steps a judge reads before the one it judges."""

_SHORT = 6
"""Tokens of an earlier message a judge reads."""


class AlfWorldDialect:
    """The ALFWorld translation; without state of its own, and shared."""

    def __init__(self) -> None:
        # A turn offers some thirty commands, nearly all of which were offered before.
        self._command = lru_cache(maxsize=2**16)(lambda action: self._encode([*_command_words(action), END]))

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerFast:
        """One token per word of `words.WORDS`."""
        return word_tokenizer(WORDS)

    @cached_property
    def _ids(self) -> dict[str, int]:
        vocabulary: dict[str, int] = self.tokenizer.get_vocab()
        return vocabulary

    @cached_property
    def _names(self) -> dict[int, str]:
        return {i: word for word, i in self._ids.items()}

    @cached_property
    def thought_slots(self) -> tuple[tuple[int, ...], ...]:
        """A phase, then a type."""
        return self._encode(PHASES), self._encode(TYPES)

    @property
    def end_id(self) -> int:
        """The id of ``<end>``."""
        return self._ids[END]

    def _encode(self, words: Sequence[str]) -> tuple[int, ...]:
        unknown = self._ids[UNK]
        return tuple(self._ids.get(word, unknown) for word in words)

    def opening(self, observation: str) -> list[int]:
        """Task, then how many receptacles of each type the room has."""
        sentence, _ = parse_task(observation, _TYPES)
        room = Counter(map(kind_of_name, listed_names(observation.partition("Your task is to:")[0])))
        counts = [word for kind, count in sorted(room.items()) for word in (kind, str(count))]
        return list(self._encode([BOS, *_words(sentence), ROOM, *counts, ACT]))

    def message(self, observation: str) -> list[int]:
        """``<obs>``, the message in short, ``<act>``."""
        return list(self._encode([OBS, *_compact(observation), ACT]))

    def thought(self, thought: str) -> tuple[int, ...]:
        """The two words of a thought."""
        return self._encode(thought.split())

    def command(self, action: str) -> tuple[int, ...]:
        """The words of a command, ``go to`` being one, and ``<end>``."""
        return self._command(action)

    def read_turn(self, ids: Sequence[int]) -> tuple[str, str]:
        """Two words of thought, then the command up to ``<end>``."""
        words = [self._names[i] for i in ids if i != self.end_id]
        split = len(self.thought_slots)
        return " ".join(words[:split]), " ".join(words[split:]).replace("goto ", "go to ")

    def expert(self, seed: int) -> ExploringExpert:
        """A fresh exploring expert."""
        return ExploringExpert(_TYPES, seed)

    def judge_prompt(self, opening: str, steps: Sequence[Step], index: int) -> list[int]:
        """Task, the last steps in short, how often the command was given before, the step, and its message in full."""
        sentence, _ = parse_task(opening, _TYPES)
        words = [BOS, *_words(sentence)]
        for step in steps[max(0, index - _HISTORY) : index]:
            words += [ACT, *_command_words(step.action), OBS, *_compact(step.observation)[:_SHORT]]
        step = steps[index]
        before = sum(earlier.action == step.action for earlier in steps[:index])
        words += [REPEAT, str(min(before, 9)), ACT, *step.thought.split(), *_command_words(step.action)]
        words += [OBS, *_compact(step.observation), ANSWER]
        return list(self._encode(words))

    def judgement(self, judgement: Judgement) -> list[int]:
        r"""For example ``progress \boxed{1} <eos>``."""
        return list(self._encode([judgement.reason, rf"\boxed{{{judgement.score}}}", EOS]))

    def opinions(self, opening: str, steps: Sequence[Step]) -> list[Judgement]:
        """See `opinion.opinions`."""
        return opinions(opening, steps, _TYPES)

    def true_labels(self, payload: Mapping[str, Any], steps: Sequence[Step]) -> list[int]:
        """See `oracle.step_labels`."""
        from rlanything_agents.alfworld.oracle import step_labels

        return step_labels(payload, [step.action for step in steps])


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _command_words(action: str) -> list[str]:
    return _words(action.replace("go to ", "goto ", 1))


def _compact(observation: str) -> list[str]:
    """A message in a few words: what is seen, ``closed``, ``ok`` for a deed done, else its telling words."""
    if found := _SHOWN.search(observation):
        return [w for name in listed_names(found[1]) for w in name.split()][:_MESSAGE_LIMIT] or ["nothing"]
    if _CLOSED.search(observation):
        return ["closed"]
    if _DONE.match(observation):
        return ["ok"]
    return [word for word in _words(observation) if word not in _SKIPPED][:_MESSAGE_LIMIT]
