"""Errors of benchmarks."""

from typing import Literal

from rlanything_envs.llm.errors import RunMustStop

__all__ = ["AgentError", "BenchmarkError", "NotAllPlayed", "Outgrown"]


class BenchmarkError(ValueError):
    """A benchmark or its folder cannot be used as requested; the message says what to do."""


class AgentError(BenchmarkError):
    """The agent cannot play: its name is unknown, it lacks something, or its own code failed."""


class NotAllPlayed(RunMustStop):
    """Infrastructure left episodes without an outcome: the same command plays them again."""


class Outgrown(RuntimeError):
    """The agent wrote more than its model or its service takes: the episode has failed.

    Attributes:
        reason: ``overlong``, where the chat has outgrown the model's context; ``slow``, where the length of its answer
            alone keeps the service from giving it in time.
    """

    def __init__(self, reason: Literal["overlong", "slow"], message: str) -> None:
        super().__init__(message)
        self.reason = reason
