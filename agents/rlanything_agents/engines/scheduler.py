"""GPU scheduler: the engine that holds memory in each phase of an iteration."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import torch

__all__ = ["GPUScheduler", "Sleeper"]


@runtime_checkable
class Sleeper(Protocol):
    """Engine that can free memory for a while."""

    def sleep(self) -> None:
        """Free the memory; an engine that is asleep does nothing."""
        ...

    def wake(self) -> None:
        """Take the memory again; an engine that is awake does nothing."""
        ...


class GPUScheduler:
    """Scheduler that keeps one engine awake at a time: the engine of the phase.

    An iteration has the phases rollouts, judging, rewriting and updates. At the beginning of a phase all other engines
    go to sleep, what this process has freed goes back to the system, and then the engine of the phase wakes. In a
    phase without an engine all sleep, and the trainers have the memory. An engine of two successive phases stays awake.

    Args:
        workers: Generator of each phase, or None. A generator without `Sleeper` (a hosted service) is neither put to
            sleep nor woken. One engine may work in several phases.

    Examples:
        >>> class Engine:
        ...     def __init__(self, name): self.name = name
        ...     def sleep(self): print(self.name, "sleeps")
        ...     def wake(self): print(self.name, "wakes")
        >>> phases = GPUScheduler({"rollouts": Engine("policy"), "judge": Engine("judge"), "update": None})
        >>> phases.enter("judge")
        policy sleeps
        judge wakes
        >>> phases.enter("update")
        policy sleeps
        judge sleeps
    """

    def __init__(self, workers: Mapping[str, Any]) -> None:
        self._workers = dict(workers)
        self._distinct = list({id(worker): worker for worker in workers.values()}.values())
        self.now: str | None = None
        """Current phase; None before the first one and after a failure."""

    def enter(self, phase: str) -> None:
        """Begin a phase.

        If an engine fails to sleep or to wake, the failure is raised and no phase is current; a later call tries
        everything again.

        Raises:
            ValueError: There is no such phase.
            RunMustStop: An engine failed.
        """
        if phase not in self._workers:
            raise ValueError(f"there is no phase {phase!r}: {', '.join(self._workers)}")
        before, self.now = self.now, None
        worker = self._workers[phase]
        # All others sleep before one wakes: two engines would not fit.
        for other in self._distinct:
            if other is not worker and isinstance(other, Sleeper):
                other.sleep()
        if phase != before:
            _return_freed()
        if isinstance(worker, Sleeper):
            worker.wake()
        self.now = phase

    def close(self) -> None:
        """Close every generator that can be closed, even if one of them fails; then raise the first failure."""
        self.now = None
        failures = []
        for worker in self._distinct:
            try:
                if hasattr(worker, "close"):
                    worker.close()
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]


def _return_freed() -> None:
    """Give the system the freed memory between used blocks: glibc keeps it, and batches of all lengths leave much.
    PyTorch keeps that of a GPU, where another process, such as vLLM's, cannot use it."""
    torch.cuda.empty_cache()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)
