"""Demonstrations for the warm start of the coding models: programs and unit tests, some of them wrong.

The problems are drawn from the generator's families. The policy imitates their reference programs and, for a share of
the rows, wrong programs, so that it starts with mistakes to unlearn. The tests have small random inputs with the output
of the reference program or, for a share of them, of a wrong program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from rlanything_agents.config.seeds import rng_of
from rlanything_agents.domains.coding.full_lessons import FullLessons
from rlanything_agents.domains.coding.short_tests import ShortTests, written_test
from rlanything_agents.domains.lessons import School
from rlanything_agents.rollout.tasks import parts_of
from rlanything_agents.training.imitation import Row, row_of
from rlanything_envs.coding.list_language import RESULTS, STEPS, read_program, write_program
from rlanything_envs.coding.list_words import words_of
from rlanything_envs.coding.short import submission
from rlanything_task_pools.coding.families import Problem
from rlanything_task_pools.coding.generate import sketch, statement_of
from rlanything_task_pools.coding.payload import Example, Payload
from rlanything_verifiers.coding import Limits, shared_sandbox

__all__ = ["CodingLessons"]

MISTAKES = 0.6
"""Share of the imitated programs that are wrong, where ``warm_start.mistakes`` is not set."""
INPUTS = 4
"""Tests for each problem."""
LIMITS = Limits(cpu=2.0)


class CodingLessons:
    """Demonstrations of programs and unit tests, in the short view; `FullLessons` in the full one."""

    def policy(self, school: School) -> list[Row]:
        """At most one row per problem: its statement, and a program for it that the short view can write."""
        if school.config.view == "full":
            return FullLessons().policy(school)
        settings, rng = school.config.warm_start, rng_of(school.config.seed, "demonstrations", "mistakes")
        share = MISTAKES if settings.mistakes is None else settings.mistakes
        renderer, rows = school.actor.renderer, []
        with school.reporter.stage("Demonstrations", settings.demonstrations) as stage:
            for problem in self._problems(school, "demonstrations", settings.demonstrations):
                stage.add(1)
                source = wrong_program(problem, rng) if rng.random() < share else problem.reference
                if read_program(source) is not None:
                    statement = " ".join(words_of(statement_of(problem)))
                    rows.append(row_of(renderer.opening(statement), renderer.answer("", submission(source))))
        return rows

    def judge(self, school: School) -> list[Row]:
        """At most `INPUTS` rows per problem: its statement, and an input with its output."""
        if school.config.view == "full":
            return FullLessons().judge(school)
        settings, rng = school.config.warm_start, rng_of(school.config.seed, "judge", "labels")
        count = -(-settings.judge_steps // INPUTS)
        problems = list(self._problems(school, "judge", count))
        inputs = [[_numbers(rng) for _ in range(INPUTS)] for _ in problems]
        wrong = [wrong_program(problem, rng) for problem in problems]
        flips = rng.random((count, INPUTS)) < settings.label_noise
        with school.reporter.stage("Tests to imitate", len(problems)) as stage:
            outputs = []
            for found in _run_all([*((p.reference, i) for p, i in zip(problems, inputs, strict=True))]):
                outputs.append(found)
                stage.add(1)
            others = list(_run_all([*zip(wrong, inputs, strict=True)]))
        template, rows = school.judge_model.template, []
        for n, problem in enumerate(problems):
            prompt = template.prompt(ShortTests().test_prompt(payload_of(problem)))
            for k in range(INPUTS):
                stdout = (others if flips[n, k] else outputs)[n][k]
                test = None if stdout is None else written_test(inputs[n][k], stdout)
                if test is not None:
                    rows.append(row_of(prompt, template.answer(test)))
        return rows[: settings.judge_steps]

    def _problems(self, school: School, purpose: str, count: int) -> Iterator[Problem]:
        mixture = school.config.curriculum.knobs
        for number, k in enumerate(parts_of(mixture, count)):
            yield sketch(school.seed(purpose, number), **mixture[k].knobs)


def wrong_program(problem: Problem, rng: np.random.Generator) -> str:
    """One of the problem's mutants, or its reference with a line replaced, left out or with another number."""
    if (words := read_program(problem.reference)) is None or rng.random() < 0.5:
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
    """Payload with the statement of a problem; its one test is a placeholder."""
    return Payload(statement=statement_of(problem), public=(), hidden=(Example(stdin="", stdout=""),))


def _numbers(rng: np.random.Generator) -> list[int]:
    """A short list of small integers."""
    far = int(rng.choice((5, 9, 20)))
    return [int(x) for x in rng.integers(-far, far + 1, size=int(rng.integers(1, 6)))]


def _run_all(work: Sequence[tuple[str, list[list[int]]]]) -> Iterator[list[str | None]]:
    """Standard output of each program on each of its inputs, in order; None where the program fails."""
    box = shared_sandbox()

    def run(job: tuple[str, list[list[int]]]) -> list[str | None]:
        program, lists = job
        inputs = [f"{len(numbers)}\n{' '.join(map(str, numbers))}\n".encode() for numbers in lists]
        runs = box.run(program.encode(), inputs, LIMITS)
        return [run.stdout.decode() if run.status == "OK" else None for run in runs]

    with ThreadPoolExecutor(box.workers) as threads:
        yield from threads.map(run, work)
