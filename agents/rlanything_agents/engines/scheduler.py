"""Several models on one set of GPUs: who holds memory in which phase of an iteration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

__all__ = ["GPUScheduler", "Sleeper"]


@runtime_checkable
class Sleeper(Protocol):
    """Something that can give its accelerator memory back for a while."""

    def sleep(self) -> None:
        """Give the memory back; nothing happens if that was done already."""
        ...

    def wake(self) -> None:
        """Take it again; nothing happens if it has it."""
        ...


class GPUScheduler:
    """Lets one engine be awake at a time: the one that works in the phase.

    An iteration goes through rollouts, judging, rewriting and updates. Whoever works in a phase is woken when it
    begins, after all others went to sleep; in a phase where nobody works all sleep, and the trainers have the memory.
    An engine that is needed again right away stays awake: two phases of the same engine in a row cost nothing.

    Args:
        workers: For each phase who generates in it, or None. What cannot sleep (a module that is shared with its
            trainer, a hosted service) is left alone. One engine may work in several phases.

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
        """The phase of the moment."""

    def enter(self, phase: str) -> None:
        """Begin a phase.

        If somebody cannot be put to sleep or woken, the failure is raised and no phase is entered; a later call tries
        everything again.

        Raises:
            ValueError: There is no such phase.
            RunMustStop: An engine failed.
        """
        if phase not in self._workers:
            raise ValueError(f"there is no phase {phase!r}: {', '.join(self._workers)}")
        self.now = None
        worker = self._workers[phase]
        # All sleep before one wakes: two would not fit.
        for other in self._sleepers():
            if other is not worker:
                other.sleep()
        if isinstance(worker, Sleeper):
            worker.wake()
        self.now = phase

    def close(self) -> None:
        """End every engine that can be closed, even if one of them fails."""
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
