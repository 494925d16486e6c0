"""Rewriters: where candidates come from.

A rewriter proposes; the domain disposes: whatever a rewriter returns has passed `Domain.validate`, so it is
well formed, proved solvable and not solved from the start, and whatever failed there comes back with its
reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from rlanything_envs.errors import CurriculumError
from rlanything_task_pools import Rejection, Task, get_domain
from rlanything_task_pools.task import Direction

if TYPE_CHECKING:
    from rlanything_envs.llm.generator import TextGenerator


class UnknownRewriter(CurriculumError):
    """There is no rewriter of this name."""


class GeneratorNeeded(CurriculumError):
    """A rewriter that asks a language model was named without a source of text."""


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


class ScriptedRewriter:
    """Takes the first of the domain's own proposals that proves out, rather one that was not tried before.

    Args:
        max_proposals: how many proposals to validate before giving up.
        operators: the domain's rewrite operators to enable; those of the domain's own choice if None.
    """

    name = "scripted"

    def __init__(self, max_proposals: int = 16, operators: Iterable[str] | None = None) -> None:
        if max_proposals < 1:
            raise CurriculumError(f"ScriptedRewriter: max_proposals must be at least 1, got {max_proposals}")
        self.max_proposals = max_proposals
        self.operators = None if operators is None else tuple(operators)

    def rewrite(self, request: Request, rng: np.random.Generator) -> Rewriting:
        """Propose and validate, best first."""
        domain = get_domain(request.task.domain)
        if self.operators is not None:
            domain = domain.with_operators(self.operators)
        rejections: list[Rejection] = []
        again: Task | None = None
        for proposal in domain.propose(request.task, request.direction, rng)[: self.max_proposals]:
            result = domain.validate(
                request.task,
                proposal,
                direction=request.direction,
                author=self.name,
                critique=request.critique,
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


REWRITERS = ("scripted", "llm")
"""Names `get_rewriter` knows."""


def get_rewriter(
    rewriter: str | Rewriter,
    *,
    generator: TextGenerator | None = None,
    operators: Iterable[str] | None = None,
) -> Rewriter:
    """The rewriter of a name; a rewriter object is returned as it is.

    Args:
        rewriter: ``"scripted"``, ``"llm"``, or a rewriter.
        generator: the source of text of ``"llm"``.
        operators: the domain's rewrite operators to enable; those of the domain's own choice if None.

    Raises:
        UnknownRewriter: there is no rewriter of this name; the message lists them.
        GeneratorNeeded: ``"llm"`` without a generator.
    """
    if not isinstance(rewriter, str):
        return rewriter
    if rewriter == "scripted":
        return ScriptedRewriter(operators=operators)
    if rewriter == "llm":
        if generator is None:
            raise GeneratorNeeded(
                "the rewriter 'llm' needs a source of text: pass LLMRewriter(generator), or choose 'scripted'"
            )
        from rlanything_envs.curriculum.llm_rewriter import LLMRewriter

        return LLMRewriter(generator, operators=operators)
    raise UnknownRewriter(f"unknown rewriter {rewriter!r}; choose from {', '.join(sorted(REWRITERS))}")
