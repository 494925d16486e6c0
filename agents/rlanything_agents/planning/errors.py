"""What stops a plan."""

from __future__ import annotations

__all__ = ["PlanError", "UnknownSize"]


class PlanError(ValueError):
    """A plan that cannot be made; the message names the key and the remedy."""


class UnknownSize(PlanError):
    """The size of a model is not known without its weights; the message says what would tell it."""
