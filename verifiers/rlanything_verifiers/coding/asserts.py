"""Judging of asserts about a function, by two separate programs in the sandbox.

The checking program runs the asserts. Where these call the function, it looks the call up among the answered ones; at
a missing one it reports the calls that it needs. The answering program runs the submission on these calls and prints
the return values. Both are started again for each round, and mostly one round is enough: while an answer is only
compared, the checking program goes on without it and collects further calls.

The submission controls the whole process of the answering program, so whatever that prints is an answer and nothing
else: `answers` reads it in this process, by a schema in which no value names code. The verdict is printed by the
checking program, in which no code of the submission runs, behind a mark that is drawn for each run and that only this
process and the checking program know.
"""

import ast
import itertools
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace

from . import answers
from .cache import RUNS, digest
from .checkers.asserts import Asserts, check_python
from .drivers import ANSWER, CHECK, VALUES
from .errors import JudgeError
from .function import MARK, check_call, check_name, imports_of
from .sandbox import Limits, Run, Sandbox, SandboxError
from .sandbox.pool import Stop
from .test import Test
from .verdict import SLOW, Verdict

MAX_ROUNDS = 64
"""Rounds of calls and answers of one test. A round is needed where a call depends on the result of another."""

_CLOCK = 4
"""Wall limits of one test that its rounds have together. They share one limit of processor time; on the clock a round
may also have waited for a core."""
_LEAST = 0.01  # seconds that a round needs to be started
_MIN_CPU = 2.0  # seconds for the asserts, which may compute longer than a submission
_OUTPUT = 1 << 24  # bytes of calls that asserts may request

Finding = tuple[Verdict, str]


def check_tests(tests: Sequence[Test]) -> None:
    """Refuse tests that are neither statements nor a call as JSON.

    Raises:
        JudgeError: A test is neither; the message has its number.
    """
    for number, test in enumerate(tests):
        try:
            if test.stdout.strip():
                check_call(test)
            elif test.stdin.strip():
                check_python(test.stdin)
            else:
                raise JudgeError("there are no statements")
        except JudgeError as error:
            raise JudgeError(f"test {number}: {error}") from None


def answering(program: bytes, entry_point: str, setup: str) -> bytes:
    """The program that answers calls of a submission's functions.

    Args:
        program: The submission.
        entry_point: Name of the function.
        setup: What runs before the asserts. Its imports, but nothing that it defines, are there for the submission too:
            the usual runners put those of a problem before the program. None of them is the function.

    Raises:
        JudgeError: The entry point is not the name of a function.
    """
    check_name(entry_point)
    given = [ast.unparse(node) for node in ast.parse(setup).body if isinstance(node, ast.Import | ast.ImportFrom)]
    given += [f"globals().pop({entry_point!r}, None)"] if given else []
    return _driver(ANSWER, imports=imports_of(program), mark=MARK, source=program, given="\n".join(given))


def _driver(text: str, *, imports: str, **values: object) -> bytes:
    values |= {"exceptions": answers.EXCEPTIONS, "types": sorted(answers.TYPES)}
    constants = "".join(f"{key.upper()} = {value!r}\n" for key, value in values.items())
    return f"{imports}{constants}{VALUES}\n{text}".encode()


