"""The code judge: runs programs on tests and returns verdicts, for one program or many."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, Literal

from .cache import RUNS, digest
from .checkers import Checker
from .language import Language, check_language
from .sandbox import Limits, Run, Sandbox, UnsafeSandbox, default_sandbox
from .test import Test
from .trial import DEFAULT_LIMITS, Job, Trial, as_bytes, as_source
from .verdict import Judgement

Backend = Literal["process", "docker"]


def judge(
    program: str | bytes,
    tests: Sequence[Test | tuple[str, str]],
    *,
    checker: Checker | Mapping[str, Any] | None = None,
    limits: Limits = DEFAULT_LIMITS,
    stop_after_tle: int | None = 2,
    sandbox: Sandbox | None = None,
    allow_unsafe: bool = False,
    backend: Backend = "process",
    entry_point: str | None = None,
    language: Language = "python",
    cache: bool = True,
) -> Judgement:
    """Judge one program.

    ```python
    judge("print(sum(map(int, input().split())))", [("1 2\\n", "3\\n")]).passed  # True
    ```

    Args:
        program: source text, or arbitrary bytes.
        tests: pairs of input and expected output, at least one.
        checker: decides whether an output is right; None compares tokens.
        limits: limits of processor time, memory, output and source, for each test.
        stop_after_tle: number of tests over the time limit after which the rest is not run and counts as over it;
            None runs everything.
        sandbox: the sandbox; by default one of this process, shared by all callers.
        allow_unsafe: accept a sandbox below the tier ``landlock`` where this machine offers no better.
        backend: ``"process"``, or ``"docker"`` (needs docker and its Python package).
        entry_point: name of a function; the tests then hold its arguments and result as JSON.
        language: language of the program. C++ is compiled once with g++, as ``-O2 -std=gnu++20 -static``.
        cache: use and store cached runs of the same program on the same input.

    Raises:
        SandboxUnsupported: there is no compiler for the language here; the message names the package.
        JudgeError: program, tests or checker cannot be judged; see `rlanything_verifiers.coding.errors`.
        UnsafeSandbox: there is no safe sandbox here.
    """
    job = Job(program, tests, checker, limits, stop_after_tle, entry_point, language)
    return judge_many([job], sandbox=sandbox, allow_unsafe=allow_unsafe, backend=backend, cache=cache)[0]


def judge_many(
    jobs: Iterable[Job],
    *,
    sandbox: Sandbox | None = None,
    allow_unsafe: bool = False,
    backend: Backend = "process",
    cache: bool = True,
) -> list[Judgement]:
    """Judge many programs on all workers of the sandbox; the judgements come in the order of the jobs.

    Args:
        jobs: the programs with their tests.
        sandbox: see `judge`.
        allow_unsafe: see `judge`.
        backend: see `judge`.
        cache: see `judge`.

    Raises:
        SandboxUnsupported: there is no compiler for a job's language here.
        JudgeError: a job cannot be judged; nothing has run then. The message has its number.
        UnsafeSandbox: there is no safe sandbox here.
    """
    given = list(jobs)
    trials = [Trial.of(job, number if len(given) > 1 else None) for number, job in enumerate(given)]
    if not trials:
        return []
    box = sandbox if sandbox is not None else shared_sandbox(backend, allow_unsafe)
    for trial in trials:
        trial.prepare(box, cache)
    parts = [part for trial in trials for part in trial.parts(box.workers, len(trials))]
    return _in_turn(trials, parts) if len(parts) == 1 or box.workers == 1 else _at_once(trials, parts, box.workers)


def check_job(job: Job) -> None:
    """Check whether a job can be judged, without running anything.

    Raises:
        JudgeError: the job cannot be judged.
    """
    Trial(job)


def run_program(
    program: str | bytes,
    stdin: str | bytes = "",
    limits: Limits = DEFAULT_LIMITS,
    *,
    sandbox: Sandbox | None = None,
    allow_unsafe: bool = False,
    backend: Backend = "process",
    language: Language = "python",
    cache: bool = True,
) -> Run:
    """Run a program on one input.

    Raises:
        JudgeError: there is no such language.
        SandboxUnsupported: there is no compiler for it here.
        JudgeError: the program is neither text nor bytes.
        SandboxError: the sandbox failed.
        UnsafeSandbox: there is no safe sandbox here.
    """
    box = sandbox if sandbox is not None else shared_sandbox(backend, allow_unsafe)
    source, data = as_source(program), as_bytes(stdin)
    key = (digest(source), digest(data), limits, box.identity, check_language(language))
    if cache and (known := RUNS.get(key)) is not None:
        return known
    run = box.run(source, [data], limits, language=language)[0]
    if cache:
        RUNS.put([(key, run)])
    return run


def shared_sandbox(backend: Backend = "process", allow_unsafe: bool = False, packages: Sequence[str] = ()) -> Sandbox:
    """The sandbox of this process for a choice of backend and packages; an unsafe one only where there is no safe one.

    Raises:
        SandboxUnsupported: a package is not installed.
        SandboxError: there is none here.
        UnsafeSandbox: there is no safe one here.
    """
    wanted = tuple(packages)
    if backend != "process":
        return _other(backend, True, wanted)
    try:
        return _other(backend, False, wanted) if wanted else default_sandbox()
    except UnsafeSandbox:
        if not allow_unsafe:
            raise
        return _other("process", True, wanted)


@functools.cache
def _other(backend: Backend, allow_unsafe: bool, packages: tuple[str, ...]) -> Sandbox:
    return Sandbox(backend=backend, allow_unsafe=allow_unsafe, packages=packages)


def _in_turn(trials: list[Trial], parts: list[tuple[Trial, list[int]]]) -> list[Judgement]:
    for trial, part in parts:
        trial.run(part)
    return [trial.judgement for trial in trials if trial.judgement is not None]


def _at_once(trials: list[Trial], parts: list[tuple[Trial, list[int]]], workers: int) -> list[Judgement]:
    with ThreadPoolExecutor(workers, "judge") as pool:
        try:
            for future in as_completed([pool.submit(trial.run, part) for trial, part in parts]):
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [trial.judgement for trial in trials if trial.judgement is not None]
