"""Exceptions of task pools."""

__all__ = ["CandidateError", "MissingExtra", "PoolError", "UnknownName", "UnknownTask"]


class PoolError(ValueError):
    """A pool, a panel, or a file or folder of tasks cannot be used as requested; the message gives the reason and the
    remedy."""


class CandidateError(PoolError):
    """The slot already has a candidate, has none, or has another one than the caller decided on."""


class UnknownName(LookupError):
    """No domain, view, preset, tracker or page has this name; the message lists those there are."""

    # LookupError is an Exception whose str() is the plain message (KeyError would quote it).


class UnknownTask(LookupError):
    """The pool, or the slot, has no task of this id."""


class MissingExtra(ImportError):
    """An optional dependency is missing; the message names the extra to install."""
