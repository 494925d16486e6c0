"""Work in the background of the updates: rewrites of tasks by a service, and rollouts by other processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

from rlanything_envs.curriculum import Request, Rewriter, Rewriting
from rlanything_envs.curriculum.rewrite_request import BACKGROUND
from rlanything_envs.llm.errors import RunMustStop

__all__ = ["BackgroundRewriter", "in_background"]

T = TypeVar("T")

LAST_WRITE_S = 1.0
"""Seconds that an abandoned call gets to finish a write; one that takes longer waits for a service."""


@contextmanager
def in_background(call: Callable[[], T], abandoned: threading.Event) -> Iterator[Callable[[], T]]:
    """Run a call in a thread while the block runs.

    Args:
        call: Work that ends soon after ``abandoned`` is set.
        abandoned: Set where the block fails.

    Yields:
        A function that waits until the call is done, and returns its result or raises its error.
    """
    begun = BACKGROUND.submit(call)
    try:
        yield begun.result
    except BaseException:
        abandoned.set()
        wait([begun], LAST_WRITE_S)
        raise


class BackgroundRewriter:
    """A `Rewriter` that runs steps in a thread while its owner works, and abandons them if the owner fails.

    An abandoned step may wait for its service for minutes, and its result must not reach the pool, which may have been
    restored by then. So steps rewrite tasks through this object, which raises `RunMustStop` instead of returning.

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
            RunMustStop: The owner has failed.
        """
        result = self._rewriter.rewrite(request, rng)
        if self._abandoned.is_set():
            raise RunMustStop("the iteration has ended")
        return result

    @contextmanager
    def running(self, steps: Sequence[Callable[[], object]]) -> Iterator[Callable[[], None]]:
        """Run the steps, one after the other, while the block runs.

        Yields:
            A function that waits until all steps are done, and raises the error of a step that failed.
        """
        with in_background(lambda: self._run(steps), self._abandoned) as result:
            yield result

    def _run(self, steps: Sequence[Callable[[], object]]) -> None:
        for step in steps:
            if self._abandoned.is_set():
                return
            step()
