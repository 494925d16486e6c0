"""Rewrite requests of a curriculum, and rewrites that lead back to an earlier task without a rewriter."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rlanything_envs.curriculum.acceptance import Tally
from rlanything_envs.curriculum.rewriter import Request, Rewriter, Rewriting
from rlanything_envs.llm.errors import RunMustStop
from rlanything_task_pools import Rejection, Task
from rlanything_task_pools.task import Direction, Rewrite

logger = logging.getLogger(__name__)

Critique = str | Callable[[], str]
"""Summary of episodes for the rewriter, or a function that makes it, which is called only if a rewrite is requested."""

AUTHOR = "curriculum"
"""Author of rewrites that lead back to an earlier task of the slot."""


@dataclass(frozen=True, slots=True)
class RewriteRequest:
    """A requested rewrite and its critique."""

    slot: int
    task: Task
    direction: Direction
    tally: Tally
    tried: frozenset[str]
    critique: Critique
    seed: tuple[int, int, int]

    def run(self, rewriter: Rewriter) -> Rewriting:
        """Run the rewriter; an exception of it becomes a rejection, since no episode may fail by it.

        Raises:
            RunMustStop: The rewriter's service is lost, and the run is configured to end then.
        """
        failures: list[Rejection] = []
        critique = ""
        try:
            critique = self.critique if isinstance(self.critique, str) else self.critique()
        except RunMustStop:
            raise
        except Exception as error:
            failures.append(self._failure("critique-error", error))
        try:
            request = Request(self.task, self.direction, self.tally.accuracy, self.tried, critique)
            result = rewriter.rewrite(request, np.random.default_rng(self.seed))
            if not isinstance(result, Rewriting):
                raise TypeError(f"rewrite() returned {type(result).__name__}, not Rewriting")
        except RunMustStop:
            raise
        except Exception as error:
            return Rewriting(None, (*failures, self._failure("rewriter-error", error)))
        return Rewriting(result.candidate, (*failures, *result.rejections))

    def _failure(self, reason: str, error: Exception) -> Rejection:
        logger.warning("%s on task %s", reason, self.task.id, exc_info=True)
        return Rejection(reason=reason, detail=f"{type(error).__name__}: {error}"[:500])


def again(task: Task, active: Task) -> Task:
    """An earlier task of the slot as a harder rewrite of its active one; the domain's own record is kept."""
    change = task.rewrite.change if task.rewrite is not None else {"root": task.id}
    rewrite = Rewrite(direction="harder", author=AUTHOR, change=change)
    return task.model_copy(update={"parent": active.id, "root": task.root or task.id, "rewrite": rewrite})
