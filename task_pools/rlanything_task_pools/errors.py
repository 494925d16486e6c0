"""Exceptions of task pools."""

__all__ = ["CandidateError", "MissingExtra", "PoolError", "UnknownTask"]


class PoolError(ValueError):
    """An operation on a pool failed; the message gives the reason and the remedy."""


class CandidateError(PoolError):
    """The slot already has a candidate, has none, or has another one than the caller decided on."""


class UnknownTask(LookupError):
    """The pool, or the slot, has no task of this id."""


class MissingExtra(ImportError):
    """An optional dependency is missing; the message names the extra to install."""
