"""A checker that talks with the program while it runs."""

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
"""Seconds on the clock that an interactor has beyond the program's: it waits for the program, never longer."""


@dataclass(frozen=True, slots=True)
class Interactor(Checker):
    """A Python program that the submission talks with, run in the same sandbox, in a worker of its own.

    Its standard input begins with one line, the JSON object with the texts ``stdin`` and ``expected`` of the test;
    then comes what the submission writes. What it prints is what the submission reads, so it has to flush. Its verdict
    goes to standard error: ``AC`` or ``WA``, and on the next line, if it likes, why. The submission sees none of the
    test's texts but what the interactor prints of them.

    An interactor must cope with whatever the submission writes. Where it crashes, is too slow or gives no verdict,
    nothing is decided and the verdict is IE, except for an ``EOFError`` after the end of the submission: this one
    stopped too early, which is WA.

    Raises:
        CheckerError: the source is no text, or blank.
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
        """Limits of the interactor for those of the submission."""
        return Limits(cpu=CHECKER_LIMITS.cpu, wall=program.deadline + _SPARE)


def ruling(talk: Interaction) -> tuple[Verdict, str]:
    """The verdict on a conversation and the reason: the side that ended first, if not as it should, decides."""
    program, interactor = talk.program, talk.interactor
    if program.status in ("IE", "CE"):
        return program.status, program.detail
    if interactor.status == "OLE":
        return _failed(interactor)
    finding = Python.answer(interactor.stderr) if interactor.status == "OK" else None
    if talk.first == "program" and program.status != "OK":
        # At the end of its input an interactor stops waiting. One that did not was not waiting for the program.
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
