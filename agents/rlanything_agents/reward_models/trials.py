"""Runs programs on the unit tests that a reward model wrote: all of an iteration in one batch, on all workers of the
sandbox.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rlanything_agents.feedback.arrays import Floats
from rlanything_agents.reward_models.unit_tests import WrittenTest
from rlanything_task_pools.coding import Payload
from rlanything_task_pools.coding.screen import undecided
from rlanything_verifiers.coding import Job, Judgement, SandboxError, Test, UnsafeSandbox, judge_many, shared_sandbox
from rlanything_verifiers.coding.language import Language

__all__ = ["Bench", "run_tests"]

MAX_CPU = 2.0
"""Maximum processor seconds of a program on a written test: a test that every program fails on time detects nothing."""


@dataclass(frozen=True, slots=True)
class Bench:
    """The programs of one task and the tests to run them on."""

    problem: Payload
    programs: tuple[str, ...]
    tests: tuple[WrittenTest, ...]
    languages: Mapping[str, Language] = field(default_factory=dict)
    """Language of each program; Python where it is not in here."""


def run_tests(benches: Sequence[Bench]) -> list[Floats]:
    """Run every program of a bench on every test of it.

    Every program fails a test that could not be parsed, and one whose expected output the problem's checker fails on. A
    result that an infrastructure failure hides, of the sandbox or of the generator, is NaN.

    Returns:
        For each bench an array of shape (programs, tests): 1, 0 or NaN.

    Raises:
        UnsafeSandbox: There is no safe sandbox here.
    """
    jobs: list[Job] = []
    places: list[tuple[int, str, list[Test]]] = []
    for number, bench in enumerate(benches):
        tests = list(dict.fromkeys(written.test for written in bench.tests if written.test is not None))
        broken = _undecided(bench.problem, tests)
        tests = [test for number, test in enumerate(tests) if number not in broken]
        limits = bench.problem.judge_limits()
        limits = replace(limits, cpu=min(limits.cpu, MAX_CPU))
        for program in dict.fromkeys(bench.programs) if tests else ():
            # The tests are independent: one over the limit does not predict the next.
            job = Job(program, tests, bench.problem.checker, limits, None, entry_point=bench.problem.entry_point)
            jobs.append(replace(job, language=bench.languages.get(program, "python")))
            places.append((number, program, tests))
    known: list[dict[tuple[str, Test], float]] = [{} for _ in benches]
    for (number, program, tests), judgement in zip(places, judge_many(jobs), strict=True):
        known[number].update(zip(((program, test) for test in tests), _passed(judgement), strict=True))
    return [_matrix(bench, results) for bench, results in zip(benches, known, strict=True)]


def _undecided(problem: Payload, tests: list[Test]) -> dict[int, str]:
    if not tests:
        return {}
    try:
        return undecided(problem, tests, shared_sandbox())
    except UnsafeSandbox:
        raise
    except SandboxError:  # the judge meets it too, and no result is known then
        return {}


def _passed(judgement: Judgement) -> list[float]:
    return [np.nan if verdict == "IE" else float(verdict == "AC") for verdict in judgement.verdicts]


def _matrix(bench: Bench, results: dict[tuple[str, Test], float]) -> Floats:
    passes = np.zeros((len(bench.programs), len(bench.tests)))
    for k, written in enumerate(bench.tests):
        if written.failed:
            passes[:, k] = np.nan
        elif written.test is not None:
            passes[:, k] = [results.get((program, written.test), 0.0) for program in bench.programs]
    return passes
