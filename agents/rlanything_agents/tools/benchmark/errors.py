"""Errors of benchmarks."""

from typing import Literal

__all__ = ["BenchmarkError", "Outgrown"]


class BenchmarkError(ValueError):
    """A benchmark, its folder or its agent cannot be used as requested; the message says what to do."""


class Outgrown(RuntimeError):
    """The agent wrote more than its model or its service takes: the episode has failed.

    Attributes:
        reason: ``overlong``, where the chat has outgrown the model's context; ``slow``, where the length of its answer
            alone keeps the service from giving it in time.
    """

    def __init__(self, reason: Literal["overlong", "slow"], message: str) -> None:
        super().__init__(message)
        self.reason = reason
