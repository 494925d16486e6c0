"""What stops a plan."""

from __future__ import annotations

__all__ = ["UnknownSize"]


class UnknownSize(ValueError):
    """The size of a model is not known without its weights; the message says what would tell it."""
