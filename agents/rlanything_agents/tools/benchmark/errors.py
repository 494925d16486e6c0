"""Errors of benchmarks."""

from typing import Literal

__all__ = ["AgentError", "BenchmarkError", "Outgrown"]


class BenchmarkError(ValueError):
    """A benchmark or its folder cannot be used as requested; the message says what to do."""


class AgentError(BenchmarkError):
    """The agent cannot play: its name is unknown, it lacks something, or its own code failed."""


class Outgrown(RuntimeError):
    """The agent wrote more than its model or its service takes: the episode has failed.

    Attributes:
        reason: ``overlong``, where the chat has outgrown the model's context; ``slow``, where the length of its answer
            alone keeps the service from giving it in time.
    """

    def __init__(self, reason: Literal["overlong", "slow"], message: str) -> None:
        super().__init__(message)
        self.reason = reason
