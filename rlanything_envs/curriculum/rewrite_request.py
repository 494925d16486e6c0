"""Rewrite requests of a curriculum: the rewriter reads the critique, and no failure of either reaches an episode."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rlanything_envs.curriculum.acceptance import Tally
from rlanything_envs.curriculum.critique import Critique
from rlanything_envs.curriculum.rewriter import Request, Rewriter, Rewriting
from rlanything_envs.errors import CurriculumError
from rlanything_envs.llm.errors import RunMustStop
from rlanything_task_pools import Rejection, Task
from rlanything_task_pools.task import Direction

logger = logging.getLogger(__name__)

CritiqueSource = str | Critique | Callable[[], str | Critique]
"""Summary of episodes for the rewriter, or a function that makes it, which is called only if a rewrite is requested."""


@dataclass(frozen=True, slots=True)
class RewriteRequest:
    """A requested rewrite and its critique."""

    slot: int
    task: Task
    direction: Direction
    tally: Tally
    tried: frozenset[str]
    critique: CritiqueSource
    seed: tuple[int, int, int]

    def run(self, rewriter: Rewriter) -> Rewriting:
        """Run the rewriter; an exception of it becomes a rejection, since no episode may fail by it.

        Raises:
            RunMustStop: The rewriter's service is lost, and the run is configured to end then.
        """
        failures: list[Rejection] = []
        critique = Critique("", "")
        try:
            critique = self._critique()
        except RunMustStop:
            raise
        except Exception as error:
            failures.append(self._failure("critique-error", error))
        try:
            request = Request(self.task, self.direction, self.tally.accuracy, self.tried, critique.text, self.tally.n)
            result = rewriter.rewrite(request, np.random.default_rng(self.seed))
            if not isinstance(result, Rewriting):
                raise TypeError(f"rewrite() returned {type(result).__name__}, not Rewriting")
        except RunMustStop:
            raise
        except Exception as error:
            return Rewriting(None, (*failures, self._failure("rewriter-error", error)))
        return Rewriting(_written_by(result.candidate, critique), (*failures, *result.rejections))

    def _critique(self) -> Critique:
        """The critique, which must be about the group that triggered the rewrite.

        Raises:
            CurriculumError: It counts other attempts.
        """
        made = self.critique() if callable(self.critique) else self.critique
        critique = Critique(made, "") if isinstance(made, str) else made
        counted = (critique.solved, critique.attempts)
        if None not in counted and counted != (self.tally.successes, self.tally.n):
            raise CurriculumError(
                f"the critique counts {critique.solved} of {critique.attempts} solved attempts, and the group that "
                f"triggered the rewrite {self.tally.successes} of {self.tally.n}: pass the critique of that group"
            )
        return critique

    def _failure(self, reason: str, error: Exception) -> Rejection:
        logger.warning("%s on task %s", reason, self.task.id, exc_info=True)
        return Rejection(reason=reason, detail=f"{type(error).__name__}: {error}"[:500])


def _written_by(candidate: Task | None, critique: Critique) -> Task | None:
    """The candidate with the author of the critique in its record."""
    if candidate is None or candidate.rewrite is None or not critique.text:
        return candidate
    return candidate.model_copy(update={"rewrite": candidate.rewrite.model_copy(update={"critic": critique.author})})
