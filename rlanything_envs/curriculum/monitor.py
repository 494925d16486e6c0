"""Time series of a curriculum from a pool's two logs: acceptances, band occupancy, and drift from the root tasks."""

import dataclasses
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from rlanything_envs.curriculum.distance import TextDistance, get_distance
from rlanything_task_pools import FRESH, Event, OutcomeRecord, Task, TaskPool

__all__ = ["CurriculumMonitor", "CurriculumRow", "DriftAlarm", "DriftWarning", "MonitorError", "curriculum_metrics"]

Group = Sequence[OutcomeRecord]


class MonitorError(ValueError):
    """A setting of a monitor is out of range; the message names it."""


class DriftWarning(UserWarning):
    """The active task of a slot is too far from its root; `alarm` names the slot."""

    def __init__(self, alarm: "DriftAlarm") -> None:
        super().__init__(str(alarm))
        self.alarm = alarm


@dataclass(frozen=True, slots=True)
class DriftAlarm:
    """A slot whose active task is farther from its root than the limit."""

    slot: int
    task_id: str
    distance: float
    limit: float

    def __str__(self) -> str:
        return (
            f"slot {self.slot}: the active task {self.task_id} is {self.distance:.2f} from its root, beyond "
            f"{self.limit:.2f}; look at `rlanything pool lineage`, or raise the limit"
        )


@dataclass(frozen=True, slots=True)
class CurriculumRow:
    """One row of the series: counts since the pool began, and measurements since the row before.

    Rates are None where there was nothing to measure.
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
    root_accuracy: float | None
    """Since the last row: success rate of root tasks in slots where another task is active."""
    rewritten: float
    """Share of slots whose active task is not their root."""
    drift: float
    """Mean distance between a slot's active task and its root."""
    drift_max: float
    shift: float
    """Energy distance between the active tasks and the roots as two samples: 0 for equal distributions."""
    diversity: float
    """Mean distance between two slots' active tasks."""
    duplicates: int
    """Number of slots whose active task is also active in another slot."""
    far: tuple[int, ...]
    """Slots beyond the drift limit."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data; rates and distances to four digits."""
        row = dataclasses.asdict(self)
        return {name: round(value, 4) if isinstance(value, float) else value for name, value in row.items()}


def _goal(task: Task) -> str:
    return task.goal


class CurriculumMonitor:
    """Computes a time series of a pool while it changes.

    Nothing is stored: another monitor on the same pool arrives at the same counts.

    Args:
        pool: the pool; other processes may write to it.
        band: the curriculum's band, an open interval of success rates.
        distance: ``tokens``, ``sentences`` (the extra ``drift``) or an object; see `TextDistance`.
        drift_limit: distance from its root beyond which a slot raises an alarm; None for the default of the distance.
        text: text of a task that is compared; its goal by default (``domain.describe`` includes the world).
        from_start: whether the first row covers the pool from its beginning, or from now on.

    Raises:
        UnknownDistance: there is no distance of this name.
        MonitorError: the band is not an interval in [0, 1], or the limit is not in [0, 1].
        MissingExtra: the distance needs an extra that is not installed.
    """

    def __init__(
        self,
        pool: TaskPool,
        *,
        band: tuple[float, float] = (0.2, 0.8),
        distance: str | TextDistance = "tokens",
        drift_limit: float | None = None,
        text: Callable[[Task], str] = _goal,
        from_start: bool = False,
    ) -> None:
        if not 0.0 <= band[0] < band[1] <= 1.0:
            raise MonitorError(f"CurriculumMonitor: band must be 0 <= low < high <= 1, got {band!r}")
        if drift_limit is not None and not 0.0 <= drift_limit <= 1.0:
            raise MonitorError(f"CurriculumMonitor: drift_limit must be in [0, 1], got {drift_limit!r}")
        self.pool = pool
        self.band = band
        self.distance = get_distance(distance)
        self.drift_limit = self.distance.limit if drift_limit is None else drift_limit
        self.alarms: list[DriftAlarm] = []
        """Every alarm so far, oldest first; each was also issued as a `DriftWarning`."""
        self._text = text
        self._texts: dict[str, str] = {}
        self._ledger = _Ledger({slot: pool.first(slot) for slot in pool.slots})
        if not from_start:
            self._ledger.take(self._unread())
            self._ledger.begin_row()

    def row(self) -> CurriculumRow:
        """Counts since the last row, and the current drift and diversity."""
        self._ledger.take(self._unread())
        return self._row()

    def rows(self, every: int) -> Iterator[CurriculumRow]:
        """Rows since the last one: one for each ``every`` groups, and one for the remaining groups.

        Raises:
            MonitorError: ``every`` is below 1.
        """
        if every < 1:
            raise MonitorError(f"CurriculumMonitor: every must be at least 1 group, got {every}")
        groups = 0
        for item in self._unread():
            # Decisions follow the group that caused them, so a row ends where the first group of the next begins.
            if not isinstance(item, Event):
                if groups == every:
                    yield self._row()
                    groups = 0
                groups += 1
            self._ledger.take([item])
        yield self._row()

    def _unread(self) -> list[Event | Group]:
        """Records that the pool has logged since the last call, in order."""
        event, outcome = self._ledger.seen
        with self.pool.snapshot():
            events = self.pool.events(since=event)
            outcomes = self.pool.outcomes(after=outcome)
        groups = [list(records) for _, records in groupby(outcomes, key=lambda record: record.batch)]
        # A group follows the event it names; an event comes before the groups that name it.
        return sorted([*events, *groups], key=lambda it: (it.index, 0) if isinstance(it, Event) else (it[0].event, 1))

    def _row(self) -> CurriculumRow:
        ledger, (low, high) = self._ledger, self.band
        slots = sorted(ledger.active)
        now = [self._words(ledger.active[slot]) for slot in slots]
        roots = [self._words(ledger.roots[slot]) for slot in slots]
        among, across = self.distance(now, now), self.distance(now, roots)
        moved = np.diagonal(across)
        far = tuple(slot for slot, distance in zip(slots, moved, strict=True) if distance > self.drift_limit)
        self._alarm(far, dict(zip(slots, moved.tolist(), strict=True)))
        held = Counter(ledger.active.values())
        window = np.array(ledger.window)
        roots_won = ledger.root_wins / ledger.root_episodes if ledger.root_episodes else None
        ledger.begin_row()
        pairs = len(slots) * (len(slots) - 1)
        return CurriculumRow(
            groups=ledger.groups,
            episodes=ledger.episodes,
            errors=ledger.errors,
            proposed=ledger.proposed,
            accepted=sum(ledger.accepted.values()),
            accepted_harder=ledger.accepted["harder"],
            accepted_easier=ledger.accepted["easier"],
            rejected=dict(sorted(ledger.rejected.items())),
            discarded=dict(sorted(ledger.discarded.items())),
            below=_mean(window <= low),
            inside=_mean((window > low) & (window < high)),
            above=_mean(window >= high),
            accuracy=_mean(window),
            new_accuracy=ledger.new_wins / ledger.new_episodes if ledger.new_episodes else None,
            root_accuracy=roots_won,
            rewritten=sum(ledger.active[slot] != ledger.roots[slot] for slot in slots) / len(slots),
            drift=float(moved.mean()),
            drift_max=float(moved.max()),
            shift=max(0.0, float(2 * across.mean() - among.mean() - self.distance(roots, roots).mean())),
            diversity=float(among.sum() / pairs) if pairs else 0.0,
            duplicates=sum(number for number in held.values() if number > 1),
            far=far,
        )

    def _alarm(self, far: Sequence[int], moved: Mapping[int, float]) -> None:
        for slot in far:
            alarm = DriftAlarm(slot, self._ledger.active[slot], moved[slot], self.drift_limit)
            if (slot, alarm.task_id) not in {(known.slot, known.task_id) for known in self.alarms}:
                self.alarms.append(alarm)
                warnings.warn(DriftWarning(alarm), stacklevel=4)

    def _words(self, task_id: str) -> str:
        if task_id not in self._texts:
            self._texts[task_id] = self._text(self.pool.task(task_id))
        return self._texts[task_id]


