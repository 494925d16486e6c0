"""What a curriculum has to know of a pool's two logs, kept up piece by piece.

Everything here follows from the logs alone, in their order, so a curriculum on a copied or resumed pool knows
the same; and reading on costs as much as what was added since, not as much as the whole run.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import cast

from rlanything_envs.curriculum.acceptance import Tally, TrialRole
from rlanything_task_pools import Event, OutcomeRecord, TaskPool
from rlanything_task_pools.task import Direction

WINDOW = 32
"""Episodes of a task that count as recent: four groups of 8, since an agent that learns outdates the rest."""


@dataclass(slots=True)
class OpenTrial:
    """A waiting candidate and the episodes since it was proposed; broken ones are left out."""

    proposed: Event
    trigger: Tally
    """The parent's group that called for it."""
    _counts: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)

    def tally(self, task_id: str, role: TrialRole) -> Tally:
        """Of one of the two tasks."""
        return Tally(*self._counts.get((task_id, role), (0, 0)))

    def add(self, record: OutcomeRecord) -> None:
        """Count an episode."""
        key = record.task_id, record.outcome.role
        successes, n = self._counts.get(key, (0, 0))
        self._counts[key] = successes + bool(record.outcome.success), n + 1


@dataclass(slots=True)
class SlotHistory:
    """What happened in one slot."""

    root: str
    """The task it began with."""
    events: int = 0
    tried: set[str] = field(default_factory=set)
    """Rewrites of the present task that were turned down."""
    trial: OpenTrial | None = None
    path: list[tuple[str, Direction]] = field(default_factory=list)
    """From the root, which is left out, to the active task: each task with the direction that led to it. A task
    that comes again ends what came after it, so nothing is in it twice."""
    _active: str | None = None
    _recent: dict[str, deque[bool]] = field(default_factory=dict)

    def recent(self, last: int = WINDOW) -> Tally:
        """The last episodes of the active task."""
        wins = list(self._recent.get(self._active or "", ()))[-last:]
        return Tally(sum(wins), len(wins))

    @property
    def level(self) -> int:
        """How many times the active task was made harder than the root, less how many times easier."""
        return sum(1 if direction == "harder" else -1 for _, direction in self.path)

    @property
    def way_back(self) -> str | None:
        """The task that was last made easier on the path: the next one towards the root; None if there is none."""
        before = [self.root, *(task_id for task_id, _ in self.path)]
        eased = [place for place, (_, direction) in enumerate(self.path) if direction == "easier"]
        return before[eased[-1]] if eased else None

    def see_event(self, event: Event, rollouts: int) -> None:
        """Take note of a decision."""
        self.events += 1
        if event.kind == "proposed":
            trigger = self.recent(rollouts)  # for what somebody proposed by hand; the curriculum notes its group
            if {"successes", "n"} <= set(event.stats):
                trigger = Tally(event.stats["successes"], event.stats["n"])
            self.trial = OpenTrial(event, trigger)
        elif event.kind == "rejected":
            self.trial = None
            self.tried.add(event.task_id)
            self._recent.pop(event.task_id, None)
        elif event.kind == "accepted":
            if self.trial is not None:
                self._go_to(event.task_id, cast(Direction, self.trial.proposed.reason))
            self.trial = None
            # Only what failed beside the present task: a slot that was made easier must be able to climb back.
            self.tried.clear()
            self._active = event.task_id
            self._recent = {event.task_id: self._recent.get(event.task_id, deque(maxlen=WINDOW))}

    def _go_to(self, task_id: str, direction: Direction) -> None:
        known = [self.root, *(known for known, _ in self.path)]
        if task_id in known:
            del self.path[known.index(task_id) :]
        else:
            self.path.append((task_id, direction))

    def see_outcome(self, record: OutcomeRecord) -> None:
        """Take note of a valid episode."""
        if record.outcome.role == "eval":
            return
        if self._active is None and record.outcome.role == "active":
            self._active = record.task_id  # nothing was accepted yet: it is the root
        self._recent.setdefault(record.task_id, deque(maxlen=WINDOW)).append(bool(record.outcome.success))
        if self.trial is not None and record.event >= self.trial.proposed.index:
            self.trial.add(record)


class Ledger:
    """The histories of a pool's slots.

    Args:
        pool: whose logs are read.
        rollouts: episodes in a group.
    """

    def __init__(self, pool: TaskPool, rollouts: int) -> None:
        self._pool = pool
        self._rollouts = rollouts
        self._event = 0  # the last ones that were read
        self._outcome = 0
        self._slots: dict[int, SlotHistory] = {}
        self._pending: dict[int, None] = {}

    @property
    def pending(self) -> list[int]:
        """Slots with a candidate, the oldest candidate first."""
        return list(self._pending)

    def slot(self, slot: int) -> SlotHistory:
        """The history of a slot as of the last `read`."""
        if slot not in self._slots:
            self._slots[slot] = SlotHistory(self._pool.root(slot).id)
        return self._slots[slot]

    def read(self) -> None:
        """Catch up with the pool, also with what other processes did."""
        # Outcomes first: then all events that went before them are among those read next.
        outcomes = self._pool.outcomes(after=self._outcome, errors=False)
        events = self._pool.events(since=self._event)
        at = 0
        for record in outcomes:
            while at < len(events) and events[at].index <= record.event:
                self._see(events[at])
                at += 1
            self.slot(record.slot).see_outcome(record)
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
