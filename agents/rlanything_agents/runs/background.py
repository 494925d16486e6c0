"""Work on the tasks beside the updates, where it mostly waits for a service."""

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
"""Seconds that a step has for its end when it is let go of: all that takes longer is waiting for the service."""


class Abandoned(RunMustStop):
    """Nobody waits for this rewrite any more."""


class BackgroundRewriter:
    """Does steps in a thread while its owner does something else, and lets go of them if that fails.

    A step that waits for its service would then wait on alone, for minutes, and what comes of it must not reach the
    pool, which may have been set back meanwhile. So the steps rewrite tasks through this object, as a `Rewriter`.

    Args:
        rewriter: Asks the service.
    """

    def __init__(self, rewriter: Rewriter) -> None:
        self._rewriter = rewriter
        self._left = threading.Event()

    @property
    def name(self) -> str:
        """The rewriter's."""
        return self._rewriter.name

    def rewrite(self, request: Request, rng: np.random.Generator) -> Rewriting:
        """As the rewriter does.

        Raises:
            Abandoned: The owner has failed meanwhile.
        """
        result = self._rewriter.rewrite(request, rng)
        if self._left.is_set():
            raise Abandoned("the iteration has ended")
        return result

    @contextmanager
    def running(self, steps: Sequence[Callable[[], object]]) -> Iterator[Callable[[], None]]:
        """Do the steps, one after the other, while the block runs.

        Yields:
            What waits until they are done, and raises what one of them raised.
        """
        begun = BACKGROUND.submit(lambda: self._do(steps))
        try:
            yield begun.result
        except BaseException:
            self._left.set()
            wait([begun], LAST_WRITE_S)
            raise

    def _do(self, steps: Sequence[Callable[[], object]]) -> None:
        for step in steps:
            if self._left.is_set():
                return
            step()
