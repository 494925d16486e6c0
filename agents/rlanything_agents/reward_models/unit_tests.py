"""The reward model of coding: it reads a problem and writes unit tests for it.

What it reads and how its answer is read is a `TestStyle`: `ChatTests` for any language model behind a `TextGenerator`,
or that of a short view.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rlanything_agents.reward_models.unit_test_answers import UnreadableTest, read_unit_test
from rlanything_agents.rollout.queries import Answer
from rlanything_agents.training.samples import Allowed, Sample, answer_sample
from rlanything_envs.curriculum.prompting import render
from rlanything_envs.llm.choices import Form
from rlanything_envs.llm.generator import Completion, Messages, Prompt, SamplingParams, TextGenerator
from rlanything_task_pools.coding import Payload
from rlanything_verifiers.coding import Job, JudgeError, Test, check_job

__all__ = ["ChatTests", "TestStyle", "UnitTestWriter", "WrittenTest"]

PROMPT = Path(__file__).parent / "prompts" / "unit_test.j2"
MAX_STATEMENT = 20_000
"""Longest statement that is shown, in characters."""
MAX_SAMPLE = 2_000
SAMPLES = 3


class TestStyle(Protocol):
    """How a reward model is asked for a test."""

    form: Form | None
    """Of an answer, where it has one."""

    def test_prompt(self, payload: Payload) -> Messages:
        """What it reads."""
        ...

    def read_test(self, answer: Completion) -> Test:
        """The test it wrote.

        Raises:
            UnreadableTest: It wrote something else.
        """
        ...


class ChatTests:
    """The style of language models: a prompt in words, an answer in words.

    Args:
        template: Another prompt: the path of a Jinja file that uses ``statement``, ``samples`` and ``entry_point``.
    """

    form: Form | None = None

    def __init__(self, template: str | os.PathLike[str] = PROMPT) -> None:
        self.template = Path(template)

    def test_prompt(self, payload: Payload) -> Messages:
        """The problem with its samples, and what a good test is."""
        samples = [
            {"stdin": _cut(test.stdin, MAX_SAMPLE), "stdout": _cut(test.stdout, MAX_SAMPLE)}
            for test in payload.public[:SAMPLES]
        ]
        statement = _cut(payload.statement, MAX_STATEMENT)
        text = render(self.template, statement=statement, samples=samples, entry_point=payload.entry_point)
        return [{"role": "user", "content": text}]

    def read_test(self, answer: Completion) -> Test:
        """See `answers.read_unit_test`."""
        return read_unit_test(answer.text)


@dataclass(frozen=True, slots=True)
class WrittenTest:
    """One answer of a reward model.

    Attributes:
        text: What it wrote.
        test: The test in it; None where there is none.
        complaint: Why not.
        failed: The generator failed, not the model: there is no answer, and no reward.
        prompt_ids: Tokens of the prompt, or None where the generator hides them.
        token_ids: Its tokens, or None.
        logprobs: Log-probability of each token at temperature 1, or None.
        allowed: See `rlanything_envs.llm.generator.Completion`.
    """

    text: str
    test: Test | None
    complaint: str = ""
    failed: bool = False
    prompt_ids: list[int] | None = None
    token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    allowed: list[Allowed | None] | None = None

    def sample(self, advantage: float) -> Sample:
        """The answer as one row of training data.

        Raises:
            ValueError: The generator hides what it sampled.
        """
        if self.prompt_ids is None or not self.token_ids or self.logprobs is None:
            raise ValueError(
                "a reward model learns from token ids and log-probabilities: its generator must return them"
            )
        return answer_sample(self.prompt_ids, self.token_ids, self.logprobs, self.allowed, advantage)


class UnitTestWriter:
    """Writes tests for problems.

    Args:
        generator: Writes the answers; it must be trainable if the reward model is to learn.
        style: Writes the prompts and reads the answers.
        max_tokens: Most tokens of an answer.
    """

    def __init__(self, generator: TextGenerator, style: TestStyle, max_tokens: int = 2048) -> None:
        self.generator = generator
        self.style = style
        self.max_tokens = max_tokens

    def write(
        self, problems: Sequence[Payload], *, tests: int, seed: int, temperature: float = 1.0
    ) -> list[list[WrittenTest]]:
        """Tests for each problem, in order.

        Args:
            problems: What to write tests for; hidden tests are not shown.
            tests: Answers per problem.
            seed: Seed of the sampling.
            temperature: Of the sampling.
        """
        if not problems:
            return []
        questions = [self.question(problem) for problem in problems]
        params = self.params(tests=tests, seed=seed, temperature=temperature)
        return self.tests(problems, list(zip(questions, self.generator.generate(questions, params), strict=True)))

    def question(self, problem: Payload) -> Prompt:
        """What it reads of a problem."""
        return self.style.test_prompt(problem)

    def params(self, *, tests: int, seed: int, temperature: float = 1.0) -> SamplingParams:
        """How it is asked; see `write`."""
        return SamplingParams(self.max_tokens, temperature=temperature, n=tests, seed=seed, form=self.style.form)

    def tests(self, problems: Sequence[Payload], answers: Sequence[Answer]) -> list[list[WrittenTest]]:
        """The tests for each problem, from the answers to its question."""
        return [
            [self._read(problem, answer) for answer in group]
            for problem, (_, group) in zip(problems, answers, strict=True)
        ]

    def _read(self, problem: Payload, answer: Completion) -> WrittenTest:
        ids = (answer.prompt_ids, answer.token_ids, answer.logprobs, answer.allowed)
        if answer.finish_reason == "error":
            return WrittenTest(answer.text, None, answer.error or "the generator failed", True, *ids)
        try:
            test = self.style.read_test(answer)
            check_job(Job("", [test], problem.checker, entry_point=problem.entry_point))
        except (UnreadableTest, JudgeError) as error:
            return WrittenTest(answer.text, None, str(error), False, *ids)
        return WrittenTest(answer.text, test, "", False, *ids)


def _cut(text: str, length: int) -> str:
    return text.rstrip() if len(text) <= length else f"{text[:length]}\n[...]"
