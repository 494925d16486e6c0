"""What can go wrong with a benchmark, by name."""

__all__ = ["AgentError", "BenchmarkError"]


class BenchmarkError(ValueError):
    """A benchmark, or its folder, cannot be what was asked for; the message says what to do."""


class AgentError(BenchmarkError):
    """The agent cannot play: there is none of this name, it lacks something, or its own code failed."""
