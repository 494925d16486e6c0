"""The checker ``interactor``: a program that exchanges messages with the submission."""

import json
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from rlanything_verifiers.coding.sandbox import Interaction, Limits, Run
from rlanything_verifiers.coding.verdict import Verdict, why

from .python import CHECKER_LIMITS, ProgramChecker, Python

_SPARE = 60.0
"""Wall time in seconds that an interactor has beyond the submission's, for which it waits."""


@dataclass(frozen=True, slots=True)
class Interactor(ProgramChecker):
    """A Python program that exchanges messages with the submission, in the same sandbox, in its own worker.

    Its standard input begins with one line, the JSON object with the texts ``stdin`` and ``expected`` of the test,
    followed by the submission's output. Its own output is the submission's input, so it must flush. It writes its
    verdict to standard error: ``AC`` or ``WA``, and optionally the reason on the next line. The submission sees the
    test's texts only as far as the interactor prints them.

    An interactor must handle any output of the submission. Where it crashes, is too slow or gives no verdict, the
    submission is wrong (WA), provided that the interactor does better against a submission that writes nothing; an
    ``EOFError`` at the end of its input will do. Else the interactor is broken: IE.
    """

    kind: ClassVar[str] = "interactor"

    @staticmethod
    def opening(stdin: str, expected: str) -> bytes:
        """The first line that the interactor reads."""
        return json.dumps({"stdin": stdin, "expected": expected}).encode() + b"\n"

    @staticmethod
    def limits(program: Limits) -> Limits:
        """Limits of the interactor, from those of the submission."""
        return Limits(cpu=CHECKER_LIMITS.cpu, wall=program.deadline + _SPARE)


class Ruling(NamedTuple):
    """What a conversation shows of the program.

    Attributes:
        verdict: The verdict on the program, provided that the interactor works.
        reason: The reason of the verdict.
        stumbled: Whether the interactor failed. It may be broken, or the program wrote what broke it: `failure` of a
            run on nothing but its opening tells the two apart.
    """

    verdict: Verdict
    reason: str
    stumbled: bool = False


def ruling(talk: Interaction) -> Ruling:
    """The verdict on a conversation; a side that ended first with an error decides."""
    program, interactor = talk.program, talk.interactor
    if program.status in ("IE", "CE"):
        return Ruling(program.status, program.detail)
    if interactor.status == "IE":
        return Ruling("IE", interactor.detail)
    reason = failure(interactor)
    if talk.first == "program" and program.status != "OK":
        # An interactor that waits for the program stops at the end of its input; one that goes on hangs by itself.
        hung = program.status == "TLE_WALL" and interactor.status in ("TLE", "TLE_WALL")
        return Ruling(program.status, why(program), hung or interactor.status == "OLE")
    if reason is not None:
        return Ruling("WA", reason, True)
    finding = _finding(interactor)
    if finding is None:
        return Ruling("WA", "the program ended before the conversation did", talk.first == "interactor")
    accepted, said = finding
    if accepted and program.status != "OK":
        return Ruling(program.status, why(program))
    return Ruling("AC" if accepted else "WA", said)


def failure(interactor: Run) -> str | None:
    """The reason why a run of an interactor decides nothing; None for a verdict or an ``EOFError`` at its end."""
    if _finding(interactor) is not None:
        return None
    last = interactor.stderr.rstrip(b"\n").rpartition(b"\n")[2]
    if interactor.status == "RE" and last.startswith(b"EOFError"):
        return None
    if interactor.status == "OK":
        return f"the interactor gave no verdict: standard error was {interactor.stderr[:60]!r}, not AC or WA"
    return f"the interactor failed ({interactor.status}): {why(interactor)}"


def _finding(interactor: Run) -> tuple[bool, str] | None:
    # The verdict is the first line: what follows may quote the program.
    return Python.answer(interactor.head.encode() or interactor.stderr) if interactor.status == "OK" else None
