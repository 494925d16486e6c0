"""Running state of a curriculum, updated incrementally from a pool's two logs.

The state follows from the logs alone, in their order, so a curriculum on a copied or resumed pool has the same; an
update costs as much as the records added since the last one, not as much as the whole run.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import cast

from rlanything_envs.curriculum.acceptance import Tally, TrialRole
from rlanything_envs.curriculum.scheduler import Played
from rlanything_task_pools import FRESH, Event, OutcomeRecord, TaskPool
from rlanything_task_pools.task import Direction

WINDOW = 32
"""Episodes of a task that count as recent: four groups of 8, since older ones are outdated by learning."""

_NEVER = (0, Tally(0, 0))


@dataclass(slots=True)
class OpenTrial:
    """A waiting candidate and the valid episodes since it was proposed."""

    proposed: Event
    trigger: Tally
    """The parent's group that triggered the rewrite."""
    _counts: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)

    def tally(self, task_id: str, role: TrialRole) -> Tally:
        """Episode counts of one of the two tasks."""
        return Tally(*self._counts.get((task_id, role), (0, 0)))

    def add(self, record: OutcomeRecord) -> None:
        """Count an episode."""
        key = record.task_id, record.outcome.role
        successes, n = self._counts.get(key, (0, 0))
        self._counts[key] = successes + bool(record.outcome.success), n + 1


@dataclass(slots=True)
class SlotHistory:
    """History of one slot."""

    root: str
    """Id of the root: the task that the slot began with, or the last fresh one."""
    events: int = 0
    tried: set[str] = field(default_factory=set)
    """Ids of rejected rewrites of the active task."""
    trial: OpenTrial | None = None
    path: list[tuple[str, Direction]] = field(default_factory=list)
    """From the root, which is left out, to the active task: each task with the direction that led to it. When a task
    returns, the tasks after it are removed, so no task is in it twice."""
    _played: dict[str, tuple[int, Tally]] = field(default_factory=dict)
    """By task: number and counts of its last group. Rejected candidates are left out."""
    _held: dict[str, None] = field(default_factory=dict)
    """Ids of the tasks that are or were active, the first use first."""
    _active: str | None = None
    _recent: dict[str, deque[bool]] = field(default_factory=dict)

    def recent(self, last: int = WINDOW) -> Tally:
        """Counts of the last episodes of the active task."""
        wins = list(self._recent.get(self._active or "", ()))[-last:]
        return Tally(sum(wins), len(wins))

    @property
    def last(self) -> tuple[int, Tally]:
        """Number and counts of the last group of the active task; zeros if it was never played."""
        active = self._active or self.root
        return self._played.get(active, _NEVER)

    def held(self, slot: int) -> list[Played]:
        """The tasks that are or were active in this slot, the first use first."""
        return [Played(slot, task_id, *self._played.get(task_id, _NEVER)) for task_id in self._held]

    @property
    def level(self) -> int:
        """Number of harder steps from the root to the active task, minus the number of easier ones."""
        return sum(1 if direction == "harder" else -1 for _, direction in self.path)

    @property
    def way_back(self) -> str | None:
        """The task on the path that was last made easier, the next one towards the root; None if there is none."""
        before = [self.root, *(task_id for task_id, _ in self.path)]
        eased = [place for place, (_, direction) in enumerate(self.path) if direction == "easier"]
        return before[eased[-1]] if eased else None

    def see_event(self, event: Event, rollouts: int) -> None:
        """Update the history by a decision."""
        self.events += 1
        if event.kind == "proposed":
            trigger = self.recent(rollouts)  # for a proposal by hand; the curriculum stores its own trigger
            if {"successes", "n"} <= set(event.stats):
                trigger = Tally(event.stats["successes"], event.stats["n"])
            self.trial = OpenTrial(event, trigger)
        elif event.kind == "rejected":
            self.trial = None
            self.tried.add(event.task_id)
            self._recent.pop(event.task_id, None)
            if event.task_id not in self._held:
                self._played.pop(event.task_id, None)
        elif event.kind == "accepted":
            if self.trial is not None and self.trial.proposed.reason == FRESH:
                self.root, self.path = event.task_id, []
            elif self.trial is not None:
                self._go_to(event.task_id, cast(Direction, self.trial.proposed.reason))
            self._held.setdefault(event.task_id)
            self.trial = None
            # Only rewrites of the active task stay rejected: a slot that was made easier must be able to climb back.
            self.tried.clear()
            self._active = event.task_id
            self._recent = {event.task_id: self._recent.get(event.task_id, deque(maxlen=WINDOW))}

    def _go_to(self, task_id: str, direction: Direction) -> None:
        known = [self.root, *(known for known, _ in self.path)]
        if task_id in known:
            del self.path[known.index(task_id) :]
        else:
            self.path.append((task_id, direction))

    def see_outcome(self, record: OutcomeRecord, group: int) -> None:
        """Update the history by a valid episode of the pool's group of this number."""
        before, tally = self._played.get(record.task_id, _NEVER)
        tally = tally if before == group else Tally(0, 0)
        self._played[record.task_id] = group, Tally(tally.successes + bool(record.outcome.success), tally.n + 1)
        if self._active is None and record.outcome.role == "active":
            self._active = record.task_id  # no rewrite was accepted yet, so this is the root
        self._recent.setdefault(record.task_id, deque(maxlen=WINDOW)).append(bool(record.outcome.success))
        if self.trial is not None and record.event >= self.trial.proposed.index:
            self.trial.add(record)


class Ledger:
    """The histories of a pool's slots.

    Args:
        pool: the pool whose logs are read.
        rollouts: episodes in a group.
    """

    def __init__(self, pool: TaskPool, rollouts: int) -> None:
        self._pool = pool
        self._rollouts = rollouts
        self._event = 0  # indices of the last records read
        self._outcome = 0
        self.groups = 0
        """Number of groups with a valid episode so far; those of evaluations are left out."""
        self._batch = 0
        self._slots: dict[int, SlotHistory] = {}
        self._pending: dict[int, None] = {}

    @property
    def pending(self) -> list[int]:
        """Slots with a candidate, the oldest candidate first."""
        return list(self._pending)

    def slot(self, slot: int) -> SlotHistory:
        """The history of a slot as of the last `read`."""
        if slot not in self._slots:
            first = self._pool.first(slot)
            self._slots[slot] = SlotHistory(first, _held={first: None})
        return self._slots[slot]

    def read(self) -> None:
        """Read the records added to the pool since the last call, by any process."""
        # Outcomes first: all events that precede them are then among the events read next.
        outcomes = self._pool.outcomes(after=self._outcome, errors=False)
        events = self._pool.events(since=self._event)
        at = 0
        for record in outcomes:
            while at < len(events) and events[at].index <= record.event:
                self._see(events[at])
                at += 1
            if record.outcome.role != "eval":
                self.groups += record.batch != self._batch
                self._batch = record.batch
                self.slot(record.slot).see_outcome(record, self.groups)
            self._outcome = record.index
        for event in events[at:]:
            self._see(event)

    def _see(self, event: Event) -> None:
        self._event = event.index
        self.slot(event.slot).see_event(event, self._rollouts)
        if event.kind == "proposed":
            self._pending[event.slot] = None
        elif event.kind != "discarded":
            self._pending.pop(event.slot, None)
