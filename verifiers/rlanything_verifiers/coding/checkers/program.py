"""Checkers that are programs: they run in the sandbox of the submissions, in processes of their own."""

from abc import abstractmethod
from typing import ClassVar

from rlanything_verifiers.coding.errors import CheckerError
from rlanything_verifiers.coding.language import Language
from rlanything_verifiers.coding.sandbox import Limits, Run

from .base import Checker

CHECKER_LIMITS = Limits(cpu=10.0)
"""A checker may take longer than a submission: it is asked once a test, and its failure is not a verdict."""


class ProgramChecker(Checker):
    """A checker that is a program, asked about one output at a time.

    Raises:
        CheckerError: The source is no text, or blank.
    """

    source: str

    language: ClassVar[Language] = "python"
    breakable: ClassVar[bool] = False
    """Whether an output that makes it crash is wrong, provided that the expected output does not."""

    def __post_init__(self) -> None:
        if not isinstance(self.source, str) or not self.source.strip():
            raise CheckerError(f"checker {self.kind}: source must be the text of a program")

    @abstractmethod
    def program(self) -> bytes:
        """The text of the program."""

    @abstractmethod
    def question(self, stdin: str, expected: str, actual: bytes) -> bytes:
        """What the program reads about one test."""

    @abstractmethod
    def finding(self, run: Run) -> tuple[bool, str] | None:
        """Whether it accepts, and why; None if that cannot be told from its run."""

    @abstractmethod
    def undecided(self, run: Run) -> str:
        """Why a run that ended well has no finding."""
