"""Schedulers, which choose what the next groups play.

A scheduler chooses slots; in each the curriculum plays the trial where a candidate waits, and the active task
otherwise. It may also choose a task that a slot has or had active. The random generator is passed in and the state
comes from the pool's logs, so a schedule can be repeated and resumed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rlanything_envs.curriculum.acceptance import Tally
from rlanything_envs.errors import CurriculumError


@dataclass(frozen=True, slots=True)
class Played:
    """A task that a slot has or had active, and its last group."""

    slot: int
    task_id: str
    group: int
    """Number of its last group among all of the pool, from 1; 0 for a task that was never played."""
    last: Tally
    """Counts of that group."""


@dataclass(frozen=True, slots=True)
class Standings:
    """Input of a scheduler."""

    slots: Sequence[int]
    """All slots, ascending."""
    pending: Sequence[int]
    """Those with a candidate on trial, the oldest candidate first."""
    recent: Callable[[int], Tally]
    """Counts of the last episodes of a slot's active task (at most `ledger.WINDOW`)."""
    held: Callable[[], Sequence[Played]] = tuple
    """All tasks that these slots have or had active, slot by slot, the first use first."""
    groups: int = 0
    """Number of groups that the pool has seen."""


class Scheduler(Protocol):
    """Chooses slots, or tasks."""

    @property
    def name(self) -> str:
        """The name in configurations."""
        ...

    def choose(self, n: int, standings: Standings, rng: np.random.Generator) -> Sequence[int | Played]:
        """The slots, or tasks of `Standings.held`, of the next `n` groups; a slot may come more than once."""
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


class ReplayScheduler:
    """Waiting candidates, oldest first, then prioritised replay of all tasks accepted so far (PLR, arXiv 2010.03934).

    The tasks are those that a slot has or had active, its first one included. Each draw is one of those never played,
    uniformly, with the probability of their share; otherwise it replays a task with the probability

    (1 - staleness) P_S + staleness P_C.

    P_S is proportional to (1 / rank)^(1 / temperature), with the rank of the task by its score, the largest first. The
    score is the mean absolute advantage of its last group, 2 p (1 - p) with the success rate p. Equal scores share the
    mean of their ranks, so that their order decides nothing. P_C is proportional to the number of groups since that of
    the task. Tasks repeat in a batch only where `n` exceeds their number.

    Args:
        temperature: of the ranks; 0.1 in the paper.
        staleness: share of P_C; 0.1 in the paper.

    Raises:
        CurriculumError: `temperature` is not positive, or `staleness` not in [0, 1].
    """

    name = "replay"

    def __init__(self, temperature: float = 0.1, staleness: float = 0.1) -> None:
        if not temperature > 0 or not 0 <= staleness <= 1:
            raise CurriculumError(
                f"ReplayScheduler: need temperature > 0 and 0 <= staleness <= 1, got {temperature}, {staleness}"
            )
        self.temperature = temperature
        self.staleness = staleness

    def choose(self, n: int, standings: Standings, rng: np.random.Generator) -> list[int | Played]:
        """Pending slots, then tasks without replacement."""
        chosen: list[int | Played] = list(standings.pending[:n])
        held = list(standings.held()) if len(chosen) < n else []
        log_priority = self._log_priorities([task for task in held if task.group])
        left: list[Played] = []
        while len(chosen) < n:
            left = left or list(held)
            new = [place for place, task in enumerate(left) if not task.group]
            if new and rng.random() < len(new) / len(left):
                place = new[int(rng.integers(len(new)))]
            else:
                seen = [place for place, task in enumerate(left) if task.group]
                tasks = [left[place] for place in seen]
                mixed = self._mixed(np.array([log_priority[task] for task in tasks]), tasks, standings.groups)
                place = seen[int(rng.choice(len(seen), p=mixed))]
            chosen.append(left.pop(place))
        return chosen

    def probabilities(self, tasks: Sequence[Played], groups: int) -> NDArray[np.float64]:
        """Probability of each of some played tasks to be replayed next, after so many groups of the pool."""
        log_priority = self._log_priorities(tasks)
        return self._mixed(np.array([log_priority[task] for task in tasks]), tasks, groups)

    def _mixed(self, log_priority: NDArray[np.float64], tasks: Sequence[Played], groups: int) -> NDArray[np.float64]:
        priority = np.exp(log_priority - log_priority.max())
        age = np.array([groups - task.group for task in tasks], dtype=np.float64)
        age = age if age.any() else np.ones(len(tasks))
        mixed = (1 - self.staleness) * priority / priority.sum() + self.staleness * age / age.sum()
        total: float = mixed.sum()
        return np.asarray(mixed / total, dtype=np.float64)

    def _log_priorities(self, tasks: Sequence[Played]) -> dict[Played, float]:
        scores = np.array([task.last.accuracy * (1 - task.last.accuracy) for task in tasks])
        _, level, counts = np.unique(-scores, return_inverse=True, return_counts=True)
        rank = (np.cumsum(counts) - (counts - 1) / 2)[level]
        return dict(zip(tasks, (-np.log(rank) / self.temperature).tolist(), strict=True))


def _without(slots: Sequence[int], chosen: Sequence[int]) -> list[int]:
    excluded = set(chosen)
    return [slot for slot in slots if slot not in excluded]


_SCHEDULERS: dict[str, Callable[[], Scheduler]] = {
    scheduler.name: scheduler
    for scheduler in (PublishedScheduler, UniformScheduler, LearnabilityScheduler, ReplayScheduler)
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
