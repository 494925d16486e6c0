"""Coding for small models: a statement in some 60 words, a program in some 40 sentences, a test in digits.

::

    <bos> <line> keep only the even numbers <line> add 3 to every number <line> print the sum ... <program>
          a_=_[x_for_x_in_a_if_x_%_2_==_0] a_=_[x_+_{}_for_x_in_a] 3 print(sum(a)) <end>

    <bos> <line> keep only ... <test>
          4 , - 1 , 6 <gives> 1 6 <eos>

The programs are those of `language`, the tests hold one list of integers each (its length is written by the dialect).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rlanything_agents.domains.coding.grammar import Grammar, ProgramConstraint
from rlanything_agents.domains.coding.language import DIGITS, RESULTS, STEPS, read_program, write_program
from rlanything_agents.domains.coding.words import (
    END,
    GIVES,
    MINUS,
    NEXT,
    OTHER,
    PROGRAM,
    TEST,
    WORDS,
    name_of,
    words_of,
)
from rlanything_agents.models.small import BOS, EOS
from rlanything_agents.reward_models.unit_test_answers import UnreadableTest, make_test
from rlanything_agents.rollout.word_dialect import WordDialect
from rlanything_envs.llm.generator import Completion
from rlanything_task_pools.coding import Payload
from rlanything_verifiers.coding import Test

if TYPE_CHECKING:
    from rlanything_agents.config import RunConfig
    from rlanything_agents.domains.coding.lessons import CodingLessons
    from rlanything_agents.reward_models.unit_test_reviewer import UnitTestReviewer
    from rlanything_agents.runs.learners import Learners

__all__ = ["DIALECT", "CodingDialect"]

MAX_TEST_TOKENS = 64
"""Longest test of a small model: some ten numbers and what they give."""


class CodingDialect(WordDialect):
    """The translation of coding; without state of its own, and shared."""

    words, end = WORDS, END
    turn_limit = 40
    """The longest program takes 32 tokens."""
    environment: Mapping[str, Any] = {"max_turns": 1, "reward": "fraction"}
    max_test_tokens = MAX_TEST_TOKENS

    @cached_property
    def _sentences(self) -> dict[str, str]:
        return {name_of(line): line for line in (*STEPS, *RESULTS)}

    @cached_property
    def _grammar(self) -> Grammar:
        return Grammar.of(self._ids)

    def opening(self, observation: str) -> list[int]:
        """The task of the statement, line by line."""
        return self._encode([BOS, *words_of(observation), PROGRAM])

    def message(self, observation: str) -> list[int]:
        """The mark that it is the agent's turn: a small model has one turn and reads no verdicts."""
        return self._encode([PROGRAM])

    def constraint(self, info: Mapping[str, Any]) -> ProgramConstraint:
        """Any program of the language."""
        return ProgramConstraint(self._grammar)

    def program(self, source: str) -> tuple[int, ...] | None:
        """The tokens of a program, `end_id` included; None where it is not in the language."""
        words = read_program(source)
        return None if words is None else tuple(self._encode([*map(name_of, words), END]))

    def read_turn(self, ids: Sequence[int]) -> tuple[str, str]:
        """No thought, and the program as a submission."""
        source = write_program([self._sentences.get(word, word) for word in self._decode(ids)])
        return "", f"SUBMIT\n```python\n{source}```"

    def test_prompt(self, payload: Payload) -> list[int]:
        """What the writer of tests reads: the task of the statement."""
        return self._encode([BOS, *words_of(payload.statement), TEST])

    def test(self, numbers: Sequence[int], stdout: str) -> list[int] | None:
        """The tokens of a test, end of sequence included; None where the output is empty or not in the vocabulary."""
        words: list[str] = []
        for number, text in enumerate(map(str, numbers)):
            words += [*([NEXT] if number else []), *text]
        words.append(GIVES)
        for number, text in enumerate(stdout.split()):
            words += [*([NEXT] if number else []), *([text] if text == OTHER else text)]
        sayable = bool(stdout.split()) and all(word in self._ids for word in words)
        return self._encode([*words, EOS]) if sayable else None

    def read_test(self, answer: Completion) -> Test:
        """The test that a small model wrote.

        Raises:
            UnreadableTest: It wrote something else.
        """
        words = [self._names[i] for i in answer.token_ids or () if i != self._ids[EOS]]
        if words.count(GIVES) != 1:
            raise UnreadableTest(f"one {GIVES} stands between input and output")
        at = words.index(GIVES)
        given, printed = _numbers(words[:at]), _numbers(words[at + 1 :])
        if any(text == OTHER for text in given):
            raise UnreadableTest("the input is a list of integers")
        return make_test(f"{len(given)}\n{' '.join(given)}\n", f"{' '.join(printed)}\n")

    def reviewer(self, config: RunConfig, learners: Learners) -> UnitTestReviewer:
        """The reward model writes unit tests."""
        from rlanything_agents.config import CheckpointConfig
        from rlanything_agents.reward_models.unit_test_reviewer import UnitTestReviewer
        from rlanything_agents.reward_models.unit_tests import ChatTests

        model = config.reward_model
        style = ChatTests(model.max_tokens) if isinstance(model, CheckpointConfig) else self
        return UnitTestReviewer(config, learners.generator, style)

    @property
    def lessons(self) -> CodingLessons:
        """Programs and tests, right and wrong ones."""
        from rlanything_agents.domains.coding.lessons import CodingLessons

        return CodingLessons(self)


def _numbers(words: Sequence[str]) -> list[str]:
    """The integers, or `OTHER`, that words spell."""
    found: list[str] = [""]
    for word in words:
        if word == NEXT:
            found.append("")
        elif (word in DIGITS and found[-1] != OTHER) or (word in (MINUS, OTHER) and not found[-1]):
            found[-1] += word
        else:
            raise UnreadableTest(f"{word!r} is no part of a number")
    if any(text in ("", MINUS) for text in found):
        raise UnreadableTest("a number is missing")
    return found


DIALECT = CodingDialect()
"""Shared: it has no state of its own."""
