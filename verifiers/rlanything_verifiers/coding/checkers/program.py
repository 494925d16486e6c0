"""Base class of checker programs, which run in the sandbox of the submissions, in processes of their own."""

from abc import abstractmethod
from typing import ClassVar

from rlanything_verifiers.coding.errors import CheckerError
from rlanything_verifiers.coding.language import Language
from rlanything_verifiers.coding.sandbox import Limits, Run
from rlanything_verifiers.coding.verdict import why

from .base import Checker

CHECKER_LIMITS = Limits(cpu=10.0)
"""Limits of a checker program; longer than those of most submissions, since an output it is too slow for is wrong."""


class ProgramChecker(Checker):
    """A checker that is a program, run on one output at a time.

    Raises:
        CheckerError: The source is not a text, or blank.
    """

    source: str

    language: ClassVar[Language] = "python"

    def __post_init__(self) -> None:
        if not isinstance(self.source, str) or not self.source.strip():
            raise CheckerError(f"checker {self.kind}: source must be the text of a program")

    @abstractmethod
    def program(self) -> bytes:
        """The source of the program."""

    @abstractmethod
    def question(self, stdin: str, expected: str, actual: bytes) -> bytes:
        """Standard input of the program for one test."""

    @abstractmethod
    def finding(self, run: Run) -> tuple[bool, str] | None:
        """Whether the program accepts, and the reason; None if its run gives no verdict."""

    @abstractmethod
    def undecided(self, run: Run) -> str:
        """The reason why a run that ended normally has no finding."""

    def reason(self, run: Run) -> str:
        """The reason why a run has no finding."""
        return self.undecided(run) if run.status == "OK" else why(run)
