"""The curriculum: which tasks are played next, and how a pool changes by what came of them.

The life of a candidate: an active task's group of episodes leaves the band of success rates -> a rewriter
proposes -> the domain proves the proposal solvable -> it waits in the slot -> it is played as a group of its
own -> the acceptance rule lets it take the slot, or drops it. Each step leaves an event with its reason in
the pool.

Everything but the choice of slots is a function of the pool's content and `seed`, so a run resumed from its
pool goes on as if it had not been interrupted.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rlanything_envs.curriculum.acceptance import Acceptance, Tally, Trial, get_acceptance
from rlanything_envs.curriculum.rewriter import Request, Rewriter, get_rewriter
from rlanything_task_pools import CandidateError, Event, Outcome, Task, TaskPool
from rlanything_task_pools.task import Direction


@dataclass(frozen=True, slots=True)
class Assignment:
    """One group of episodes to play: `Curriculum.rollouts` times the same task."""

    slot: int
    task: Task
    role: Literal["active", "candidate"]


class Curriculum:
    """Draws groups from a pool and adapts the pool to their outcomes; knows nothing of Gymnasium.

    ```python
    curriculum = Curriculum(TaskPool.open("pool.sqlite"))
    for assignment in curriculum.assign(16, rng):
        outcomes = [play(assignment.task, assignment.role) for _ in range(curriculum.rollouts)]
        curriculum.report(assignment, outcomes)
    ```

    Args:
        pool: the tasks; other processes may work on the same pool. After `TaskPool.restore`, make a new
            curriculum.
        rewriter: where candidates come from, by name ("scripted") or as an object.
        acceptance: the rule for tried candidates, by name ("paper", "reference") or as an object.
        band: ``(low, high)``; a success rate outside the open interval calls for a rewrite. (0.2, 0.8) is the
            paper's default.
        rollouts: episodes in a group. Fewer than half of them valid is no measurement.
        seed: seeds the rewriter's choices, together with the slot and the length of its history.

    Raises:
        ValueError: the band is not ``0 <= low < high <= 1``, `rollouts` is below 1, or a name is unknown.
    """

    def __init__(
        self,
        pool: TaskPool,
        rewriter: str | Rewriter = "scripted",
        acceptance: str | Acceptance = "paper",
        *,
        band: tuple[float, float] = (0.2, 0.8),
        rollouts: int = 8,
        seed: int = 0,
    ) -> None:
        low, high = band
        if not 0.0 <= low < high <= 1.0:
            raise ValueError(f"Curriculum: band must be 0 <= low < high <= 1, got {band!r}")
        if rollouts < 1:
            raise ValueError(f"Curriculum: rollouts must be at least 1, got {rollouts}")
        self.pool = pool
        self.rewriter = get_rewriter(rewriter)
        self.acceptance = get_acceptance(acceptance)
        self.band = (low, high)
        self.rollouts = rollouts
        self.seed = seed
        self._slots = pool.slots
        self._seen = 0  # index of the last event that `_pending` knows of
        self._pending: dict[int, None] = {}  # slots with a candidate, oldest first

    def assign(self, n: int, rng: np.random.Generator) -> list[Assignment]:
        """The next `n` groups: waiting candidates, oldest first, then active tasks drawn without replacement.

        A trial resolves its candidate, so candidates never crowd out the active tasks for long. Slots repeat
        only where `n` exceeds their number.
        """
        waiting = self._waiting()[:n]
        assignments = [
            Assignment(slot, candidate, "candidate")
            for slot in waiting
            if (candidate := self.pool.candidate(slot)) is not None
        ]
        rest = [slot for slot in self._slots if slot not in set(waiting)] or self._slots
        while len(assignments) < n:
            drawn = [rest[index] for index in rng.permutation(len(rest))[: n - len(assignments)]]
            assignments += [Assignment(slot, self.pool.active(slot), "active") for slot in drawn]
            rest = self._slots
        return assignments

    def report(self, assignment: Assignment, outcomes: Sequence[Outcome], *, critique: str = "") -> list[Event]:
        """Record a group's outcomes and act on them; the events are in the pool as well.

        Args:
            assignment: the group as `assign` gave it. When the slot has moved on meanwhile (another group or
                process decided first), the outcomes are recorded and nothing else happens.
            outcomes: of its episodes; those with ``success=None`` (infrastructure) are recorded, never
                measured.
            critique: summary of the episodes for the rewriter.

        Returns:
            The events this group caused, oldest first.

        Raises:
            UnknownSlot, UnknownTask: the pool never had such an assignment.
        """
        self.record(assignment, outcomes)
        tally = Tally.of(outcomes)
        measured = 2 * tally.n >= self.rollouts
        if assignment.role == "candidate":
            return self._judge(assignment, tally, measured)
        return self._rewrite(assignment, tally, critique) if measured else []

    def record(self, assignment: Assignment, outcomes: Sequence[Outcome]) -> None:
        """Put outcomes on record without acting on them: for a group that was cut short."""
        self.pool.record(assignment.slot, assignment.task.id, outcomes)

    def _judge(self, assignment: Assignment, tally: Tally, measured: bool) -> list[Event]:
        slot, task = assignment.slot, assignment.task
        waiting = self.pool.candidate(slot)
        if waiting is None or waiting.id != task.id or task.rewrite is None:
            return []
        parent = self._parent_tally(slot)
        stats = {"successes": tally.successes, "n": tally.n, "parent": parent.accuracy}
        try:
            if not measured:  # a candidate that cannot be measured must not block its slot
                return [self.pool.reject(slot, "unmeasured", task_id=task.id, stats=stats)]
            decision = self.acceptance.decide(Trial(task.rewrite.direction, parent, tally, self.band))
            close = self.pool.accept if decision.accepted else self.pool.reject
            return [close(slot, decision.reason, task_id=task.id, stats=stats)]
        except CandidateError:
            return []  # another process was faster

    def _rewrite(self, assignment: Assignment, tally: Tally, critique: str) -> list[Event]:
        slot, task = assignment.slot, assignment.task
        direction = self._direction(tally.accuracy)
        if direction is None or self.pool.candidate(slot) is not None or self.pool.active(slot).id != task.id:
            return []
        history = self.pool.events(slot)
        # Only what failed beside the present task: a slot that was made easier must be able to climb back.
        last = max((i for i, event in enumerate(history) if event.kind == "accepted"), default=-1)
        tried = frozenset(event.task_id for event in history[last + 1 :] if event.kind == "rejected")
        rng = np.random.default_rng([self.seed, slot, len(history)])
        result = self.rewriter.rewrite(Request(task, direction, tally.accuracy, tried, critique), rng)
        stats = {"successes": tally.successes, "n": tally.n}
        events = [self.pool.discard(slot, rejection, stats=stats) for rejection in result.rejections]
        if result.candidate is not None:
            with contextlib.suppress(CandidateError):  # another process was faster
                events.append(self.pool.propose(slot, result.candidate, stats=stats))
        return events

    def _parent_tally(self, slot: int) -> Tally:
        """The group that called for the waiting candidate."""
        stats = self.pool.events(slot, kind="proposed")[-1].stats
        if "n" in stats:
            return Tally(stats["successes"], stats["n"])
        # Somebody else proposed it, by hand say: then the parent's latest group.
        active = self.pool.outcomes(slot, self.pool.active(slot).id, role="active", errors=False)
        return Tally.of([record.outcome for record in active[-self.rollouts :]])

    def _direction(self, accuracy: float) -> Direction | None:
        low, high = self.band
        return "easier" if accuracy <= low else "harder" if accuracy >= high else None

    def _waiting(self) -> list[int]:
        """Slots with a candidate, from the events since the last look: also those of other processes."""
        for event in self.pool.events(since=self._seen):
            self._seen = event.index
            if event.kind == "proposed":
                self._pending[event.slot] = None
            elif event.kind != "discarded":
                self._pending.pop(event.slot, None)
        return list(self._pending)
