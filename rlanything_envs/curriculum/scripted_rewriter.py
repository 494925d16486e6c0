"""The scripted rewriter: the domain's own proposals, without a language model."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rlanything_envs.curriculum.critique import blamed_actions
from rlanything_envs.curriculum.rewriter import Request, Rewriting
from rlanything_envs.errors import CurriculumError
from rlanything_task_pools import Rejection, Task, get_domain

__all__ = ["ScriptedRewriter"]


class ScriptedRewriter:
    """Returns the first of the domain's own proposals that validates, preferably one that was not tried before.

    The kinds of actions that the critique blames go to the domain, which then prefers to ease what they are for.

    Args:
        max_proposals: most proposals to validate.
        operators: the domain's rewrite operators to enable; the domain's defaults if None.
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
        blamed = blamed_actions(request.critique)
        for proposal in domain.propose(request.task, request.direction, rng, blamed)[: self.max_proposals]:
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
