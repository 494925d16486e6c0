"""Errors of plans."""

from __future__ import annotations

__all__ = ["UnknownSize"]


class UnknownSize(ValueError):
    """The size of a model is unknown without its weights; the message says how to provide it."""
