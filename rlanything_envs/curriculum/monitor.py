"""The curriculum of a pool over time, from its two logs: accepted and rejected tasks, band occupancy, drift from the
root tasks."""

import dataclasses
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlanything_envs.errors import SettingError
from rlanything_task_pools import FRESH, Event, OutcomeRecord, TaskPool

__all__ = ["FAR", "CurriculumMonitor", "CurriculumRow", "curriculum_metrics"]

FAR = 0.85
"""Distance from its root beyond which a slot's task is far. 95 of 100 scripted rewrites of generated ALFWorld tasks
move the goal by 0.82 or less in one step; two random tasks are 0.78 apart (median)."""

Group = Sequence[OutcomeRecord]


@dataclass(frozen=True, slots=True)
class CurriculumRow:
    """One row of the series: counts since the pool began, and measurements since the row before.

    Rates are None where there was nothing to measure. The distance of two tasks is that of the sets of words of their
    goals (Jaccard): 0 for the same words, 1 for none in common.
    """

    groups: int
    """Groups of episodes so far, other than those of evaluations."""
    episodes: int
    """Their episodes, infrastructure errors included."""
    errors: int
    """Episodes with infrastructure errors."""
    proposed: int
    accepted: int
    accepted_harder: int
    accepted_easier: int
    rejected: Mapping[str, int]
    """Candidates rejected after a trial, by reason."""
    unsolved: int
    """Those of them that were never solved in their trial, as their parents in the group before it."""
    discarded: Mapping[str, int]
    """Proposals that never became candidates, by reason."""
    below: float | None
    """Since the last row: share of groups on active tasks at or under the band."""
    inside: float | None
    """Since the last row: share of groups on active tasks inside the band (band occupancy)."""
    above: float | None
    accuracy: float | None
    """Since the last row: mean success rate of groups on active tasks."""
    new_accuracy: float | None
    """Success rate of accepted candidates in their trials so far: the difficulty of new tasks at acceptance."""
    rewritten: float
    """Share of slots whose active task is not their root."""
    drift: float
    """Mean distance between a slot's active task and its root."""
    drift_max: float
    diversity: float
    """Mean distance between two slots' active tasks."""
    duplicates: int
    """Number of slots whose active task is also active in another slot."""
    far: tuple[int, ...]
    """Slots whose task is farther from its root than `FAR`."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data; rates and distances to four digits."""
        row = dataclasses.asdict(self)
        return {name: round(value, 4) if isinstance(value, float) else value for name, value in row.items()}


