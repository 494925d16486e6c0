"""GPU scheduler: the engine that holds GPU memory in each phase of an iteration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

__all__ = ["GPUScheduler", "Sleeper"]


@runtime_checkable
class Sleeper(Protocol):
    """Engine that can free its accelerator memory for a while."""

    def sleep(self) -> None:
        """Free the memory; an engine that is asleep does nothing."""
        ...

    def wake(self) -> None:
        """Take the memory again; an engine that is awake does nothing."""
        ...


class GPUScheduler:
    """Scheduler that keeps one engine awake at a time: the engine of the phase.

    An iteration has the phases rollouts, judging, rewriting and updates. At the beginning of a phase all other engines
    go to sleep, and then the engine of the phase wakes. In a phase without an engine all sleep, and the trainers have
    the memory. Two successive phases of the same engine cost nothing: it stays awake.

    Args:
        workers: Generator of each phase, or None. A generator without `Sleeper` (a module that is shared with its
            trainer, a hosted service) is neither put to sleep nor woken. One engine may work in several phases.

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
        self.now = None
        worker = self._workers[phase]
        # All others sleep before one wakes: two engines would not fit.
        for other in self._sleepers():
            if other is not worker:
                other.sleep()
        if isinstance(worker, Sleeper):
            worker.wake()
        self.now = phase

    def close(self) -> None:
        """Close every generator that can be closed, even if one of them fails; then raise the first failure."""
        self.now = None
        failures = []
        for worker in {id(worker): worker for worker in self._workers.values()}.values():
            try:
                if hasattr(worker, "close"):
                    worker.close()
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def _sleepers(self) -> list[Sleeper]:
        distinct = {id(worker): worker for worker in self._workers.values()}
        return [worker for worker in distinct.values() if isinstance(worker, Sleeper)]
