"""Running state of a curriculum, updated incrementally from a pool's two logs.

The state follows from the logs alone, in their order, so a curriculum on a copied or resumed pool has the same; an
update costs as much as the records added since the last one, not as much as the whole run.
"""

from collections import deque
from dataclasses import dataclass, field

from rlanything_envs.curriculum.acceptance import Tally
from rlanything_task_pools import Event, OutcomeRecord, TaskPool

WINDOW = 32
"""Episodes of a task that count as recent: four groups of 8, since older ones are outdated by learning."""

_NEVER = (0, Tally(0, 0))


@dataclass(slots=True)
class OpenTrial:
    """A waiting candidate and its valid episodes since it was proposed."""

    proposed: Event
    trigger: Tally
    """The parent's group that triggered the rewrite."""
    _tried: dict[str, Tally] = field(default_factory=dict)

    def tried(self, task_id: str) -> Tally:
        """Episode counts of a candidate."""
        return self._tried.get(task_id, Tally(0, 0))

    def add(self, record: OutcomeRecord) -> None:
        """Count an episode, if it is one of a candidate."""
        if record.outcome.role == "candidate":
            before = self.tried(record.task_id)
            self._tried[record.task_id] = Tally(before.successes + bool(record.outcome.success), before.n + 1)


@dataclass(slots=True)
class SlotHistory:
    """History of one slot."""

    first: str
    """Id of the task that the slot began with."""
    events: int = 0
    tried: set[str] = field(default_factory=set)
    """Ids of rejected rewrites of the active task."""
    trial: OpenTrial | None = None
    _played: dict[str, tuple[int, Tally]] = field(default_factory=dict)
    """By task: number and counts of its last group."""
    _active: str | None = None
    _recent: dict[str, deque[bool]] = field(default_factory=dict)

    def recent(self, last: int) -> Tally:
        """Counts of the last episodes of the active task."""
        wins = list(self._recent.get(self._active or "", ()))[-last:]
        return Tally(sum(wins), len(wins))

    @property
    def last(self) -> tuple[int, Tally]:
        """Number and counts of the last group of the active task; zeros if it was never played."""
        return self._played.get(self._active or self.first, _NEVER)

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
            if event.reason != "unmeasured":
                self.tried.add(event.task_id)
            self._recent.pop(event.task_id, None)
            self._played.pop(event.task_id, None)
        elif event.kind == "accepted":
            self.trial = None
            # Only rewrites of the active task stay rejected: a slot that was made easier must be able to climb back.
            self.tried.clear()
            self._active = event.task_id
            self._recent = {event.task_id: self._recent.get(event.task_id, deque(maxlen=WINDOW))}

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
            self._slots[slot] = SlotHistory(self._pool.first(slot))
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
