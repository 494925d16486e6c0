"""The gate of generated problems: runs the programs of a problem and chooses tests that distinguish them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rlanything_task_pools.coding.families import Problem
from rlanything_task_pools.coding.payload import Example
from rlanything_task_pools.rng_stream import RngStream
from rlanything_task_pools.task import Refused, TaskFormatError
from rlanything_verifiers.coding import (
    Job,
    Judgement,
    Limits,
    Sandbox,
    SandboxError,
    judge_many,
    parse_checker,
    shared_sandbox,
)
from rlanything_verifiers.coding.checkers import Interactor
from rlanything_verifiers.coding.checkers.interactor import ruling
from rlanything_verifiers.coding.verdict import why

__all__ = ["MAX_HIDDEN", "PUBLIC", "Tests", "choose_tests"]

SMALL = 20
"""Distinct small inputs on which two programs have to agree."""
FIRST = 8
"""Inputs on which most mutants fail already."""
FULL = 4
"""Inputs of the size of the knobs."""
TRIES = 200
"""Draws of a small input, to get `SMALL` distinct ones."""
MIN_OUTPUTS = 3
"""Distinct outputs a problem needs: a program that prints a constant must not get far."""
PUBLIC = 2
MAX_HIDDEN = 16
KEPT_FULL = 3
KEPT_EDGES = 3
ENOUGH_HIDDEN = 12
MAX_INPUT = 64_000
"""Longest generated input or output, in characters."""
LIMITS = Limits(cpu=10.0)
"""Far above what any of the programs needs, so that a slow machine accepts the same tasks as a fast one."""


@dataclass(frozen=True, slots=True)
class Tests:
    """Tests that the gate chose."""

    public: tuple[Example, ...]
    hidden: tuple[Example, ...]


def choose_tests(problem: Problem, rng: Callable[..., RngStream], *, allow_unsafe: bool = False) -> Tests:
    """Tests of a problem whose programs do what they should.

    All inputs obey the limits of the statement, reference and brute force agree on the small inputs and on the edges,
    the outputs vary, and each mutant fails a hidden test by what it prints (being slow does not count: that depends on
    the machine).

    Args:
        problem: The problem.
        rng: Gives the draws of a name and a number.
        allow_unsafe: Run the programs without a safe sandbox where there is none; for sources of this project.

    Raises:
        Refused: The problem is not sound.
        SandboxError: The programs could not be run, which says nothing of the problem.
    """
    small = _distinct(problem, rng)
    inputs = [*problem.edges, *small]
    checked = len(inputs)
    known = set(inputs)
    for i in range(FULL):
        if (text := problem.full(rng("full", i))) not in known:
            known.add(text)
            inputs.append(text)
    _check_limits(problem, inputs)
    box = shared_sandbox("process", allow_unsafe)
    outputs = _outputs(box, problem, inputs)
    if len(set(outputs)) < MIN_OUTPUTS:
        raise Refused("degenerate", f"only {len(set(outputs))} distinct outputs")
    examples = [Example(stdin=given, stdout=printed) for given, printed in zip(inputs, outputs, strict=True)]
    brute = _judge(box, problem, [problem.brute], examples[:checked])[0]
    if not brute.passed:
        bad = next(i for i, verdict in enumerate(brute.verdicts) if verdict != "AC")
        raise Refused("brute_differs", f"{brute.verdicts[bad]} on the input {inputs[bad][:200]!r}")
    kills = _kills(box, problem, examples, (min(FIRST, checked), checked, len(examples)))
    return _choose(examples, kills, edges=len(problem.edges), checked=checked)


def _check_limits(problem: Problem, inputs: Sequence[str]) -> None:
    for text in inputs:
        try:
            problem.statement.input.read(text)
        except TaskFormatError as error:
            raise Refused("out_of_bounds", f"{error}, in the input {text[:200]!r}") from None


def _kills(box: Sandbox, problem: Problem, examples: Sequence[Example], ends: Sequence[int]) -> list[set[int]]:
    """The numbers of tests that each mutant fails; those that live through a part of the tests meet the next part."""
    kills: list[set[int]] = [set() for _ in problem.mutants]
    begin = 0
    for end in ends:
        alive = [i for i, killed in enumerate(kills) if not killed]
        if alive and end > begin:
            found = _judge(box, problem, [problem.mutants[i] for i in alive], examples[begin:end])
            for i, judgement in zip(alive, found, strict=True):
                kills[i] = {begin + place for place in _killed(judgement)}
        begin = end
    survivors = [i for i, killed in enumerate(kills) if not killed]
    if survivors:
        raise Refused("mutant_survives", f"mutant {survivors[0]} passes {len(examples)} tests")
    return kills


def _distinct(problem: Problem, rng: Callable[..., RngStream]) -> list[str]:
    found: dict[str, None] = {}
    for i in range(TRIES):
        if (text := problem.small(rng("small", i))) not in problem.edges:
            found[text] = None
        if len(found) == SMALL:
            break
    if len(found) < SMALL:
        raise Refused("few_inputs", f"only {len(found)} distinct small inputs in {TRIES} draws")
    return list(found)


def _outputs(box: Sandbox, problem: Problem, inputs: Sequence[str]) -> list[str]:
    """Outputs of the reference; for an interactive problem, its conversations."""
    checker = parse_checker(problem.checker)
    program, outputs = problem.reference.encode(), []
    if isinstance(checker, Interactor):
        openings = [checker.opening(text, "") for text in inputs]
        talks = box.interact(program, checker.source, openings, LIMITS, checker.limits(LIMITS))
        found: list[tuple[str, str, bytes]] = [(*ruling(talk)[:2], talk.transcript) for talk in talks]
    else:
        runs = box.run(program, [text.encode() for text in inputs], LIMITS)
        found = [(run.status, why(run), run.stdout) for run in runs]
    for given, (status, reason, printed) in zip(inputs, found, strict=True):
        if status == "IE":
            raise SandboxError(f"the reference could not be run: {reason}")
        if status not in ("OK", "AC"):
            raise Refused("reference_failed", f"{status} on the input {given[:200]!r}: {reason[-200:]}")
        outputs.append(printed.decode())
        if len(given) > MAX_INPUT or len(outputs[-1]) > MAX_INPUT:
            raise Refused("too_large", f"a test of {len(given)} and {len(outputs[-1])} characters")
    return outputs


def _judge(box: Sandbox, problem: Problem, programs: Sequence[str], examples: Sequence[Example]) -> list[Judgement]:
    tests = [(example.stdin, example.stdout) for example in examples]
    jobs = [Job(program, tests, problem.checker, LIMITS, stop_after_tle=1) for program in programs]
    judgements = judge_many(jobs, sandbox=box, cache=False)
    for judgement in judgements:
        if judgement.error is not None:
            raise SandboxError(f"a program could not be judged: {judgement.error}")
    return judgements


def _killed(judgement: Judgement) -> set[int]:
    return {i for i, verdict in enumerate(judgement.verdicts) if verdict not in ("AC", "TLE", "TLE_WALL")}


def _choose(examples: Sequence[Example], kills: Sequence[set[int]], *, edges: int, checked: int) -> Tests:
    """Few tests: those that kill mutants, some of full size, some edges, and others with outputs not seen yet."""
    chosen: list[int] = []
    alive = list(range(len(kills)))
    while alive:
        best = max(range(len(examples)), key=lambda i: (sum(i in kills[mutant] for mutant in alive), -i))
        chosen.append(best)
        alive = [mutant for mutant in alive if best not in kills[mutant]]
    small = range(edges, checked)
    seen = {examples[i].stdout for i in chosen}
    public: list[int] = []
    for fresh in (True, False):
        for i in small:
            new = examples[i].stdout not in {examples[j].stdout for j in public}
            if len(public) < PUBLIC and i not in chosen and i not in public and (new or not fresh):
                public.append(i)
    for i in [*range(checked, checked + KEPT_FULL), *range(min(edges, KEPT_EDGES))]:
        if i < len(examples) and i not in chosen:
            chosen.append(i)
    for fresh in (True, False):
        for i in small:
            new = examples[i].stdout not in seen
            if len(chosen) < ENOUGH_HIDDEN and i not in chosen and i not in public and (new or not fresh):
                chosen.append(i)
                seen.add(examples[i].stdout)
    if len(chosen) > MAX_HIDDEN or len(public) < PUBLIC:
        raise Refused("too_many_tests", f"{len(chosen)} hidden and {len(public)} public tests")
    if len({examples[i].stdout for i in chosen}) < MIN_OUTPUTS:
        raise Refused("degenerate", "the hidden tests have too few distinct outputs")
    return Tests(tuple(examples[i] for i in public), tuple(examples[i] for i in sorted(chosen)))
