"""What can go wrong with a pool, by name."""

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
    """A pool cannot do what was asked; the message says why and what to do."""


class PoolExists(PoolError):
    """A new pool was asked for where one is."""


class PoolMissing(PoolError):
    """There is no pool at the path."""


class PoolDamaged(PoolError):
    """The file holds what no pool would have written; the message says what, and how to learn more."""


class EmptyPool(PoolError):
    """A pool of no tasks was asked for."""


class PoolVersionError(PoolError):
    """The file is not a pool, or one of a schema version that cannot be read."""


class CandidateError(PoolError):
    """The slot has a candidate already, has none, or has another one than the caller decided on."""


class ExportError(PoolError):
    """What is to be imported is not an exported pool; the message names the table, the row and the field."""


class UnknownSlot(LookupError):
    """The pool has no slot of this number."""


class UnknownTask(LookupError):
    """The pool, or the slot, has no task of this id."""


class MissingExtra(ImportError):
    """An optional part of the installation is needed; the message names the extra to install."""
