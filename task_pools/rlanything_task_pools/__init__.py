"""Tasks as data: typed, hashed, with lineage, and the pool that keeps them."""

from rlanything_task_pools.domain import Domain, UnknownDomain, domain_names, get_domain
from rlanything_task_pools.pool import (
    CandidateError,
    EmptyPool,
    PoolError,
    PoolExists,
    PoolMissing,
    PoolVersionError,
    TaskPool,
    UnknownSlot,
    UnknownTask,
)
from rlanything_task_pools.records import Event, OutcomeRecord
from rlanything_task_pools.task import Outcome, Rejection, Rewrite, Task, TaskFormatError

__all__ = [
    "CandidateError",
    "Domain",
    "EmptyPool",
    "Event",
    "Outcome",
    "OutcomeRecord",
    "PoolError",
    "PoolExists",
    "PoolMissing",
    "PoolVersionError",
    "Rejection",
    "Rewrite",
    "Task",
    "TaskFormatError",
    "TaskPool",
    "UnknownDomain",
    "UnknownSlot",
    "UnknownTask",
    "domain_names",
    "get_domain",
]