class CurriculumMonitor:
    """Computes rows of a pool while it changes.

    Nothing is stored: another monitor on the same pool arrives at the same counts.

    Args:
        pool: the pool; other processes may write to it.
        band: the curriculum's band, an open interval of success rates.
        from_start: whether the first row covers the pool from its beginning, or from now on.

    Raises:
        SettingError: the band is not an interval in [0, 1].
    """

    def __init__(self, pool: TaskPool, *, band: tuple[float, float] = (0.2, 0.8), from_start: bool = False) -> None:
        if not 0.0 <= band[0] < band[1] <= 1.0:
            raise SettingError(f"CurriculumMonitor: band must be 0 <= low < high <= 1, got {band!r}")
        self.pool = pool
        self.band = band
        self._words: dict[str, frozenset[str]] = {}  # of goals, by task
        self._roots = {slot: pool.first(slot) for slot in pool.slots}
        self._active = dict(self._roots)
        self._groups = self._episodes = self._errors = self._proposed = self._unsolved = 0
        self._accepted: Counter[str] = Counter()
        self._rejected: Counter[str] = Counter()
        self._discarded: Counter[str] = Counter()
        self._new_solved = self._new_episodes = 0
        self._directions: dict[int, str] = {}  # of the waiting candidates, by slot
        self._trials: dict[int, list[bool]] = {}  # their episodes
        self._window: list[float] = []  # success rates of the groups on active tasks since the last row
        self._event = self._outcome = 0  # indices of the last records counted
        if not from_start:
            self._count(self._unread())
            self._window.clear()

    def row(self) -> CurriculumRow:
        """Counts since the last row, and the current drift and diversity."""
        self._count(self._unread())
        return self._row()

    def rows(self, every: int) -> Iterator[CurriculumRow]:
        """Rows since the last one: one for each ``every`` groups, and one for the remaining groups.

        Raises:
            SettingError: ``every`` is below 1.
        """
        if every < 1:
            raise SettingError(f"CurriculumMonitor: every must be at least 1 group, got {every}")
        groups = 0
        for item in self._unread():
            # Decisions follow the group that caused them, so a row ends where the first group of the next begins.
            if not isinstance(item, Event):
                if groups == every:
                    yield self._row()
                    groups = 0
                groups += 1
            self._count([item])
        yield self._row()

    def _unread(self) -> list[Event | Group]:
        """Records that the pool has logged since the last call, in order."""
        with self.pool.snapshot():
            events = self.pool.events(since=self._event)
            outcomes = self.pool.outcomes(after=self._outcome)
        groups = [list(records) for _, records in groupby(outcomes, key=lambda record: record.batch)]
        # A group follows the event it names; an event comes before the groups that name it.
        return sorted([*events, *groups], key=lambda it: (it.index, 0) if isinstance(it, Event) else (it[0].event, 1))

    def _count(self, items: Sequence[Event | Group]) -> None:
        for item in items:
            if isinstance(item, Event):
                self._count_event(item)
            else:
                self._count_group(item)

    def _count_group(self, records: Group) -> None:
        self._outcome = records[-1].index
        successes = [record.outcome.success for record in records]
        valid = [success for success in successes if success is not None]
        role, slot = records[0].outcome.role, records[0].slot
        if role == "eval":
            return
        self._groups += 1
        self._episodes += len(successes)
        self._errors += len(successes) - len(valid)
        if role == "candidate":
            self._trials.setdefault(slot, []).extend(valid)
        elif valid:
            self._window.append(sum(valid) / len(valid))

    def _count_event(self, event: Event) -> None:
        self._event = event.index
        match event.kind:
            case "proposed":
                self._proposed += 1
                self._directions[event.slot] = event.reason
                self._trials[event.slot] = []
            case "accepted":
                self._accepted[self._directions.get(event.slot, "")] += 1
                self._active[event.slot] = event.task_id
                if self._directions.get(event.slot) == FRESH:
                    self._roots[event.slot] = event.task_id
                trial = self._trials.pop(event.slot, [])
                self._new_solved += sum(trial)
                self._new_episodes += len(trial)
            case "rejected":
                self._rejected[event.reason] += 1
                self._unsolved += event.stats.get("successes") == event.stats.get("parent") == 0
                self._trials.pop(event.slot, None)
            case "discarded":
                self._discarded[event.reason] += 1

    def _row(self) -> CurriculumRow:
        slots, (low, high) = sorted(self._active), self.band
        now = [self._words_of(self._active[slot]) for slot in slots]
        roots = [self._words_of(self._roots[slot]) for slot in slots]
        among, moved = _distances(now, now), np.diagonal(_distances(now, roots))
        held, window = Counter(self._active.values()), np.array(self._window)
        self._window.clear()
        pairs = len(slots) * (len(slots) - 1)
        return CurriculumRow(
            groups=self._groups,
            episodes=self._episodes,
            errors=self._errors,
            proposed=self._proposed,
            accepted=sum(self._accepted.values()),
            accepted_harder=self._accepted["harder"],
            accepted_easier=self._accepted["easier"],
            rejected=dict(sorted(self._rejected.items())),
            unsolved=self._unsolved,
            discarded=dict(sorted(self._discarded.items())),
            below=_mean(window <= low),
            inside=_mean((window > low) & (window < high)),
            above=_mean(window >= high),
            accuracy=_mean(window),
            new_accuracy=self._new_solved / self._new_episodes if self._new_episodes else None,
            rewritten=sum(self._active[slot] != self._roots[slot] for slot in slots) / len(slots),
            drift=float(moved.mean()),
            drift_max=float(moved.max()),
            diversity=float(among.sum() / pairs) if pairs else 0.0,
            duplicates=sum(number for number in held.values() if number > 1),
            far=tuple(slot for slot, distance in zip(slots, moved, strict=True) if distance > FAR),
        )

    def _words_of(self, task_id: str) -> frozenset[str]:
        if task_id not in self._words:
            self._words[task_id] = frozenset(re.findall(r"\w+", self.pool.task(task_id).goal.lower()))
        return self._words[task_id]


def curriculum_metrics(pool: TaskPool, *, every: int = 16) -> list[CurriculumRow]:
    """The whole series of a pool.

    Args:
        pool: as `CurriculumMonitor`.
        every: groups of episodes in a row; 16 tasks are one iteration in the paper.
    """
    return list(CurriculumMonitor(pool, from_start=True).rows(every))


def _distances(left: Sequence[frozenset[str]], right: Sequence[frozenset[str]]) -> NDArray[np.float64]:
    """Jaccard distances of all pairs of sets, shape (len(left), len(right))."""
    place = {word: k for k, word in enumerate(sorted(frozenset().union(*left, *right)))}
    has = np.zeros((len(left) + len(right), len(place)))
    for row, words in enumerate((*left, *right)):
        has[row, [place[word] for word in words]] = 1.0
    a, b = has[: len(left)], has[len(left) :]
    shared = a @ b.T
    either = a.sum(1)[:, None] + b.sum(1)[None, :] - shared
    distances: NDArray[np.float64] = 1.0 - np.divide(shared, either, out=np.ones_like(shared), where=either > 0)
    return distances


def _mean(values: "np.ndarray[Any, Any]") -> float | None:
    return float(values.mean()) if values.size else None
