"""Rewrite requests of a curriculum, and the threads that run them in the background of the rollouts.

The rewriter reads the critique, and no failure of either reaches an episode.
"""

import logging
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from rlanything_envs.curriculum.acceptance import Tally
from rlanything_envs.curriculum.critique import Critique
from rlanything_envs.curriculum.rewriter import Request, Rewriter, Rewriting
from rlanything_envs.errors import SettingError
from rlanything_envs.llm.errors import RunMustStop
from rlanything_task_pools import Rejection, Task
from rlanything_task_pools.task import Direction

logger = logging.getLogger(__name__)

T = TypeVar("T")

THREADS = 8
"""Concurrent calls in one process. They mostly wait for a text generator, which limits its own concurrency."""

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
            SettingError: It counts other attempts.
        """
        made = self.critique() if callable(self.critique) else self.critique
        critique = Critique(made, "") if isinstance(made, str) else made
        counted = (critique.solved, critique.attempts)
        if None not in counted and counted != (self.tally.successes, self.tally.n):
            raise SettingError(
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


class Background:
    """Runs calls on daemon threads, so that a hanging call cannot keep the process alive.

    (The interpreter waits for threads of `concurrent.futures` at exit.) All curricula of a process share these threads;
    a forked child starts without any.
    """

    def __init__(self) -> None:
        self._renew()
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.Lock()
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._started = False

    def start(self) -> None:
        """Start the threads unless they run; called ahead of time, since starting one can take milliseconds."""
        with self._lock:
            for number in range(0 if self._started else THREADS):
                name = f"rlanything-background-{number}"
                threading.Thread(target=_work, args=(self._calls,), name=name, daemon=True).start()
            self._started = True

    def submit(self, call: Callable[[], T]) -> "Future[T]":
        """Queue a call; its future can be cancelled until the call starts."""
        future: Future[T] = Future()

        def run() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    result = call()
                except BaseException as error:  # raised by `Future.result`
                    future.set_exception(error)
                else:
                    future.set_result(result)

        self.start()
        self._calls.put(run)
        return future


def _work(calls: "queue.SimpleQueue[Callable[[], None]]") -> None:
    while True:
        calls.get()()


BACKGROUND = Background()
"""The threads of this process."""
