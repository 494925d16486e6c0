"""Tasks as data: typed, hashed, with lineage; the pool that stores them; and generators of three domains.

Pools, panels and import and export are independent of the domain; `alfworld`, `coding` and `osworld` generate, import,
rewrite and prove tasks. Checking of answers is in `rlanything_verifiers`, environments and the curriculum are in
`rlanything_envs`.
"""

from rlanything_task_pools.domain import Domain, domain_names, get_domain
from rlanything_task_pools.errors import CandidateError, MissingExtra, PoolError, UnknownName, UnknownTask
from rlanything_task_pools.knobs import KnobError
from rlanything_task_pools.pool import TaskPool
from rlanything_task_pools.records import FRESH, Event, OutcomeRecord, Version
from rlanything_task_pools.task import Outcome, Rejection, Rewrite, Task, TaskFormatError

__all__ = [
    "FRESH",
    "CandidateError",
    "Domain",
    "Event",
    "KnobError",
    "MissingExtra",
    "Outcome",
    "OutcomeRecord",
    "PoolError",
    "Rejection",
    "Rewrite",
    "Task",
    "TaskFormatError",
    "TaskPool",
    "UnknownName",
    "UnknownTask",
    "Version",
    "domain_names",
    "get_domain",
]
