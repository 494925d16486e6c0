"""The reward model of coding: it reads a problem and writes unit tests for it.

A `TestStyle` writes its prompts and parses its answers: `ChatTests` for language models, or the style of a short view.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rlanything_agents.reward_models.unit_test_answers import read_unit_test
from rlanything_agents.rollout.queries import Answer, QueriesAtEnd, Query
from rlanything_agents.training.samples import Sample, answer_sample
from rlanything_envs.curriculum.prompting import render
from rlanything_envs.llm.choices import Form, OneOf, Prose, Then
from rlanything_envs.llm.generator import Completion, Messages, SamplingParams, TextGenerator
from rlanything_envs.llm.schema import form_of_schema
from rlanything_task_pools.coding import Example, Payload
from rlanything_verifiers.coding import Job, JudgeError, Test, check_job

__all__ = ["CALL_FORM", "FORM", "ChatTests", "TestStyle", "UnitTestWriter", "WrittenTest"]

PROMPT = Path(__file__).parent / "prompts" / "unit_test.j2"
MAX_STATEMENT = 20_000
"""Maximum characters of a statement in a prompt."""
MAX_SAMPLE = 2_000
SAMPLES = 3
_TEXT = Prose(1000, "`", begun=True)
INPUT, OUTPUT, END = "**Test Input:**\n```\n", "\n```\n\n**Test Output:**\n```\n", "\n```"
_THOUGHT = Then((Prose(MAX_SAMPLE, "\n`~"), "\n\n"))  # a fence in it would hide the test behind it
FORM = Then((OneOf(("", _THOUGHT)), INPUT, _TEXT, OUTPUT, _TEXT, END))
"""Form of an answer: thoughts on one line or none, then the input and the output of a test."""
_ARGUMENTS = form_of_schema({"type": "array", "minItems": 1})  # else models write [] where they mean [[]]
CALL_FORM = Then((OneOf(("", _THOUGHT)), INPUT, _ARGUMENTS, OUTPUT, form_of_schema({}), END))
"""As `FORM`, for a function: the input is the JSON list of its arguments, the output the JSON of its result."""


class TestStyle(Protocol):
    """Prompt and answer format of a reward model that writes unit tests."""

    def form(self, payload: Payload) -> Form | None:
        """Form of the answers about a problem; None where any text is allowed."""
        ...

    def test_prompt(self, payload: Payload) -> Messages:
        """Chat messages that ask for a test of a problem."""
        ...

    def read_test(self, answer: Completion) -> Test:
        """Parse the test in an answer.

        Raises:
            JudgeError: The answer holds no test.
        """
        ...


@dataclass(frozen=True)
class ChatTests:
    """The style for language models: prompt and answer in prose.

    Attributes:
        constrained: Whether the answers have a form.
    """

    constrained: bool = False

    def form(self, payload: Payload) -> Form | None:
        """`CALL_FORM` for a function, `FORM` for a program; None for answers without a form."""
        return (FORM if payload.entry_point is None else CALL_FORM) if self.constrained else None

    def test_prompt(self, payload: Payload) -> Messages:
        """A message with the problem, its samples, and the criteria of a good test."""
        names = ("candidate", payload.entry_point) if payload.entry_point else ()
        shown = [_call(test, names) for test in payload.public[:SAMPLES]]
        samples = [{"stdin": _cut(each.stdin, MAX_SAMPLE), "stdout": _cut(each.stdout, MAX_SAMPLE)} for each in shown]
        statement = _cut(payload.statement, MAX_STATEMENT).replace("\n", "\n| ")  # no line of the template
        text = render(PROMPT, statement=statement, samples=samples, entry_point=payload.entry_point)
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
        return Query(self.style.test_prompt(problem), self.style.form(problem))

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


def _call(test: Example, names: Collection[str | None]) -> Example:
    """A sample ``assert NAME(literal, ...) == literal`` as arguments and result in JSON; any other one as it is.

    Args:
        test: The sample, which is untrusted.
        names: Names of the function.
    """
    try:
        match ast.parse(test.stdin.strip()).body if len(test.stdin) <= MAX_SAMPLE and not test.stdout.strip() else None:
            case [ast.Assert(ast.Compare(ast.Call(ast.Name(name), given, []), [ast.Eq()], [result]))] if name in names:
                call = [list(map(ast.literal_eval, given)), ast.literal_eval(result)]
                stdin, stdout = (json.dumps(value, allow_nan=False, separators=(",", ":")) for value in call)
                if [json.loads(stdin), json.loads(stdout)] == call:  # not so for a tuple, or a key that is no text
                    return Example(stdin=stdin, stdout=stdout)
    except (SyntaxError, ValueError, TypeError, OverflowError, RecursionError, MemoryError):
        pass
    return test


def _cut(text: str, length: int) -> str:
    return text.rstrip() if len(text) <= length else f"{text[:length]}\n[...]"
