"""The checker ``interactor``: a program that exchanges messages with the submission."""

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from rlanything_verifiers.coding.errors import CheckerError
from rlanything_verifiers.coding.sandbox import Interaction, Limits, Run
from rlanything_verifiers.coding.verdict import Verdict, why

from .base import Checker
from .program import CHECKER_LIMITS
from .python import Python

_SPARE = 60.0
"""Wall time in seconds that an interactor has beyond the submission's, for which it waits."""


@dataclass(frozen=True, slots=True)
class Interactor(Checker):
    """A Python program that exchanges messages with the submission, in the same sandbox, in a worker of its own.

    Its standard input begins with one line, the JSON object with the texts ``stdin`` and ``expected`` of the test,
    followed by the submission's output. Its own output is the submission's input, so it must flush. It writes its
    verdict to standard error: ``AC`` or ``WA``, and optionally the reason on the next line. The submission sees the
    test's texts only as far as the interactor prints them.

    An interactor must handle any output of the submission. Where it crashes, is too slow or gives no verdict, the
    verdict is IE, except for an ``EOFError`` after the end of the submission, which stopped too early: WA.

    Raises:
        CheckerError: the source is not a text, or blank.
    """

    kind: ClassVar[str] = "interactor"

    source: str

    def __post_init__(self) -> None:
        if not isinstance(self.source, str) or not self.source.strip():
            raise CheckerError("checker interactor: source must be the text of a program")

    def to_dict(self) -> dict[str, Any]:
        """The checker as a JSON object."""
        return {"kind": self.kind, "source": self.source}

    @staticmethod
    def opening(stdin: str, expected: str) -> bytes:
        """The first line that the interactor reads."""
        return json.dumps({"stdin": stdin, "expected": expected}).encode() + b"\n"

    @staticmethod
    def limits(program: Limits) -> Limits:
        """Limits of the interactor, from those of the submission."""
        return Limits(cpu=CHECKER_LIMITS.cpu, wall=program.deadline + _SPARE)


def ruling(talk: Interaction) -> tuple[Verdict, str]:
    """The verdict on a conversation and its reason; a side that ended first with an error decides."""
    program, interactor = talk.program, talk.interactor
    if program.status in ("IE", "CE"):
        return program.status, program.detail
    if interactor.status == "OLE":
        return _failed(interactor)
    finding = Python.answer(interactor.stderr) if interactor.status == "OK" else None
    if talk.first == "program" and program.status != "OK":
        # An interactor that waits for the program stops at the end of its input; one that goes on hangs by itself.
        hung = program.status == "TLE_WALL" and interactor.status in ("TLE", "TLE_WALL")
        return _failed(interactor) if hung else (program.status, why(program))
    if finding is None:
        if talk.first == "program" and _reached_the_end(interactor):
            return "WA", "the program ended before the conversation did"
        return _failed(interactor)
    accepted, reason = finding
    if accepted and program.status != "OK":
        return program.status, why(program)
    return ("AC" if accepted else "WA"), reason


def _reached_the_end(interactor: Run) -> bool:
    last = interactor.stderr.rstrip(b"\n").rpartition(b"\n")[2]
    return interactor.status == "RE" and last.startswith(b"EOFError")


def _failed(interactor: Run) -> tuple[Verdict, str]:
    if interactor.status == "OK":
        return "IE", f"the interactor gave no verdict: standard error was {interactor.stderr[:60]!r}, not AC or WA"
    return "IE", f"the interactor failed ({interactor.status}): {why(interactor)}"
