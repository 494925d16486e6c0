"""Error of an update."""

from __future__ import annotations

__all__ = ["TrainingError"]


class TrainingError(RuntimeError):
    """Training that cannot begin or continue, or a sample that no model can have produced; the message names the cause
    and the remedy."""
