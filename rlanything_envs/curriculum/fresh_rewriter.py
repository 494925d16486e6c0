"""New tasks in place of rewrites: the unguided control of adaptation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rlanything_envs.curriculum.rewriter import Request, Rewriting
from rlanything_envs.sources import GeneratedTasks, TaskSource
from rlanything_task_pools import Domain, Rejection, get_domain

__all__ = ["FreshRewriter"]

DRAWS = 16
"""Most draws for a task other than the one to be replaced; few are needed where the source is not tiny."""


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
                return Rewriting(task.model_copy(update={"parent": None, "root": None, "rewrite": None}))
        rejection = Rejection(reason="no-proposal", detail=f"{DRAWS} draws gave the task that is to be replaced")
        return Rewriting(None, (rejection,))
