"""Rewrites of tasks in the background of the updates, for rewriters that mostly wait for a service."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from contextlib import contextmanager

import numpy as np

from rlanything_envs.curriculum import Request, Rewriter, Rewriting
from rlanything_envs.curriculum.background import BACKGROUND
from rlanything_envs.llm.errors import RunMustStop

__all__ = ["Abandoned", "BackgroundRewriter"]

LAST_WRITE_S = 1.0
"""Seconds that an abandoned step gets to finish a write; a step that takes longer waits for the service."""


class Abandoned(RunMustStop):
    """The iteration that requested the rewrite has failed."""


class BackgroundRewriter:
    """A `Rewriter` that runs steps in a thread while its owner works, and abandons them if the owner fails.

    An abandoned step may wait for its service for minutes, and its result must not reach the pool, which may have been
    restored by then. So steps rewrite tasks through this object, which raises `Abandoned` instead of returning.

    Args:
        rewriter: Queries the service.
    """

    def __init__(self, rewriter: Rewriter) -> None:
        self._rewriter = rewriter
        self._abandoned = threading.Event()

    @property
    def name(self) -> str:
        """Name of the rewriter."""
        return self._rewriter.name

    def rewrite(self, request: Request, rng: np.random.Generator) -> Rewriting:
        """See `Rewriter.rewrite`.

        Raises:
            Abandoned: The owner has failed.
        """
        result = self._rewriter.rewrite(request, rng)
        if self._abandoned.is_set():
            raise Abandoned("the iteration has ended")
        return result

    @contextmanager
    def running(self, steps: Sequence[Callable[[], object]]) -> Iterator[Callable[[], None]]:
        """Run the steps, one after the other, while the block runs.

        Yields:
            A function that waits until all steps are done, and raises the error of a step that failed.
        """
        begun = BACKGROUND.submit(lambda: self._run(steps))
        try:
            yield begun.result
        except BaseException:
            self._abandoned.set()
            wait([begun], LAST_WRITE_S)
            raise

    def _run(self, steps: Sequence[Callable[[], object]]) -> None:
        for step in steps:
            if self._abandoned.is_set():
                return
            step()
