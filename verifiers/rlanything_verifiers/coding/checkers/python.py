"""The checker ``python``: a Python program."""

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from rlanything_verifiers.coding.errors import JudgeError
from rlanything_verifiers.coding.sandbox import Limits, Run
from rlanything_verifiers.coding.verdict import why

from .base import Checker

CHECKER_LIMITS = Limits(cpu=10.0)
"""Limits of a checker program; longer than those of most submissions, since an output it is too slow for is wrong."""


@dataclass(frozen=True, slots=True)
class ProgramChecker(Checker):
    """A checker that is a Python program.

    Raises:
        JudgeError: the source is not a text, or blank.
    """

    source: str

    def __post_init__(self) -> None:
        if not isinstance(self.source, str) or not self.source.strip():
            raise JudgeError(f"checker {self.kind}: source must be the text of a program")

    def to_dict(self) -> dict[str, Any]:
        """The checker as a JSON object."""
        return {"kind": self.kind, "source": self.source}

    def program(self) -> bytes:
        """The source of the program."""
        return self.source.encode(errors="surrogatepass")


@dataclass(frozen=True, slots=True)
class Python(ProgramChecker):
    """A Python program that decides, run in the same sandbox as the submissions.

    It reads one JSON object with the texts ``stdin``, ``expected`` and ``actual`` and prints ``AC`` or ``WA``,
    optionally followed by the reason. An ``actual`` on which it crashes, is too slow or prints anything else is wrong
    (WA), provided that it decides on the expected output; else the checker is broken: IE.
    """

    kind: ClassVar[str] = "python"

    def question(self, stdin: str, expected: str, actual: bytes) -> bytes:
        """Standard input of the program for one test."""
        # Bytes that are not UTF-8 become lone surrogates, so that different outputs stay different.
        said = actual.decode(errors="surrogateescape")
        return json.dumps({"stdin": stdin, "expected": expected, "actual": said}).encode()

    def finding(self, run: Run) -> tuple[bool, str] | None:
        """Whether the program accepts, and the reason; None if its output is not a verdict."""
        return self.answer(run.stdout) if run.status == "OK" else None

    @staticmethod
    def reason(run: Run) -> str:
        """The reason why a run has no finding."""
        return f"it printed {run.stdout[:60]!r}, not AC or WA" if run.status == "OK" else why(run)

    @staticmethod
    def answer(output: bytes) -> tuple[bool, str] | None:
        """Whether an output accepts, and the reason; None if it is not a verdict."""
        word, _, reason = output.strip().partition(b"\n")
        word = word.strip()
        if word not in (b"AC", b"WA"):
            return None
        return word == b"AC", reason.decode(errors="replace").strip()