class Exchange:
    """The asserts of one trial: the calls that they need, and their verdicts on the answers.

    Args:
        box: Sandbox in which the asserts run.
        checker: The checker, whose set-up runs before them.
        entry_point: Name of the function.
        tests: The asserts.
        limits: Limits of the submission.
    """

    def __init__(self, box: Sandbox, checker: Asserts, entry_point: str, tests: Sequence[Test], limits: Limits) -> None:
        self._box = box
        self._program = _driver(
            CHECK, imports=imports_of(checker.setup.encode()), setup=checker.setup, entry=entry_point
        )
        self._tests = [json.dumps([test.stdin, test.stdout]).encode() for test in tests]
        self._limits = replace(limits, cpu=max(limits.cpu, _MIN_CPU), wall=None, output=_OUTPUT, source=1 << 22)

    def first_calls(self, cache: bool) -> tuple[list[bytes], dict[int, str]]:
        """The first calls of each test, and the reasons of tests that cannot be run.

        Raises:
            SandboxError: The sandbox failed.
        """
        calls: list[bytes] = []
        broken: dict[int, str] = {}
        inputs = [test + b"\n[]\n[]" for test in self._tests]
        for i, run in enumerate(self._check_once(inputs) if cache else self._check(inputs, self._limits)):
            if run.status == "IE":
                raise SandboxError(run.detail or "the sandbox failed")
            kind, rest = _report(run, b"")
            if kind == b"AC":  # it calls nothing
                rest = b"[]"
            elif kind != b"MORE":
                broken[i] = f"the test fails by itself: {rest.decode(errors='replace') or run.detail or run.status}"
                rest = b"[]"
            calls.append(rest)
        return calls, broken

    def decide(
        self, program: bytes, limits: Limits, asked: Sequence[bytes], runs: Mapping[int, Run], most_tle: int | None
    ) -> dict[int, tuple[Finding, float]]:
        """The verdicts on tests whose first calls were answered, and the processor time of further rounds.

        Args:
            program: The answering program, for further rounds.
            limits: Its limits, which the rounds of a test share.
            asked: The first calls of each test.
            runs: Runs of the answering program on them, which ended by themselves.
            most_tle: Number of tests over the time limit after which the others count as over it too. After as many
                whose asserts do not end with the answers, the others are wrong.

        Raises:
            SandboxError: The sandbox failed.
        """
        found: dict[int, tuple[Finding, float]] = {}
        given: dict[int, bytes] = {}
        for i, run in runs.items():
            answer = answer_of(run, asked[i])
            if isinstance(answer, bytes):
                given[i] = answer
            else:
                found[i] = answer, 0.0
        questions = [b"\n".join((self._tests[i], asked[i], given[i])) for i in given]
        slow = 0

        def stop(_: int, run: Run) -> bool:  # results that asserts never end with cost as much as a slow program
            nonlocal slow
            slow += run.status in SLOW
            return slow == most_tle

        checked = self._check(questions, self._limits, stop)
        for i in list(given)[len(checked) :]:
            found[i] = ("WA", f"not checked: the asserts of {most_tle} tests do not end with these results"), 0.0
        for i, run in zip(given, checked, strict=False):
            ruling = self._rule(run)
            if not isinstance(ruling, bytes):
                found[i] = ruling, 0.0
            elif most_tle is not None and sum(f[0] in SLOW for f, _ in found.values()) >= most_tle:
                found[i] = ("TLE", f"not decided: {most_tle} tests were over the time limit"), 0.0
            else:
                found[i] = self._go_on(i, program, limits, asked[i], ruling, runs[i], run)
        return found

    def _go_on(
        self, i: int, program: bytes, limits: Limits, asked: bytes, more: bytes, run: Run, check: Run
    ) -> tuple[Finding, float]:
        """Further rounds of a test whose calls depend on answers; `run` and `check` are those of the first."""
        first = cpu = run.cpu
        wall, checking, confirmed = run.wall, check.cpu, 0
        for _ in range(MAX_ROUNDS - 1):
            before, confirmed = confirmed, _common(asked, more)
            if confirmed == before:
                return ("WA", "the same calls have other results each time"), cpu - first
            left = limits.cpu - cpu, _CLOCK * limits.deadline - wall
            if min(left) < _LEAST:
                return ("TLE", f"{cpu:.2f} s of processor time in all rounds of calls"), cpu - first
            shared = replace(limits, cpu=left[0], wall=min(limits.deadline, left[1]))
            run = self._box.run(program, [more], shared)[0]
            cpu, wall = cpu + run.cpu, wall + run.wall
            answer = answer_of(run, more)
            if not isinstance(answer, bytes):
                return answer, cpu - first
            if checking > self._limits.cpu - _LEAST:
                return ("WA", "the asserts do not end with these results"), cpu - first
            again = replace(self._limits, cpu=self._limits.cpu - checking)
            check = self._check([b"\n".join((self._tests[i], more, answer))], again)[0]
            checking += check.cpu
            ruling = self._rule(check)
            if not isinstance(ruling, bytes):
                return ruling, cpu - first
            asked, more = more, ruling
        return ("WA", f"the asserts need more than {MAX_ROUNDS} rounds of calls"), cpu - first

    @staticmethod
    def _rule(run: Run) -> Finding | bytes:
        """The verdict of the checking program, or the calls that it still needs."""
        if run.status == "IE":
            return "IE", f"the asserts were not run: {run.detail}"
        kind, rest = _report(run, b"")
        if kind == b"MORE":
            return rest
        if kind in _VERDICTS:
            return _VERDICTS[kind], rest.decode(errors="replace")
        return "WA", f"the asserts do not end with these results ({run.status}): {run.detail}"

    def _check(self, inputs: list[bytes], limits: Limits, stop: Stop | None = None) -> list[Run]:
        """Run the checking program, up to where `stop` ends it; the output of a run is its report without the mark."""
        mark = secrets.token_hex(16).encode()
        runs = self._box.run(self._program, [mark + b"\n" + data for data in inputs], limits, stop)
        return [replace(run, stdout=b"\n" + b" ".join(_report(run, mark))) for run in runs]

    def _check_once(self, inputs: list[bytes]) -> list[Run]:
        """The same for inputs that no answer is in: such runs are kept."""
        name = digest(self._program)
        keys = [(name, digest(data), self._limits, self._box.identity, "python") for data in inputs]
        known = [RUNS.get(key) for key in keys]
        missing = [data for data, run in zip(inputs, known, strict=True) if run is None]
        made = iter(self._check(missing, self._limits) if missing else [])
        runs = [next(made) if run is None else run for run in known]
        RUNS.put(zip(keys, runs, strict=True))
        return runs


_VERDICTS: dict[bytes, Verdict] = {b"AC": "AC", b"WA": "WA", b"RE": "RE"}


def answer_of(run: Run, asked: bytes) -> bytes | Finding:
    """The checked answers in a run of the answering program, or the verdict where there are none.

    Args:
        run: The run.
        asked: JSON of the calls that it was to answer.
    """
    if run.status != "OK":
        return run.status, run.detail
    kind, rest = _report(run, MARK)
    if kind == b"CE":
        return "CE", rest.decode(errors="replace")
    if kind != b"OK":
        return "RE", "the program ended before the function returned"
    try:
        return answers.read(rest, len(json.loads(asked)))
    except answers.AnswerError as error:
        return "WA", str(error)


def _common(one: bytes, other: bytes) -> int:
    """Number of calls in which two lists begin alike."""
    pairs = zip(json.loads(one), json.loads(other), strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: json.dumps(pair[0]) == json.dumps(pair[1]), pairs))


def _report(run: Run, mark: bytes) -> tuple[bytes, bytes]:
    """The word after the last mark, and the rest of its line; empty where the run failed."""
    if run.status != "OK":
        return b"", b""
    _, found, rest = run.stdout.rpartition(b"\n" + mark)
    kind, _, value = rest.partition(b"\n")[0].partition(b" ")
    return (kind, value) if found else (b"", b"")
