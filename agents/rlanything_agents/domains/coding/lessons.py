"""The warm start of the coding models: programs and tests to imitate, some of them wrong.

The problems are those of the generator's families as they are drawn. Their programs are imitated as they stand, right
ones and, for a share of the rows, wrong ones, so that a policy starts with mistakes to unlearn. The tests have small
inputs of this module and the output of the right program, or, for a share of them, that of a wrong one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from rlanything_agents.config.seeds import rng_of
from rlanything_agents.domains.coding.language import RESULTS, STEPS, read_program, write_program
from rlanything_agents.rollout.tasks import parts_of
from rlanything_agents.training.imitation import Row
from rlanything_task_pools.coding.families import Problem
from rlanything_task_pools.coding.generate import sketch, statement_of
from rlanything_task_pools.coding.payload import Example, Payload
from rlanything_verifiers.coding import Limits, shared_sandbox

if TYPE_CHECKING:
    from rlanything_agents.domains.coding.dialect import CodingDialect
    from rlanything_agents.runs.parts import RunParts

__all__ = ["CodingLessons"]

MISTAKES = 0.6
"""Share of the imitated programs that are wrong, unless the configuration says otherwise."""
INPUTS = 4
"""Tests for each problem."""
LIMITS = Limits(cpu=2.0)


class CodingLessons:
    """What the coding models are warmed up with.

    Args:
        dialect: Has the tokens.
    """

    def __init__(self, dialect: CodingDialect) -> None:
        self.dialect = dialect

    def policy(self, parts: RunParts) -> list[Row]:
        """One row per problem: its statement, and a program for it."""
        settings, rng = parts.config.warm_start, rng_of(parts.config.seed, "demonstrations", "mistakes")
        share = MISTAKES if settings.mistakes is None else settings.mistakes
        rows = []
        with parts.reporter.stage("Demonstrations", settings.demonstrations) as stage:
            for problem in self._problems(parts, "demonstrations", settings.demonstrations):
                stage.add(1)
                source = wrong_program(problem, rng) if rng.random() < share else problem.reference
                program = self.dialect.program(source)
                if program is not None:
                    prompt = self.dialect.opening(statement_of(problem))
                    rows.append(_row(prompt, program))
        return rows

    def judge(self, parts: RunParts) -> list[Row]:
        """`INPUTS` rows per problem: its statement, an input and what it gives."""
        settings, rng = parts.config.warm_start, rng_of(parts.config.seed, "judge", "labels")
        count = -(-settings.judge_steps // INPUTS)
        problems = list(self._problems(parts, "judge", count))
        inputs = [[_numbers(rng) for _ in range(INPUTS)] for _ in problems]
        wrong = [wrong_program(problem, rng) for problem in problems]
        flips = rng.random((count, INPUTS)) < settings.label_noise
        with parts.reporter.stage("Tests to imitate", len(problems)) as stage:
            outputs = []
            for found in _run_all([*((p.reference, i) for p, i in zip(problems, inputs, strict=True))]):
                outputs.append(found)
                stage.add(1)
            others = list(_run_all([*zip(wrong, inputs, strict=True)]))
        rows = []
        for n, problem in enumerate(problems):
            prompt = self.dialect.test_prompt(payload_of(problem))
            for k in range(INPUTS):
                stdout = (others if flips[n, k] else outputs)[n][k]
                test = None if stdout is None else self.dialect.test(inputs[n][k], stdout)
                if test is not None:
                    rows.append(_row(prompt, test))
        return rows[: settings.judge_steps]

    def _problems(self, parts: RunParts, purpose: str, count: int) -> Iterator[Problem]:
        mixture = parts.config.warm_start.knobs
        for number, k in enumerate(parts_of(mixture, count)):
            yield sketch(parts.seed(purpose, number), **mixture[k].knobs)


def wrong_program(problem: Problem, rng: np.random.Generator) -> str:
    """One of the problem's wrong programs, or its right one with a line replaced, left out or with another number."""
    words = read_program(problem.reference)
    if words is None or rng.random() < 0.5:
        return problem.mutants[rng.integers(len(problem.mutants))]
    at = int(rng.integers(len(words)))
    word = words[at]
    if word in RESULTS:
        words[at] = RESULTS[rng.integers(len(RESULTS))]
    elif word in STEPS:
        end = next(n for n in range(at + 1, len(words)) if words[n] in STEPS or words[n] in RESULTS)
        line = STEPS[rng.integers(len(STEPS))]
        number = words[at + 1 : end] or [str(rng.integers(2, 10))]
        words[at:end] = [] if rng.random() < 0.3 else [line, *(number if "{}" in line else [])]
    else:
        words[at] = str(rng.integers(1, 10))
    return write_program(words)


def payload_of(problem: Problem) -> Payload:
    """A payload that holds the statement; its one test is a place-holder."""
    return Payload(statement=statement_of(problem), public=(), hidden=(Example(stdin="", stdout=""),))


def _numbers(rng: np.random.Generator) -> list[int]:
    """A short list of small integers."""
    far = int(rng.choice((5, 9, 20)))
    return [int(x) for x in rng.integers(-far, far + 1, size=int(rng.integers(1, 6)))]


def _run_all(work: Sequence[tuple[str, list[list[int]]]]) -> Iterator[list[str | None]]:
    """What each program prints on each of its inputs; None where it fails."""
    box = shared_sandbox()

    def run(job: tuple[str, list[list[int]]]) -> list[str | None]:
        program, lists = job
        inputs = [f"{len(numbers)}\n{' '.join(map(str, numbers))}\n".encode() for numbers in lists]
        runs = box.run(program.encode(), inputs, LIMITS)
        return [run.stdout.decode() if run.status == "OK" else None for run in runs]

    with ThreadPoolExecutor(box.workers) as threads:
        yield from threads.map(run, work)


def _row(prompt: Sequence[int], response: Sequence[int]) -> Row:
    return Row([*prompt, *response], [False] * len(prompt) + [True] * len(response))
