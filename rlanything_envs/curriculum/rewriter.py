"""Rewriters: where candidates come from.

A rewriter proposes; the domain disposes: whatever a rewriter returns has passed `Domain.validate`, so it is
well formed, proved solvable and not solved from the start, and whatever failed there comes back with its
reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rlanything_task_pools import Rejection, Task
from rlanything_task_pools.task import Direction


@dataclass(frozen=True, slots=True)
class Request:
    """What a rewriter gets to see."""

    task: Task
    direction: Direction
    accuracy: float
    """The share of won episodes that called for the rewrite."""
    tried: frozenset[str] = frozenset()
    """Ids of the rewrites of this very task that were turned down already: worth a second try only for want
    of another."""
    critique: str = ""
    """Summary of what went wrong or was too easy; a scripted rewriter has no use for it."""


@dataclass(frozen=True, slots=True)
class Rewriting:
    """What came of a request: a proved candidate or none, and the proposals turned down before it."""

    candidate: Task | None
    rejections: tuple[Rejection, ...] = ()


class Rewriter(Protocol):
    """Makes a harder or an easier task of a task."""

    @property
    def name(self) -> str:
        """The name in configurations, and the author of its rewrites."""
        ...

    def rewrite(self, request: Request, rng: np.random.Generator) -> Rewriting:
        """Answer one request. All chance comes from `rng`, so that a run can be repeated and resumed."""
        ...
