"""Rewriters, which make candidates: their interface, the domain's own proposals, and new tasks in place of rewrites.

Every candidate that a rewriter returns has passed `Domain.validate`: it is well formed, proved solvable and not solved
from the start. Proposals that failed there are returned with their reasons. A candidate without a parent is no rewrite
but a new task; it needs no trial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rlanything_envs.curriculum.critique import blamed_actions
from rlanything_envs.errors import SettingError
from rlanything_envs.sources import GeneratedTasks, TaskSource
from rlanything_task_pools import Domain, Rejection, Task, get_domain
from rlanything_task_pools.task import Direction

__all__ = ["FreshRewriter", "Request", "Rewriter", "Rewriting", "ScriptedRewriter", "get_rewriter"]

_MOST_PROPOSALS = 16
"""Most proposals that the scripted rewriter validates for one request."""
DRAWS = 16
"""Maximum draws for a fresh task other than the one to be replaced; few are needed where the source is not tiny."""


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


class ScriptedRewriter:
    """Returns the first of the domain's own proposals that validates, preferably one that was not tried before.

    The kinds of actions that the critique blames go to the domain, which then prefers to ease what they are for.

    Args:
        operators: the domain's rewrite operators to enable; the domain's defaults if None.
    """

    name = "scripted"

    def __init__(self, operators: Iterable[str] | None = None) -> None:
        self.operators = None if operators is None else tuple(operators)

    def rewrite(self, request: Request, rng: np.random.Generator) -> Rewriting:
        """Propose and validate, best first."""
        domain = get_domain(request.task.domain)
        if self.operators is not None:
            domain = domain.with_operators(self.operators)
        rejections: list[Rejection] = []
        again: Task | None = None
        blamed = blamed_actions(request.critique)
        for proposal in domain.propose(request.task, request.direction, rng, blamed)[:_MOST_PROPOSALS]:
            result = domain.validate(
                request.task, proposal, direction=request.direction, author=self.name, critique=request.critique
            )
            if isinstance(result, Rejection):
                rejections.append(result)
            elif result.id in request.tried:
                again = again or result
            else:
                return Rewriting(result, tuple(rejections))
        if again is None and not rejections:
            rejections.append(Rejection(reason="no-proposal", detail=f"nothing {request.direction} to propose"))
        return Rewriting(again, tuple(rejections))


def _generated(domain: Domain) -> TaskSource:
    return GeneratedTasks(domain, "train")


class FreshRewriter:
    """Draws another task from the source of the pool's tasks, whatever the old task, its direction and its critique.

    Its tasks have no parent. The curriculum lets them into the slot at once, without a trial, as the slot's new root.

    Args:
        source_of: function from a domain to the source of its tasks; by default its generator, split ``train``,
            without knobs. Called once for each domain.
    """

    name = "fresh"

    def __init__(self, source_of: Callable[[Domain], TaskSource] = _generated) -> None:
        self._source_of = source_of
        self._sources: dict[str, TaskSource] = {}

    def rewrite(self, request: Request, rng: np.random.Generator) -> Rewriting:
        """Draw until the task is another one than that of the request."""
        name = request.task.domain
        source = self._sources.get(name) or self._sources.setdefault(name, self._source_of(get_domain(name)))
        for _ in range(DRAWS):
            task = source.draw(rng)
            if task.id != request.task.id:
                return Rewriting(task.as_root())
        rejection = Rejection(reason="no-proposal", detail=f"{DRAWS} draws gave the task that is to be replaced")
        return Rewriting(None, (rejection,))


def get_rewriter(rewriter: str | Rewriter, *, operators: Iterable[str] | None = None) -> Rewriter:
    """The rewriter of a name; a rewriter object is returned as it is.

    Args:
        rewriter: ``"scripted"``, ``"fresh"``, or a rewriter.
        operators: the domain's rewrite operators to enable, except for ``"fresh"``; the domain's defaults if None.

    Raises:
        SettingError: there is no rewriter of this name.
    """
    if not isinstance(rewriter, str):
        return rewriter
    if rewriter == "scripted":
        return ScriptedRewriter(operators=operators)
    if rewriter == "fresh":
        return FreshRewriter()
    raise SettingError(f"unknown rewriter {rewriter!r}; choose 'scripted' or 'fresh', or pass LLMRewriter(generator)")
