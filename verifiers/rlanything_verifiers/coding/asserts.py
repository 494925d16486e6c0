"""Judging of asserts about a function, by two separate programs in the sandbox.

The checking program runs the asserts. Where these call the function, it looks the call up among the answered ones; at
a missing one it reports the calls that it needs. The answering program runs the submission on these calls and prints
the return values. Both are started again for each round, and mostly one round is enough: while an answer is only
compared, the checking program goes on without it and collects further calls.

This process passes bytes from one to the other and never decodes them. The submission's prints and patches can only
change its own return values: the verdict is printed by a process in which none of its code runs.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from .cache import RUNS, digest
from .checkers.asserts import Asserts, check_python
from .drivers import ANSWER, CHECK, VALUES
from .errors import TestFormatError
from .function import MARK, check_call, check_name, imports_of
from .sandbox import Limits, Run, Sandbox
from .test import Test
from .verdict import Verdict

MAX_ROUNDS = 64
"""Rounds of calls and answers of one test. A round is needed where a call depends on the result of another."""

_MIN_CPU = 2.0  # seconds for the asserts, which may compute longer than a submission
_OUTPUT = 1 << 24  # bytes of calls that asserts may request

Finding = tuple[Verdict, str]


def check_tests(tests: Sequence[Test]) -> None:
    """Refuse tests that are neither statements nor a call as JSON.

    Raises:
        TestFormatError: A test is neither; the message has its number.
    """
    for number, test in enumerate(tests):
        try:
            if test.stdout.strip():
                check_call(test)
            elif test.stdin.strip():
                check_python(test.stdin)
            else:
                raise TestFormatError("there are no statements")
        except TestFormatError as error:
            raise TestFormatError(f"test {number}: {error}") from None


def answering(program: bytes, entry_point: str) -> bytes:
    """The program that answers calls of a submission's functions.

    Raises:
        ProgramFormatError: The entry point is not the name of a function.
    """
    check_name(entry_point)
    return _driver(ANSWER, imports=imports_of(program), source=program)


def _driver(text: str, *, imports: str, **values: object) -> bytes:
    constants = "".join(f"{key.upper()} = {value!r}\n" for key, value in values.items())
    return f"{imports}MARK = {MARK!r}\n{constants}{VALUES}\n{text}".encode()


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
        for i, run in enumerate(self._run([test + b"\n[]\n[]" for test in self._tests], cache)):
            kind, rest = _report(run)
            if kind == b"AC":  # it calls nothing
                rest = b"[]"
            elif kind != b"MORE":
                broken[i] = f"the test fails by itself: {rest.decode(errors='replace') or run.detail or run.status}"
                rest = b"[]"
            calls.append(rest)
        return calls, broken

    def decide(
        self, program: bytes, limits: Limits, asked: Mapping[int, bytes], answers: Mapping[int, bytes]
    ) -> dict[int, Finding]:
        """The verdicts on tests whose first calls were answered.

        Args:
            program: The answering program, for further rounds.
            limits: Its limits.
            asked: The calls of each test.
            answers: Output of the answering program for each test.

        Raises:
            SandboxError: The sandbox failed.
        """
        found: dict[int, Finding] = {}
        asked, answers = dict(asked), dict(answers)
        for _ in range(MAX_ROUNDS):
            more: dict[int, bytes] = {}
            questions = [b"\n".join((self._tests[i], asked[i], answers[i])) for i in answers]
            for i, run in zip(answers, self._run(questions, cache=False), strict=True):
                kind, rest = _report(run)
                if kind == b"MORE":
                    more[i] = rest
                elif run.status == "IE":
                    found[i] = "IE", f"the asserts were not run: {run.detail}"
                elif kind in (b"AC", b"WA", b"RE"):
                    found[i] = _VERDICTS[kind], rest.decode(errors="replace")
                else:
                    found[i] = "WA", f"the asserts do not end with these results ({run.status}): {run.detail}"
            if not more:
                return found
            asked, answers = more, {}
            for i, run in zip(more, self._box.run(program, list(more.values()), limits), strict=True):
                outcome = answer_of(run)
                if isinstance(outcome, bytes):
                    answers[i] = outcome
                else:
                    found[i] = outcome
        for i in answers:
            found[i] = "WA", f"the asserts need more than {MAX_ROUNDS} rounds of calls"
        return found

    def _run(self, inputs: list[bytes], cache: bool) -> list[Run]:
        if not cache:
            return self._box.run(self._program, inputs, self._limits)
        name = digest(self._program)
        keys = [(name, digest(data), self._limits, self._box.identity, "python") for data in inputs]
        known = {i: run for i, key in enumerate(keys) if (run := RUNS.get(key)) is not None}
        missing = [i for i in range(len(inputs)) if i not in known]
        if missing:
            runs = self._box.run(self._program, [inputs[i] for i in missing], self._limits)
            RUNS.put((keys[i], run) for i, run in zip(missing, runs, strict=True))
            known.update(zip(missing, runs, strict=True))
        return [known[i] for i in range(len(inputs))]


_VERDICTS: dict[bytes, Verdict] = {b"AC": "AC", b"WA": "WA", b"RE": "RE"}


def answer_of(run: Run) -> bytes | Finding:
    """The answers in a run of the answering program, or the verdict where there are none."""
    if run.status != "OK":
        return run.status, run.detail
    kind, rest = _report(run)
    if kind == b"OK":
        return rest
    if kind == b"CE":
        return "CE", rest.decode(errors="replace")
    return "RE", "the program ended before the function returned"


def _report(run: Run) -> tuple[bytes, bytes]:
    """The word after the last mark, and the rest of its line; empty where the run failed."""
    if run.status != "OK":
        return b"", b""
    _, found, rest = run.stdout.rpartition(b"\n" + MARK)
    kind, _, value = rest.partition(b"\n")[0].partition(b" ")
    return (kind, value) if found else (b"", b"")
