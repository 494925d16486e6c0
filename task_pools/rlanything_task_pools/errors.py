"""Exceptions of task pools."""

__all__ = [
    "CandidateError",
    "EmptyPool",
    "ExportError",
    "MissingExtra",
    "PoolDamaged",
    "PoolError",
    "PoolExists",
    "PoolMissing",
    "PoolVersionError",
    "UnknownSlot",
    "UnknownTask",
]


class PoolError(ValueError):
    """An operation on a pool failed; the message gives the reason and the remedy."""


class PoolExists(PoolError):
    """A new pool was to be made where one exists."""


class PoolMissing(PoolError):
    """There is no pool at the path."""


class PoolDamaged(PoolError):
    """The file holds data that no pool would have written; the message names it and the command for a full check."""


class EmptyPool(PoolError):
    """A pool was to be made without tasks."""


class PoolVersionError(PoolError):
    """The file is not a pool, or has an unsupported schema version."""


class CandidateError(PoolError):
    """The slot already has a candidate, has none, or has another one than the caller decided on."""


class ExportError(PoolError):
    """The data to import is not an exported pool; the message names the table, the row and the field."""


class UnknownSlot(LookupError):
    """The pool has no slot of this number."""


class UnknownTask(LookupError):
    """The pool, or the slot, has no task of this id."""


class MissingExtra(ImportError):
    """An optional dependency is missing; the message names the extra to install."""
