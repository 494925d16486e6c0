"""Screening of allegedly correct and wrong programs by running them on a task's tests."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rlanything_task_pools.coding.generate import input_of
from rlanything_task_pools.coding.payload import Payload, read_payload
from rlanything_task_pools.task import Task, TaskFormatError
from rlanything_verifiers.coding import (
    Job,
    JudgeError,
    Judgement,
    Sandbox,
    SandboxError,
    Test,
    judge_many,
    parse_checker,
    shared_sandbox,
)
from rlanything_verifiers.coding.checkers import Interactor, Python
from rlanything_verifiers.coding.checkers.interactor import failure
from rlanything_verifiers.coding.checkers.python import CHECKER_LIMITS

__all__ = ["Screened", "checker_flaw", "flaw", "screen", "undecided"]


@dataclass(frozen=True, slots=True)
class Screened:
    """Results of the programs on all tests of a payload."""

    good: tuple[str, ...]
    """Programs that pass all tests."""
    wrong: tuple[str, ...]
    """Programs that fail at least one."""
    complaint: str
    """Reason why the first allegedly correct program fails; empty if it passes."""


def screen(
    payload: Payload,
    good: Iterable[str] = (),
    wrong: Iterable[str] = (),
    *,
    allow_unsafe: bool = False,
    packages: Sequence[str] = (),
) -> Screened:
    """Run programs on all tests of a payload.

    Args:
        payload: The tests, with their checker and limits.
        good: Allegedly correct programs.
        wrong: Allegedly wrong programs.
        allow_unsafe: See `rlanything_verifiers.coding.judge`.
        packages: Packages that programs and tests may import; see `rlanything_verifiers.coding.Sandbox`.

    Raises:
        JudgeError: Tests or checker cannot be judged.
        SandboxError: The programs could not be run, which says nothing of them.
    """
    right, bad = list(good), list(wrong)
    found = _judge(payload, right + bad, allow_unsafe, packages)
    first, second = found[: len(right)], found[len(right) :]
    return Screened(
        good=tuple(program for program, judgement in zip(right, first, strict=True) if judgement.passed),
        wrong=tuple(program for program, judgement in zip(bad, second, strict=True) if not judgement.passed),
        complaint="" if not first or first[0].passed else first_failure(payload, first[0]),
    )


def checker_flaw(payload: Payload, *, allow_unsafe: bool = False, packages: Sequence[str] = ()) -> str | None:
    """The fault of a checker or interactor that is a program, in a sentence; None where there is none.

    It must decide on every test (`undecided`), and on the first one on garbage, on nothing and on a megabyte too: else
    an agent could end its episode without an outcome.

    Raises:
        SandboxError: The programs could not be run.
    """
    checker, test = parse_checker(payload.checker), payload.tests[0]
    box = shared_sandbox(allow_unsafe=allow_unsafe, packages=packages)
    for number, reason in undecided(payload, payload.judge_tests(), box).items():
        return f"test {number + 1}: {reason}"
    limits = replace(payload.judge_limits(), source=1 << 24)
    if isinstance(checker, Interactor):
        opening, bound = checker.opening(test.stdin, test.stdout), checker.limits(limits)
        for words, output in _PROBES.items():
            talk = box.interact(_printing(output), checker.source, [opening], limits, bound)[0]
            if (failed := failure(talk.interactor)) is not None:
                return f"the interactor does not decide on {words}: {failed}"
        return None
    if not isinstance(checker, Python):
        return None
    jobs = [Job(_printing(text), [Test(test.stdin, test.stdout)], checker, limits) for text in _PROBES.values()]
    for words, judgement in zip(_PROBES, judge_many(jobs, sandbox=box), strict=True):
        if judgement.error is not None:
            return f"the checker does not decide on {words}: {judgement.error}"
    return None


def undecided(payload: Payload, tests: Sequence[Test], box: Sandbox) -> dict[int, str]:
    """The tests that cannot decide anything, by number, with the reasons.

    A checker that is a program must decide on the expected output, and an interactor against a program that writes
    nothing. Every program would be without a verdict on another test, and whoever writes tests could make such ones.

    Args:
        payload: The problem, with its checker.
        tests: Tests of it, which nobody need have run yet.
        box: Where the checker runs.

    Raises:
        SandboxError: There is no sandbox to run it in. A test whose run fails by the sandbox alone is left out.
    """
    checker = parse_checker(payload.checker)
    reasons: list[str | None]
    if isinstance(checker, Interactor):
        openings = [checker.opening(test.stdin, test.stdout) for test in tests]
        runs = box.run(checker.program(), openings, checker.limits(payload.judge_limits()))
        what, reasons = "interactor does not decide on nothing", [failure(run) for run in runs]
    elif isinstance(checker, Python):
        asked = [checker.question(test.stdin, test.stdout, test.stdout.encode()) for test in tests]
        runs = box.run(checker.program(), asked, CHECKER_LIMITS)
        what = "checker does not decide on the expected output"
        reasons = [None if checker.finding(run) else f"it failed ({run.status}): {checker.reason(run)}" for run in runs]
    else:
        return {}
    return {
        number: f"the {what}: {reason}"
        for number, (run, reason) in enumerate(zip(runs, reasons, strict=True))
        if reason is not None and run.status != "IE"
    }


_PROBES = {"garbage": "dunno\n", "nothing": "", "a megabyte": "9" * 1_000_000}


def _printing(text: str) -> str:
    return f"import sys\nsys.stdout.write({text!r})\n"


def flaw(task: Task, *, allow_unsafe: bool = False) -> str | None:
    """The fault of a task of unknown origin, in a sentence; None when its program solves it.

    The tests of a generated task obey its statement, its checker decides on any output (`checker_flaw`), the program of
    `Task.proof` passes all tests, and each of the wrong programs fails one.

    Raises:
        SandboxError: The programs could not be run, which says nothing of the task.
    """
    if task.domain != "coding":
        return f"it is a task of the domain {task.domain!r:.80}, not of 'coding'"
    try:
        payload = read_payload(task.payload)
    except TaskFormatError as error:
        return str(error)
    if (form := input_of(task)) is not None:
        for test in payload.tests:
            try:
                form.read(test.stdin)
            except TaskFormatError as error:
                return f"the test input {test.stdin[:80]!r} breaks the statement: {error}"
    if len(task.proof) != 1:
        return f"the proof must be one correct program, and there are {len(task.proof)}"
    try:
        if (broken := checker_flaw(payload, allow_unsafe=allow_unsafe)) is not None:
            return broken
        found = screen(payload, task.proof, payload.wrong, allow_unsafe=allow_unsafe)
    except JudgeError as error:
        return str(error)
    if found.complaint:
        return f"the program of the proof fails: {found.complaint}"
    if len(found.wrong) < len(payload.wrong):
        number = next(i for i, program in enumerate(payload.wrong) if program not in found.wrong)
        return f"wrong program {number} passes all tests"
    return None


def first_failure(payload: Payload, judgement: Judgement) -> str:
    """The first test a program fails, in words."""
    place = next(i for i, verdict in enumerate(judgement.verdicts) if verdict != "AC")
    shown = len(payload.public)
    where = f"public test {place + 1}" if place < shown else f"hidden test {place - shown + 1}"
    return f"{where}: {judgement.verdicts[place]} {judgement.details[place]}".rstrip()


def _judge(payload: Payload, programs: Sequence[str], allow_unsafe: bool, packages: Sequence[str]) -> list[Judgement]:
    tests, limits = payload.judge_tests(), payload.judge_limits()
    # One test over the time limit decides.
    jobs = [Job(program, tests, payload.checker, limits, 1, payload.entry_point) for program in programs]
    judgements = judge_many(jobs, sandbox=shared_sandbox(allow_unsafe=allow_unsafe, packages=packages))
    for judgement in judgements:
        if judgement.error is not None:
            raise SandboxError(f"a program could not be judged: {judgement.error}")
    return judgements
