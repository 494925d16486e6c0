"""A checker that is a program."""

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from rlanything_verifiers.coding.sandbox import Run

from .program import ProgramChecker


@dataclass(frozen=True, slots=True)
class Python(ProgramChecker):
    """A Python program that decides, run in the same sandbox as the submissions.

    It reads one JSON object with the texts ``stdin``, ``expected`` and ``actual`` and prints ``AC`` or
    ``WA``, and after it, if it likes, why. It must cope with any ``actual``: where it crashes, is too slow
    or prints something else, nothing is decided and the verdict is IE.

    Raises:
        CheckerError: the source is no text, or blank.
    """

    kind: ClassVar[str] = "python"

    source: str

    def to_dict(self) -> dict[str, Any]:
        """The checker as a JSON object."""
        return {"kind": self.kind, "source": self.source}

    def program(self) -> bytes:
        """The text of the program."""
        return self.source.encode(errors="surrogatepass")

    def question(self, stdin: str, expected: str, actual: bytes) -> bytes:
        """What the program reads about one test."""
        # Bytes that are no UTF-8 arrive as lone surrogates, so that no two outputs look the same.
        said = actual.decode(errors="surrogateescape")
        return json.dumps({"stdin": stdin, "expected": expected, "actual": said}).encode()

    def finding(self, run: Run) -> tuple[bool, str] | None:
        """What it printed."""
        return self.answer(run.stdout) if run.status == "OK" else None

    def undecided(self, run: Run) -> str:
        """What it printed instead."""
        return f"it printed {run.stdout[:60]!r}, not AC or WA"

    @staticmethod
    def answer(output: bytes) -> tuple[bool, str] | None:
        """Whether it accepts, and why; None if that cannot be told from what it printed."""
        word, _, reason = output.strip().partition(b"\n")
        word = word.strip()
        if word not in (b"AC", b"WA"):
            return None
        return word == b"AC", reason.decode(errors="replace").strip()