def curriculum_metrics(pool: TaskPool, *, every: int = 16, **settings: Any) -> list[CurriculumRow]:
    """The whole series of a pool.

    Args:
        pool: as `CurriculumMonitor`.
        every: groups of episodes in a row; 16 tasks are one iteration in the paper.
        **settings: as `CurriculumMonitor`.
    """
    return list(CurriculumMonitor(pool, from_start=True, **settings).rows(every))


class _Ledger:
    """Counts over a pool's log, updated record by record."""

    def __init__(self, roots: Mapping[int, str]) -> None:
        self.roots = dict(roots)
        self.active = dict(roots)
        self.groups = self.episodes = self.errors = self.proposed = 0
        self.accepted: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()
        self.discarded: Counter[str] = Counter()
        self.new_wins = self.new_episodes = 0
        self.root_wins = self.root_episodes = 0
        self.window: list[float] = []
        """Success rates of the groups on active tasks since the last row."""
        self.seen = (0, 0)
        """Indices of the last event and the last outcome counted."""
        self._directions: dict[int, str] = {}
        self._trials: dict[int, list[bool]] = {}

    def begin_row(self) -> None:
        self.window.clear()
        self.root_wins = self.root_episodes = 0

    def take(self, items: Iterable[Event | Group]) -> None:
        for item in items:
            if isinstance(item, Event):
                self._event(item)
            else:
                self._group(item)

    def _group(self, records: Group) -> None:
        self.seen = (self.seen[0], records[-1].index)
        successes = [record.outcome.success for record in records]
        valid = [success for success in successes if success is not None]
        role, slot = records[0].outcome.role, records[0].slot
        if role == "eval":
            return
        self.groups += 1
        self.episodes += len(successes)
        self.errors += len(successes) - len(valid)
        if role == "candidate":
            self._trials.setdefault(slot, []).extend(valid)
        elif role == "root":
            self.root_wins += sum(valid)
            self.root_episodes += len(valid)
        elif role == "active" and valid:
            self.window.append(sum(valid) / len(valid))

    def _event(self, event: Event) -> None:
        self.seen = (event.index, self.seen[1])
        match event.kind:
            case "proposed":
                self.proposed += 1
                self._directions[event.slot] = event.reason
                self._trials[event.slot] = []
            case "accepted":
                self.accepted[self._directions.get(event.slot, "")] += 1
                self.active[event.slot] = event.task_id
                if self._directions.get(event.slot) == FRESH:
                    self.roots[event.slot] = event.task_id
                trial = self._trials.pop(event.slot, [])
                self.new_wins += sum(trial)
                self.new_episodes += len(trial)
            case "rejected":
                self.rejected[event.reason] += 1
                self._trials.pop(event.slot, None)
            case "discarded":
                self.discarded[event.reason] += 1


def _mean(values: "np.ndarray[Any, Any]") -> float | None:
    return float(values.mean()) if values.size else None
