"""Errors of benchmarks."""

__all__ = ["AgentError", "BenchmarkError"]


class BenchmarkError(ValueError):
    """A benchmark or its folder cannot be used as requested; the message says what to do."""


class AgentError(BenchmarkError):
    """The agent cannot play: its name is unknown, it lacks something, or its own code failed."""
