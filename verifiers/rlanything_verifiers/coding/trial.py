"""State of one job while it is judged.

Programs run in the sandbox and see inputs only; expected outputs stay in this process. Verdicts do not depend on the
distribution of the work: after the k-th time limit, in the order of the tests, the rest counts as over the limit too,
also where some of it was run.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from . import asserts, function
from .cache import RUNS, Key, digest
from .checkers import Asserts, Checker, Interactor, Python, TextChecker, parse_checker
from .checkers.interactor import failure, ruling
from .checkers.python import CHECKER_LIMITS
from .errors import JudgeError
from .language import TITLES, Language, check_language
from .sandbox import Interaction, Limits, Run, Sandbox, SandboxError, SandboxUnsupported, UnsafeSandbox
from .test import Test, as_tests
from .verdict import MAX_DETAIL, SLOW, Judgement, Verdict, why

DEFAULT_LIMITS = Limits()

_TESTS_A_PART = 4  # fewest tests in a part of a program that is split among workers


@dataclass(frozen=True, slots=True)
class Job:
    """A program to judge; the fields are the arguments of `judge`."""

    program: str | bytes
    tests: Sequence[Test | tuple[str, str]]
    checker: Checker | Mapping[str, Any] | None = None
    limits: Limits = DEFAULT_LIMITS
    stop_after_tle: int | None = 2
    entry_point: str | None = None
    language: Language = "python"


class Trial:
    """One job: its tests that remain to be run, and the results of the others."""

    def __init__(self, job: Job) -> None:
        self.tests = as_tests(job.tests)
        self.checker = parse_checker(job.checker)
        self.limits = job.limits
        if not isinstance(self.limits, Limits):
            raise JudgeError(f"limits: expected Limits, got {type(self.limits).__name__}")
        self.most_tle = job.stop_after_tle
        if self.most_tle is not None and (not isinstance(self.most_tle, int) or self.most_tle < 1):
            raise JudgeError(f"stop_after_tle must be a positive integer or None, got {job.stop_after_tle!r:.80}")
        self.language = check_language(job.language)
        if job.entry_point is not None and self.language != "python":
            raise JudgeError(f"a function to be called is written in Python, not in {TITLES[self.language]}")
        self.program = as_source(job.program)
        self.entry_point = job.entry_point
        if job.entry_point is None and isinstance(self.checker, Asserts):
            raise JudgeError("checker 'asserts' is about a function: give its name as entry_point")
        if job.entry_point is not None:
            if isinstance(self.checker, Asserts):
                asserts.check_tests(self.tests)
                wrapped = asserts.answering(self.program, job.entry_point, self.checker.setup)
            else:
                function.check_tests(self.tests, self.checker)
                wrapped = function.driver(self.program, job.entry_point)
            if len(self.program) <= self.limits.source:  # else it is refused
                self.program, self.limits = wrapped, replace(self.limits, source=max(len(wrapped), self.limits.source))
        self.runs: dict[int, Run] = {}
        self.rulings: dict[int, tuple[Verdict, str]] = {}  # verdicts of an interactor
        self.failure: str | None = None
        self.broken: dict[int, str] = {}  # tests that cannot be decided
        self.exchange: asserts.Exchange | None = None
        self.judgement: Judgement | None = None
        self._cut = len(self.tests)  # tests from this one on need not be run
        self._pending = 0
        self._lock = threading.Lock()

    @classmethod
    def of(cls, job: Job, number: int | None) -> "Trial":
        """The trial of a job; errors name its number."""
        try:
            return cls(job)
        except JudgeError as error:
            if number is None:
                raise
            raise JudgeError(f"job {number}: {error}") from None

    def prepare(self, box: Sandbox, cache: bool) -> None:
        """Look up cached runs."""
        self.box = box
        if isinstance(self.checker, Interactor):
            box.check_interaction()
            cache = False  # a run of an interactive problem is half of a conversation
        self.cache = cache
        self.inputs = [test.stdin.encode() for test in self.tests]
        if isinstance(self.checker, Asserts) and self.entry_point is not None:
            self.exchange = asserts.Exchange(box, self.checker, self.entry_point, self.tests, self.limits)
            try:
                self.inputs, self.broken = self.exchange.first_calls(cache)
            except UnsafeSandbox:
                raise
            except SandboxError as error:
                self._fail(str(error))
        self.keys: list[Key] = []
        if cache:
            name = digest(self.program)
            self.keys = [(name, digest(data), self.limits, box.identity, self.language) for data in self.inputs]
            self.runs = {i: run for i, key in enumerate(self.keys) if (run := RUNS.get(key)) is not None}
        self._note_cut()

    def parts(self, workers: int, trials: int) -> list[tuple["Trial", list[int]]]:
        """The tests to run, split into parts where there are fewer programs than workers."""
        missing = [i for i in range(self._cut) if i not in self.runs]
        number = max(1, min(-(-workers // trials), -(-len(missing) // _TESTS_A_PART)))
        parts = [(self, missing[first::number]) for first in range(number)]
        self._pending = len(parts)
        return parts

    def run(self, part: list[int]) -> None:
        """Run a part; the thread that finishes the last part computes the verdicts."""

        def stop(position: int, run: Run) -> bool:
            with self._lock:
                self.runs[part[position]] = run
                if run.status == "IE":
                    self._fail(run.detail or "the sandbox failed")
                elif run.status in SLOW:
                    self._note_cut()
                return self.failure is not None or part[position + 1 :][:1] >= [self._cut]

        if part and part[0] < self._cut and self.failure is None:
            try:
                if isinstance(self.checker, Interactor):
                    runs = self._talk(self.checker, part, stop)
                else:
                    inputs = [self.inputs[i] for i in part]
                    runs = self.box.run(self.program, inputs, self.limits, stop, self.language)
            except (UnsafeSandbox, SandboxUnsupported):
                raise
            except SandboxError as error:
                with self._lock:
                    self._fail(str(error))
            else:
                with self._lock:
                    self.runs.update(zip(part, runs, strict=False))
                    self._note_cut()
                if self.cache:
                    RUNS.put((self.keys[i], run) for i, run in zip(part, runs, strict=False))
        with self._lock:
            self._pending -= 1
            last = self._pending == 0
        if last:
            self.judgement = self._judgement()

    def _talk(self, interactor: Interactor, part: list[int], stop: Callable[[int, Run], bool]) -> list[Run]:
        """Run the conversations of a part and decide them; the status of a run is then that of the verdict."""
        runs: list[Run] = []
        stumbled: list[int] = []
        tests = [self.tests[i] for i in part]
        openings = [interactor.opening(test.stdin, test.stdout) for test in tests]
        source = interactor.program()
        bounds = self.limits, interactor.limits(self.limits)

        def rule(position: int, talk: Interaction) -> bool:
            verdict, reason, unsure = ruling(talk)
            if unsure:
                stumbled.append(position)
            tail = talk.transcript[-MAX_DETAIL // 2 :].decode(errors="replace")
            self.rulings[part[position]] = (
                verdict,
                reason if verdict == "AC" else f"{reason[: MAX_DETAIL // 2]}\n{tail}",
            )
            if unsure and talk.interactor.status in SLOW:  # the other tests may take as long
                with self._lock:
                    self._cut = min(self._cut, part[position] + 1)
            status = "OK" if verdict in ("AC", "WA") else talk.program.status
            runs.append(replace(talk.program, status=status, detail=reason))
            return stop(position, runs[-1])

        self.box.interact(self.program, source, openings, *bounds, rule, self.language)
        # The program may have written what broke the interactor. One that fails without it is broken by itself; so it
        # may judge other tests, and only a failed sandbox ends the trial.
        alone = self.box.run(source, [openings[i] for i in stumbled], bounds[1]) if stumbled else []
        for position, run in zip(stumbled, alone, strict=True):
            if (reason := run.detail if run.status == "IE" else failure(run)) is not None:
                self.rulings[part[position]] = "IE", reason
        return runs

    def _fail(self, reason: str) -> None:
        self.failure = self.failure or reason

    def _note_cut(self) -> None:
        """Set the end of the tests where enough of the known ones were over the time limit."""
        if self.most_tle is None:
            return
        slow = sorted(i for i, run in self.runs.items() if run.status in SLOW)
        if len(slow) >= self.most_tle:
            self._cut = min(self._cut, slow[self.most_tle - 1] + 1)

    def _judgement(self) -> Judgement:
        verdicts: list[Verdict] = []
        details: list[str] = []
        outputs: dict[int, bytes] = {}
        for i, test in enumerate(self.tests):
            verdict, detail = self._verdict(i, test, outputs)
            verdicts.append(verdict)
            details.append(detail)
        more_cpu: dict[int, float] = {}
        if self.exchange is not None and outputs:
            for i, ((verdict, detail), more_cpu[i]) in self._settle(self.exchange, outputs).items():
                verdicts[i], details[i] = verdict, detail
        if isinstance(self.checker, Python) and outputs:
            for i, (verdict, detail) in self._ask(self.checker, outputs).items():
                verdicts[i], details[i] = verdict, detail
        ran = [i in self.runs and i < self._cut for i in range(len(self.tests))]
        cpu = [self.runs[i].cpu + more_cpu.get(i, 0.0) if known else 0.0 for i, known in enumerate(ran)]
        error = next((detail for verdict, detail in zip(verdicts, details, strict=True) if verdict == "IE"), None)
        capped = tuple(detail[:MAX_DETAIL] for detail in details)
        return Judgement(tuple(verdicts), self.box.tier, tuple(cpu), capped, error)

    def _verdict(self, i: int, test: Test, outputs: dict[int, bytes]) -> tuple[Verdict, str]:
        """The verdict on a test; an output for a checker program is added to `outputs`."""
        if i >= self._cut:
            if self.rulings.get(self._cut - 1, ("AC", ""))[0] == "IE":
                return "IE", "not run: the interactor failed on a test before it"
            return "TLE", "not run: tests before it were over the time limit"
        run = self.runs.get(i)
        if run is None:
            return "IE", f"not run: {self.failure or 'the sandbox left it out'}"
        if i in self.broken:
            return "WA", self.broken[i]
        if i in self.rulings:
            return self.rulings[i]
        if run.status != "OK":
            return run.status, why(run)
        if self.exchange is not None:
            outputs[i] = run.stdout
            return "AC", ""
        output = run.stdout
        if self.entry_point is not None:
            found = function.result(output)
            if isinstance(found, tuple):
                return found
            output = found
        if not isinstance(self.checker, TextChecker):
            outputs[i] = output
            return "AC", ""
        if self.entry_point is not None:
            reason = function.complaint(self.checker, test.stdout, output)
        else:
            reason = self.checker.complaint(test.stdout.encode(), output)
        return ("AC", "") if reason is None else ("WA", reason)

    def _settle(self, exchange: asserts.Exchange, outputs: Iterable[int]) -> dict[int, tuple[asserts.Finding, float]]:
        """Verdicts of the asserts on the answers, and the processor time that further calls took."""
        runs = {i: self.runs[i] for i in outputs}
        try:
            return exchange.decide(self.program, self.limits, self.inputs, runs, self.most_tle)
        except UnsafeSandbox:
            raise
        except SandboxError as error:
            return dict.fromkeys(runs, (("IE", f"the asserts were not run: {error}"), 0.0))

    def _ask(self, checker: Python, outputs: dict[int, bytes]) -> dict[int, tuple[Verdict, str]]:
        """Verdicts of a checker program on the outputs.

        An output that the checker fails on is wrong if the checker decides on the expected output.
        """
        try:
            runs = self._consult(checker, outputs)
            failed = [i for i, run in runs.items() if run.status not in ("IE", "CE") and checker.finding(run) is None]
            again = self._consult(checker, {i: self.tests[i].stdout.encode() for i in failed})
        except (UnsafeSandbox, SandboxUnsupported):
            raise
        except SandboxError as error:
            return dict.fromkeys(outputs, ("IE", f"the checker was not run: {error}"))
        said: dict[int, tuple[Verdict, str]] = {}
        for i, run in runs.items():
            finding = checker.finding(run)
            if finding is not None:
                said[i] = ("AC" if finding[0] else "WA"), finding[1]
                continue
            reason = checker.reason(run)
            if i in again and checker.finding(again[i]) is not None:
                said[i] = "WA", f"the checker fails on this output ({run.status}): {reason}"
            else:
                said[i] = "IE", f"the checker failed ({run.status}): {reason}"
        last = next(reversed(said.values()))  # the reason why the others were not run
        return said | {i: (last[0], f"not checked: {last[1]}") for i in outputs if i not in said}

    def _consult(self, checker: Python, outputs: Mapping[int, bytes]) -> dict[int, Run]:
        """Run a checker program on outputs, up to one for which it is too slow."""
        if not outputs:
            return {}
        questions = [checker.question(self.tests[i].stdin, self.tests[i].stdout, data) for i, data in outputs.items()]
        runs = self.box.run(checker.program(), questions, CHECKER_LIMITS, lambda _, run: run.status in SLOW)
        return dict(zip(outputs, runs, strict=False))


def as_source(program: str | bytes) -> bytes:
    """A program as bytes.

    Raises:
        JudgeError: it is neither text nor bytes.
    """
    if not isinstance(program, str | bytes):
        raise JudgeError(f"program: expected text or bytes, got {type(program).__name__}")
    return as_bytes(program)


def as_bytes(text: str | bytes) -> bytes:
    """Any text as bytes, lone surrogates included."""
    # Lone surrogates, which UTF-8 cannot express, become bytes that no compiler accepts.
    return text.encode(errors="surrogatepass") if isinstance(text, str) else text
