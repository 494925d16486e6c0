"""Schedulers, which choose the slots of the next groups.

A scheduler chooses slots; in each the curriculum plays the trial where a candidate waits, and the active task
otherwise. The random generator is passed in and the state comes from the pool's logs, so a schedule can be repeated and
resumed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rlanything_envs.curriculum.acceptance import Tally
from rlanything_envs.errors import CurriculumError


@dataclass(frozen=True, slots=True)
class Standings:
    """Input of a scheduler."""

    slots: Sequence[int]
    """All slots, ascending."""
    pending: Sequence[int]
    """Those with a candidate on trial, the oldest candidate first."""
    recent: Callable[[int], Tally]
    """Counts of the last episodes of a slot's active task (at most `ledger.WINDOW`)."""


class Scheduler(Protocol):
    """Chooses slots."""

    @property
    def name(self) -> str:
        """The name in configurations."""
        ...

    def choose(self, n: int, standings: Standings, rng: np.random.Generator) -> list[int]:
        """The slots of the next `n` groups; a slot may come more than once."""
        ...


class PublishedScheduler:
    """Waiting candidates, oldest first, then active tasks of the other slots, drawn uniformly.

    As in the released code, except that candidates count towards the batch here, so that its size stays `n`. Slots
    repeat only where `n` exceeds their number.
    """

    name = "published"

    def choose(self, n: int, standings: Standings, rng: np.random.Generator) -> list[int]:
        """Pending slots, then others without replacement."""
        chosen = list(standings.pending[:n])
        rest = _without(standings.slots, chosen) or list(standings.slots)
        while len(chosen) < n:
            chosen += [rest[index] for index in rng.permutation(len(rest))[: n - len(chosen)]]
            rest = list(standings.slots)
        return chosen


class UniformScheduler:
    """All slots with equal probability; slots repeat only where `n` exceeds their number."""

    name = "uniform"

    def choose(self, n: int, standings: Standings, rng: np.random.Generator) -> list[int]:
        """Slots without replacement."""
        chosen: list[int] = []
        while len(chosen) < n:
            order = rng.permutation(len(standings.slots))
            chosen += [standings.slots[index] for index in order[: n - len(chosen)]]
        return chosen


class LearnabilityScheduler:
    """Waiting candidates, oldest first, then slots drawn in proportion to their learnability p(1 - p).

    p is the success rate of the active task: p(1 - p) is the variance of an outcome, and with it the expected size
    of a group's advantages. Its expectation under the Beta posterior of the recent episodes is used, so that a task
    without episodes (1/6) comes before one that is always solved, and no slot has probability 0.

    Args:
        prior: pseudo-episodes of each kind; 1 is the uniform prior.

    Raises:
        CurriculumError: `prior` is not positive.
    """

    name = "learnability"

    def __init__(self, prior: float = 1.0) -> None:
        if not prior > 0:
            raise CurriculumError(f"LearnabilityScheduler: prior must be positive, got {prior}")
        self.prior = prior

    def choose(self, n: int, standings: Standings, rng: np.random.Generator) -> list[int]:
        """Pending slots, then others without replacement, weighted."""
        chosen = list(standings.pending[:n])
        rest = _without(standings.slots, chosen) or list(standings.slots)
        while len(chosen) < n:
            weights = np.array([self.learnability(standings.recent(slot)) for slot in rest])
            size = min(n - len(chosen), len(rest))
            drawn = rng.choice(len(rest), size, replace=False, p=weights / weights.sum())
            chosen += [rest[index] for index in drawn]
            rest = list(standings.slots)
        return chosen

    def learnability(self, tally: Tally) -> float:
        """E[p(1 - p)] under the posterior Beta(a, b): ab / ((a + b)(a + b + 1))."""
        solved, failed = tally.successes + self.prior, tally.n - tally.successes + self.prior
        return solved * failed / ((solved + failed) * (solved + failed + 1))


def _without(slots: Sequence[int], chosen: Sequence[int]) -> list[int]:
    excluded = set(chosen)
    return [slot for slot in slots if slot not in excluded]


_SCHEDULERS: dict[str, type[PublishedScheduler] | type[UniformScheduler] | type[LearnabilityScheduler]] = {
    scheduler.name: scheduler for scheduler in (PublishedScheduler, UniformScheduler, LearnabilityScheduler)
}


def get_scheduler(scheduler: str | Scheduler) -> Scheduler:
    """The scheduler of a name; a scheduler object is returned as it is.

    Raises:
        CurriculumError: there is no scheduler of this name; the message lists them.
    """
    if not isinstance(scheduler, str):
        return scheduler
    if scheduler not in _SCHEDULERS:
        raise CurriculumError(f"unknown scheduler {scheduler!r}; choose from {', '.join(sorted(_SCHEDULERS))}")
    return _SCHEDULERS[scheduler]()
