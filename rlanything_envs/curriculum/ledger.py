"""What a curriculum has to know of a pool's two logs, kept up piece by piece.

Everything here follows from the logs alone, in their order, so a curriculum on a copied or resumed pool knows
the same; and reading on costs as much as what was added since, not as much as the whole run.
"""

from collections import deque
from dataclasses import dataclass, field

from rlanything_envs.curriculum.acceptance import Tally, TrialRole
from rlanything_task_pools import Event, OutcomeRecord, TaskPool

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

    events: int = 0
    tried: set[str] = field(default_factory=set)
    """Rewrites of the present task that were turned down."""
    trial: OpenTrial | None = None
    _active: str | None = None
    _recent: dict[str, deque[bool]] = field(default_factory=dict)

    def recent(self, last: int = WINDOW) -> Tally:
        """The last episodes of the active task."""
        wins = list(self._recent.get(self._active or "", ()))[-last:]
        return Tally(sum(wins), len(wins))

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
            self.trial = None
            # Only what failed beside the present task: a slot that was made easier must be able to climb back.
            self.tried.clear()
            self._active = event.task_id
            self._recent = {event.task_id: self._recent.get(event.task_id, deque(maxlen=WINDOW))}

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
        return self._slots.setdefault(slot, SlotHistory())

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
