"""Payload of a coding task: statement, tests, checker and limits, parsed from untrusted data and bounded in size."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Self

from pydantic import Field, SerializerFunctionWrapHandler, ValidationError, model_serializer, model_validator

from rlanything_task_pools.frozen import freeze
from rlanything_task_pools.task import JsonObject, StrictRecord, Task, TaskFormatError, Traits
from rlanything_verifiers.coding import LANGUAGES, Language, Limits, Test, parse_checker

__all__ = ["Example", "Payload", "TaskLimits", "make_task", "read_payload"]

MAX_STATEMENT = 60_000
"""Longest statement, in characters; the longest of the 732 problems of Google's archive is below 20,000."""
MAX_TEXT = 1_000_000
"""Longest input or output of one test, in characters."""
MAX_TOTAL = 3_000_000
"""Maximum bytes of all tests of a task as JSON, whose whole has to stay below `MAX_JSON_BYTES`."""
MAX_TESTS = 512
MAX_PROGRAM = 64_000
"""Longest program kept with a task, in characters."""
MAX_WRONG = 32
MAX_GOAL = 10_000
"""Longest `Task.goal`."""
CUT = "\n[...]"

Program = Annotated[str, Field(min_length=1, max_length=MAX_PROGRAM)]


class Example(StrictRecord):
    """One test: the input of a program and its expected output.

    For an interactive problem, the input of the interactor, and a conversation that it accepts (lines of the program
    begin with ``> ``, those of the interactor with ``< ``).
    """

    stdin: str = Field(max_length=MAX_TEXT)
    stdout: str = Field(max_length=MAX_TEXT)


class TaskLimits(StrictRecord):
    """Resource limits of one test."""

    cpu: float = Field(default=2.0, gt=0, le=60, allow_inf_nan=False)
    """Seconds of CPU time."""
    memory: int = Field(default=512 * 2**20, ge=32 * 2**20, le=4 * 2**30)
    """Bytes of address space."""
    output: int | None = Field(default=None, ge=1, le=2**26)
    """Bytes of output; None for the judge's own limit."""

    @model_serializer(mode="wrap")
    def _stated(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = serialize(self)
        if self.output is None:  # tasks without it keep their ids
            del values["output"]
        return values


class Payload(StrictRecord):
    """The payload of a coding task, complete and checked."""

    statement: str = Field(min_length=1, max_length=MAX_STATEMENT)
    public: tuple[Example, ...] = Field(max_length=MAX_TESTS)
    """Tests the agent may see."""
    hidden: tuple[Example, ...] = Field(min_length=1, max_length=MAX_TESTS)
    """Tests that decide the reward, never shown."""
    checker: JsonObject = Field(default={"kind": "tokens"}, validate_default=True)
    limits: TaskLimits = TaskLimits()
    entry_point: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,79}$")
    """The function to be written, if tests are calls: stdin is then the JSON of its arguments, stdout of its value."""
    languages: tuple[Language, ...] = Field(default=("python",), min_length=1, max_length=len(LANGUAGES))
    """The languages in which it may be solved. Left out of the JSON where it is Python alone, as it was for all tasks
    before there were others."""
    family: str | None = Field(default=None, max_length=80)
    """The family of a generated problem."""
    knobs: Traits = Field(default={}, validate_default=True)
    """Its level in each of the family's knobs."""
    wrong: tuple[Program, ...] = Field(default=(), max_length=MAX_WRONG)
    """Programs that fail at least one test."""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        parse_checker(self.checker)
        if len(set(self.languages)) < len(self.languages):
            raise ValueError("a language is named twice")
        if self.entry_point is not None and self.languages != ("python",):
            raise ValueError("a function is written in Python: languages must be ['python']")
        if sum(len(json.dumps(test.stdin)) + len(json.dumps(test.stdout)) for test in self.tests) > MAX_TOTAL:
            raise ValueError(f"the tests hold more than {MAX_TOTAL} bytes of JSON")
        known: dict[str, str] = {}
        for test in self.tests:
            if known.setdefault(test.stdin, test.stdout) != test.stdout:
                raise ValueError(f"two tests expect different outputs for the input {test.stdin[:60]!r}")
        return self

    @property
    def interactive(self) -> bool:
        """Whether the problem is interactive; the ``stdin`` of a test is then known to the judge alone."""
        return bool(self.checker["kind"] == "interactor")

    @property
    def tests(self) -> tuple[Example, ...]:
        """All tests, the public ones first."""
        return self.public + self.hidden

    def judge_tests(self) -> list[Test]:
        """All tests as the judge reads them, the public ones first."""
        return [Test(test.stdin, test.stdout) for test in self.tests]

    def judge_limits(self) -> Limits:
        """The limits as the judge reads them."""
        limits = Limits(cpu=self.limits.cpu, memory=self.limits.memory)
        return limits if self.limits.output is None else replace(limits, output=self.limits.output)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        values = self.model_dump()
        if self.languages == ("python",):
            del values["languages"]
        return values


def read_payload(value: Mapping[str, Any]) -> Payload:
    """A payload from untrusted JSON values.

    Raises:
        TaskFormatError: A field is missing, unknown, too large or of the wrong kind.
    """
    try:
        return Payload.model_validate(freeze(value, "payload"))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "payload"
        raise TaskFormatError(f"{place}: {first['msg'].removeprefix('Value error, ')}") from None
    except ValueError as error:
        raise TaskFormatError(str(error)) from None


def make_task(
    payload: Payload, proof: tuple[str, ...] = (), traits: Mapping[str, Any] | None = None, **lineage: Any
) -> Task:
    """A task of a payload, whose goal is the statement as far as a goal may be long."""
    statement = payload.statement
    goal = statement if len(statement) <= MAX_GOAL else statement[: MAX_GOAL - len(CUT)] + CUT
    return Task(domain="coding", goal=goal, payload=payload.to_dict(), proof=proof, traits=traits or {}, **lineage)
