"""The interface of rewriters, which make candidates.

Every candidate that a rewriter returns has passed `Domain.validate`: it is well formed, proved solvable and not solved
from the start. Proposals that failed there are returned with their reasons. A candidate without a parent is no rewrite
but a new task; it needs no trial.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rlanything_task_pools import Rejection, Task
from rlanything_task_pools.task import Direction


@dataclass(frozen=True, slots=True)
class Request:
    """Input of a rewriter."""

    task: Task
    direction: Direction
    accuracy: float
    """Success rate of the group that triggered the rewrite."""
    tried: frozenset[str] = frozenset()
    """Ids of rewrites of this task that were already rejected; proposed again only if no other is found."""
    critique: str = ""
    """Summary of the episodes; the scripted rewriter reads which kinds of actions it blames."""
    attempts: int = 0
    """Number of episodes of that group; 0 where it is not known."""

    @property
    def solved(self) -> int:
        """Number of episodes of the group that succeeded."""
        return round(self.accuracy * self.attempts)


@dataclass(frozen=True, slots=True)
class Rewriting:
    """Result of a request: a proved candidate or None, and the proposals rejected before it."""

    candidate: Task | None
    rejections: tuple[Rejection, ...] = ()


class Rewriter(Protocol):
    """Rewrites a task into a harder or an easier one."""

    @property
    def name(self) -> str:
        """The name in configurations, and the author of its rewrites."""
        ...

    def rewrite(self, request: Request, rng: np.random.Generator) -> Rewriting:
        """Answer one request. `rng` is the only source of randomness, so that a run can be repeated and resumed."""
        ...
