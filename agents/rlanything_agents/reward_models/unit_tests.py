"""The reward model of coding: it reads a problem and writes unit tests for it.

A `TestStyle` writes its prompts and parses its answers: `ChatTests` for language models, or the style of a short view.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rlanything_agents.reward_models.unit_test_answers import read_unit_test
from rlanything_agents.rollout.queries import Answer, QueriesAtEnd, Query
from rlanything_agents.training.samples import Sample, answer_sample
from rlanything_envs.curriculum.prompting import render
from rlanything_envs.llm.choices import PLAIN, Form, OneOf, Prose, Then
from rlanything_envs.llm.generator import Completion, Messages, SamplingParams, TextGenerator
from rlanything_task_pools.coding import Payload
from rlanything_verifiers.coding import Job, JudgeError, Test, check_job

__all__ = ["FORM", "ChatTests", "TestStyle", "UnitTestWriter", "WrittenTest"]

PROMPT = Path(__file__).parent / "prompts" / "unit_test.j2"
MAX_STATEMENT = 20_000
"""Maximum characters of a statement in a prompt."""
MAX_SAMPLE = 2_000
SAMPLES = 3
_TEXT = Then((OneOf(tuple(character for character in PLAIN if character not in "\n `")), Prose(1000, "`")))
INPUT, OUTPUT, END = "**Test Input:**\n```\n", "\n```\n\n**Test Output:**\n```\n", "\n```"
_THOUGHT = Then((Prose(MAX_SAMPLE, "\n`~"), "\n\n"))  # a fence in it would hide the test behind it
FORM = Then((OneOf(("", _THOUGHT)), INPUT, _TEXT, OUTPUT, _TEXT, END))
"""Form of an answer: thoughts on one line or none, then the input and the output of a test."""


class TestStyle(Protocol):
    """Prompt and answer format of a reward model that writes unit tests."""

    form: Form | None
    """Form of an answer; None where any text is allowed."""

    def test_prompt(self, payload: Payload) -> Messages:
        """Chat messages that ask for a test of a problem."""
        ...

    def read_test(self, answer: Completion) -> Test:
        """Parse the test in an answer.

        Raises:
            JudgeError: The answer holds no test.
        """
        ...


class ChatTests:
    """The style for language models: prompt and answer in prose.

    Args:
        template: Path of a Jinja file with the prompt; it may use ``statement``, ``samples`` and ``entry_point``.
        form: Form of the answers, such as `FORM`; None where any text is allowed.
    """

    def __init__(self, template: str | os.PathLike[str] = PROMPT, form: Form | None = None) -> None:
        self.template, self.form = Path(template), form

    def test_prompt(self, payload: Payload) -> Messages:
        """A message with the problem, its samples, and the criteria of a good test."""
        samples = [
            {"stdin": _cut(test.stdin, MAX_SAMPLE), "stdout": _cut(test.stdout, MAX_SAMPLE)}
            for test in payload.public[:SAMPLES]
        ]
        statement = _cut(payload.statement, MAX_STATEMENT).replace("\n", "\n| ")  # no line of the template
        text = render(self.template, statement=statement, samples=samples, entry_point=payload.entry_point)
        return [{"role": "user", "content": text}]

    def written(self, stdin: str, stdout: str) -> str:
        """A test as an answer, for demonstrations."""
        return f"{INPUT}{stdin.rstrip()}{OUTPUT}{stdout.rstrip()}{END}"

    def read_test(self, answer: Completion) -> Test:
        """See `unit_test_answers.read_unit_test`."""
        return read_unit_test(answer.text)


@dataclass(frozen=True, slots=True)
class WrittenTest:
    """One answer of a reward model.

    Attributes:
        answer: The answer.
        test: The test in it; None where there is none.
        complaint: Why there is no test.
    """

    answer: Completion
    test: Test | None
    complaint: str = ""

    @property
    def failed(self) -> bool:
        """Whether the generator failed, which is an infrastructure failure: there is no answer, and no reward."""
        return self.answer.finish_reason == "error"

    def sample(self, advantage: float) -> Sample:
        """The answer as one row of training data.

        Raises:
            ValueError: The generator returned no token ids or log-probabilities.
        """
        answer = self.answer
        if answer.prompt_ids is None or not answer.token_ids or answer.logprobs is None:
            raise ValueError(
                "a reward model learns from token ids and log-probabilities: its generator must return them"
            )
        return answer_sample(answer.prompt_ids, answer.token_ids, answer.logprobs, answer.allowed, advantage)


class UnitTestWriter:
    """Writes tests for problems.

    Args:
        generator: Samples the answers; it must return token ids and log-probabilities if the reward model is trained.
        style: Writes the prompts and parses the answers.
        max_tokens: Maximum tokens of an answer.
    """

    def __init__(self, generator: TextGenerator, style: TestStyle, max_tokens: int = 2048) -> None:
        self.generator = generator
        self.style = style
        self.max_tokens = max_tokens

    def write(
        self, problems: Sequence[Payload], *, tests: int, seed: int, temperature: float = 1.0
    ) -> list[list[WrittenTest]]:
        """Write tests for each problem, in order.

        Args:
            problems: The problems; the model does not see their hidden tests.
            tests: Answers per problem.
            seed: Seed of the sampling.
            temperature: Temperature of the sampling.
        """
        asking = QueriesAtEnd(self.generator, self.params(tests=tests, seed=seed, temperature=temperature))
        asking.add([self.query(problem) for problem in problems])
        return self.parse_tests(problems, asking.answers())

    def query(self, problem: Payload) -> Query:
        """Query for the tests of a problem."""
        return Query(self.style.test_prompt(problem), self.style.form)

    def params(self, *, tests: int, seed: int, temperature: float = 1.0) -> SamplingParams:
        """Sampling parameters; see `write`."""
        return SamplingParams(self.max_tokens, temperature=temperature, n=tests, seed=seed)

    def parse_tests(self, problems: Sequence[Payload], answers: Sequence[Answer]) -> list[list[WrittenTest]]:
        """Parse the tests for each problem from the answers to its query."""
        return [
            [self._read(problem, answer) for answer in group]
            for problem, (_, group) in zip(problems, answers, strict=True)
        ]

    def _read(self, problem: Payload, answer: Completion) -> WrittenTest:
        if answer.finish_reason == "error":
            return WrittenTest(answer, None, answer.error or "the generator failed")
        try:
            test = self.style.read_test(answer)
            check_job(Job("", [test], problem.checker, entry_point=problem.entry_point))
        except JudgeError as error:
            return WrittenTest(answer, None, str(error))
        return WrittenTest(answer, test)


def _cut(text: str, length: int) -> str:
    return text.rstrip() if len(text) <= length else f"{text[:length]}\n[...]"
