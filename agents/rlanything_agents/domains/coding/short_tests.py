"""Unit tests in the words of the short view: a list of integers, and the output for it.

``4 , - 1 , 6 <gives> 1 6``: a number is written digit by digit, and the length of the list is not written.
"""

from __future__ import annotations

from collections.abc import Sequence

from rlanything_agents.reward_models.unit_test_answers import make_test
from rlanything_envs.coding.list_language import DIGITS
from rlanything_envs.coding.list_words import GIVES, MINUS, NEXT, OTHER, WORDS, words_of
from rlanything_envs.llm.choices import Form
from rlanything_envs.llm.generator import Completion, Messages
from rlanything_task_pools.coding import Payload
from rlanything_verifiers.coding import JudgeError, Test

__all__ = ["ShortTests", "written_test"]

_KNOWN = frozenset(WORDS)
MAX_WORDS = 400
"""Maximum words of an answer that are read; those of small models are shorter."""


class ShortTests:
    """Unit-test style of the short view; see `rlanything_agents.reward_models.unit_tests.TestStyle`."""

    def form(self, payload: Payload) -> Form | None:
        """None: any words are allowed."""
        return None

    def test_prompt(self, payload: Payload) -> Messages:
        """One message with the words of the statement."""
        return [{"role": "user", "content": " ".join(words_of(payload.statement))}]

    def read_test(self, answer: Completion) -> Test:
        """Parse the test in an answer.

        Raises:
            JudgeError: The answer holds no test.
        """
        words = answer.text.split(None, MAX_WORDS)
        if words.count(GIVES) != 1:
            raise JudgeError(f"one {GIVES} stands between input and output")
        at = words.index(GIVES)
        inputs, outputs = _numbers(words[:at]), _numbers(words[at + 1 :])
        if any(text == OTHER for text in inputs):
            raise JudgeError("the input is a list of integers")
        return make_test(f"{len(inputs)}\n{' '.join(inputs)}\n", f"{' '.join(outputs)}\n")


def written_test(numbers: Sequence[int], stdout: str) -> str | None:
    """Write a test as an answer; None where the output is empty or has characters outside the vocabulary."""
    words: list[str] = []
    for number, text in enumerate(map(str, numbers)):
        words += [*([NEXT] if number else []), *text]
    words.append(GIVES)
    for number, text in enumerate(stdout.split()):
        words += [*([NEXT] if number else []), *([text] if text == OTHER else text)]
    return " ".join(words) if stdout.split() and all(word in _KNOWN for word in words) else None


def _numbers(words: Sequence[str]) -> list[str]:
    """Parse words into integers, as texts; `OTHER` stands for anything else.

    Raises:
        JudgeError: A word is not part of a number, or a number is missing.
    """
    found: list[str] = [""]
    for word in words:
        if word == NEXT:
            found.append("")
        elif (word in DIGITS and found[-1] != OTHER) or (word in (MINUS, OTHER) and not found[-1]):
            found[-1] += word
        else:
            raise JudgeError(f"{word[:40]!r} is not part of a number")
    if any(text in ("", MINUS) for text in found):
        raise JudgeError("a number is missing")
    return found
