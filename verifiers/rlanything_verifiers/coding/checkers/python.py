"""A checker that is a program."""

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from rlanything_verifiers.coding.errors import CheckerError
from rlanything_verifiers.coding.sandbox import Limits

from .base import Checker

CHECKER_LIMITS = Limits(cpu=10.0)
"""A checker may take longer than a submission: it is asked once a test, and its failure is not a verdict."""


@dataclass(frozen=True, slots=True)
class Python(Checker):
    """A Python program that decides, run in the same sandbox as the submissions.

    It reads one JSON object with the texts ``stdin``, ``expected`` and ``actual`` and prints ``AC`` or
    ``WA``, and after it, if it likes, why. It must cope with any ``actual``: where it crashes, is too slow
    or prints something else, nothing is decided and the verdict is IE.

    Raises:
        CheckerError: the source is no text, or blank.
    """

    kind: ClassVar[str] = "python"

    source: str

    def __post_init__(self) -> None:
        if not isinstance(self.source, str) or not self.source.strip():
            raise CheckerError("checker python: source must be the text of a program")

    def to_dict(self) -> dict[str, Any]:
        """The checker as a JSON object."""
        return {"kind": self.kind, "source": self.source}

    @staticmethod
    def question(stdin: str, expected: str, actual: bytes) -> bytes:
        """What the program reads about one test."""
        # Bytes that are no UTF-8 arrive as lone surrogates, so that no two outputs look the same.
        said = actual.decode(errors="surrogateescape")
        return json.dumps({"stdin": stdin, "expected": expected, "actual": said}).encode()

    @staticmethod
    def answer(output: bytes) -> tuple[bool, str] | None:
        """Whether it accepts, and why; None if that cannot be told from what it printed."""
        word, _, reason = output.strip().partition(b"\n")
        word = word.strip()
        if word not in (b"AC", b"WA"):
            return None
        return word == b"AC", reason.decode(errors="replace").strip()
