"""The curriculum: draws groups of episodes from a task pool and rewrites tasks by their outcomes.

The life of a candidate: the success rate of an active task's group leaves the band -> the rewriter proposes -> the
domain proves the proposal solvable -> the candidate waits in the slot -> groups of the candidate are played -> the
acceptance rule accepts it into the slot or rejects it. Each step is an event with its reason in the pool.

A new task in place of a rewrite (`FreshRewriter`) takes the slot at once, as its root.

Everything but the choice of slots is a function of the pool's content and `seed`, so a run that is resumed from its
pool continues as if it had not been interrupted.
"""

import contextlib
import os
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from rlanything_envs.curriculum.acceptance import Acceptance, Decision, Tally, Trial, TrialRole, get_acceptance
from rlanything_envs.curriculum.ledger import WINDOW, Ledger, OpenTrial
from rlanything_envs.curriculum.rewrite_request import BACKGROUND, CritiqueSource, RewriteRequest
from rlanything_envs.curriculum.rewriter import Rewriter, Rewriting, get_rewriter
from rlanything_envs.errors import SettingError
from rlanything_task_pools import FRESH, CandidateError, Event, Outcome, Task, TaskPool, get_domain
from rlanything_task_pools.task import Direction


@dataclass(frozen=True, slots=True)
class Assignment:
    """One group of episodes to play: `Curriculum.rollouts` times the same task."""

    slot: int
    task: Task
    role: TrialRole


def rewrite_direction(accuracy: float, band: tuple[float, float]) -> Direction | None:
    """Direction in which a task with this success rate is rewritten; None for one inside the band."""
    low, high = band
    return "easier" if accuracy <= low else "harder" if accuracy >= high else None


def _variance(tally: Tally) -> float:
    """Variance of an outcome at the success rate of these episodes, which is what a group of them can teach."""
    rate = tally.accuracy if tally.n else 0.5
    return rate * (1 - rate)


class Curriculum:
    """Draws groups from a pool and adapts the pool to their outcomes; independent of Gymnasium.

    ```python
    curriculum = Curriculum(TaskPool.open("pool.sqlite"))
    for assignment in curriculum.assign(16, rng):
        outcomes = [play(assignment.task, assignment.role) for _ in range(curriculum.rollouts)]
        curriculum.report(assignment, outcomes)
    ```

    Args:
        pool: the tasks; other processes may work on the same pool. After `TaskPool.restore`, make a new
            curriculum.
        rewriter: source of candidates, by name ("scripted", "fresh") or as an object.
        acceptance: the rule for candidates, by name ("paper", "reference", "recommended", "always") or as an object.
        band: ``(low, high)``; a success rate outside the open interval triggers a rewrite. (0.2, 0.8) is the
            paper's default.
        rollouts: episodes in a group. A group with fewer than half of them valid is not measured.
        rewriting: "inline" rewrites within `report`. "background" rewrites on threads of this process while episodes
            run: finished rewrites take effect in the next `assign`, or, at a point of the caller's choice and in a
            fixed order, in ``drain(wait=True)``. Rewriters must then be thread-safe.
        seed: seeds the rewriter's choices, together with the slot and the length of its history.
        sampling: "uniform", as published, or "profile": active tasks are drawn in proportion to p (1 - p), where p is
            the success rate of the last 32 episodes, such as those of `rlanything pool profile`. Tasks that were never
            or always solved are left out while there are others; a task that was not played counts as p = 1/2.
        operators: the domain's rewrite operators to enable for a rewriter given by name, other than "fresh"; the
            domain's defaults if None.

    Raises:
        SettingError: the band is not ``0 <= low < high <= 1``, `rollouts` is below 1, a name is
            unknown, or operators are given with a rewriter object.
        KnobError: the domain has no such operator.
    """

    def __init__(
        self,
        pool: TaskPool,
        rewriter: str | Rewriter = "scripted",
        acceptance: str | Acceptance = "paper",
        *,
        band: tuple[float, float] = (0.2, 0.8),
        rollouts: int = 8,
        rewriting: Literal["inline", "background"] = "inline",
        seed: int = 0,
        sampling: Literal["uniform", "profile"] = "uniform",
        operators: Iterable[str] | None = None,
    ) -> None:
        low, high = band
        if not 0.0 <= low < high <= 1.0:
            raise SettingError(f"Curriculum: band must be 0 <= low < high <= 1, got {band!r}")
        if rollouts < 1:
            raise SettingError(f"Curriculum: rollouts must be at least 1, got {rollouts}")
        if rewriting not in ("inline", "background"):
            raise SettingError(f"Curriculum: rewriting {rewriting!r} is unknown; choose 'inline' or 'background'")
        if sampling not in ("uniform", "profile"):
            raise SettingError(f"Curriculum: sampling {sampling!r} is unknown; choose 'uniform' or 'profile'")
        if operators is not None:
            if not isinstance(rewriter, str):
                raise SettingError("Curriculum: operators go with a rewriter's name; give them to the rewriter")
            operators = tuple(operators)
            get_domain(pool.root(pool.slots[0]).domain).with_operators(operators)  # fail now on an unknown one
        self.pool = pool
        self.rewriter = get_rewriter(rewriter, operators=operators)
        self.acceptance = get_acceptance(acceptance)
        self.band = (low, high)
        self.rollouts = rollouts
        self.rewriting = rewriting
        self.seed = seed
        self.sampling = sampling
        self._slots = pool.slots
        self._ledger = Ledger(pool, rollouts)
        self._requests: dict[int, RewriteRequest] = {}  # by slot, oldest first
        self._begun: dict[int, Future[Rewriting]] = {}  # running rewrites, by slot
        self._process = os.getpid()
        if rewriting == "background":
            BACKGROUND.start()

    # -- assignments -----------------------------------------------------------------------------------------

    def assign(self, n: int, rng: np.random.Generator, *, without: Collection[int] = ()) -> list[Assignment]:
        """The next `n` groups, on slots other than those in `without`.

        Waiting candidates come first, the oldest first; then active tasks of the other slots, drawn by `sampling`. As
        in the released code, except that candidates count towards the `n` groups. A slot comes twice only where `n`
        exceeds the number of slots that can be drawn, and its further groups play the active task.

        Raises:
            SettingError: `without` leaves no slot.
        """
        self.drain()
        self._ledger.read()
        slots = [slot for slot in self._slots if slot not in without]
        if n and not slots:
            raise SettingError(f"Curriculum.assign: without leaves none of {len(self._slots)} slots for {n} groups")
        pending = [slot for slot in self._ledger.pending if slot not in without]
        assignments = [self._trial_group(slot) for slot in pending[:n]]
        rest = [slot for slot in slots if slot not in pending] or slots
        while len(assignments) < n:
            assignments += [self._active_group(slot) for slot in self._drawn(rest, n - len(assignments), rng)]
            rest = slots
        self.begin_rewrites()
        return assignments

    def _drawn(self, slots: Sequence[int], n: int, rng: np.random.Generator) -> list[int]:
        """At most `n` different ones of some slots, drawn by `sampling`."""
        weights = np.array([_variance(self._ledger.slot(slot).recent(WINDOW)) for slot in slots])
        if self.sampling == "uniform" or not weights.any():
            return [slots[place] for place in rng.permutation(len(slots))[:n]]
        count = min(n, int(np.count_nonzero(weights)))
        return [slots[place] for place in rng.choice(len(slots), count, replace=False, p=weights / weights.sum())]

    def flat(self) -> set[int]:
        """Slots whose active task had a last group without spread, which is as recent as the pool has slots.

        Slots with a waiting candidate are left out: a group of theirs is a trial.
        """
        self._ledger.read()
        pending, flat = set(self._ledger.pending), set()
        for slot in self._slots:
            group, tally = self._ledger.slot(slot).last
            measured = group and 2 * tally.n >= self.rollouts
            recent = self._ledger.groups - group < len(self._slots)
            if slot not in pending and measured and recent and not tally.spread:
                flat.add(slot)
        return flat

    def _active_group(self, slot: int) -> Assignment:
        return Assignment(slot, self.pool.active(slot), "active")

    def _trial_group(self, slot: int) -> Assignment:
        candidate = self.pool.candidate(slot)
        # None where another process decided it in between.
        return self._active_group(slot) if candidate is None else Assignment(slot, candidate, "candidate")

    # -- outcomes --------------------------------------------------------------------------------------------

    def report(
        self, assignment: Assignment, outcomes: Sequence[Outcome], *, critique: CritiqueSource = ""
    ) -> list[Event]:
        """Record a group's outcomes and act on them; the events are in the pool as well.

        Args:
            assignment: the group as `assign` gave it. When the slot has changed since (another group or process decided
                first), the outcomes are recorded and nothing else happens.
            outcomes: one for each episode; those with ``success=None`` (infrastructure errors) are recorded but never
                measured.
            critique: summary of the episodes for the rewriter, or a function that is called only if it is needed.

        Returns:
            The events this group caused, oldest first; a rewrite in the background, which begins with the next
            `assign` or by `begin_rewrites`, causes its own later.

        Raises:
            PoolError, UnknownTask: the pool never had such an assignment.
        """
        self.record(assignment, outcomes)
        self._ledger.read()
        tally = Tally.of(outcomes)
        measured = 2 * tally.n >= self.rollouts
        candidate = self.pool.candidate(assignment.slot)
        if candidate is not None:
            return self._judge(assignment, candidate, measured)
        return self._rewrite(assignment, tally, critique)

    def record(self, assignment: Assignment, outcomes: Sequence[Outcome]) -> None:
        """Record outcomes without acting on them, for a group that was cut short."""
        self.pool.record(assignment.slot, assignment.task.id, outcomes)

    def rewrites(self, assignment: Assignment, outcomes: Sequence[Outcome]) -> bool:
        """Whether `report` of this group would have its task rewritten; nothing is recorded."""
        return self._direction(assignment, Tally.of(outcomes)) is not None

    def rejects(self, assignment: Assignment, outcomes: Sequence[Outcome]) -> bool:
        """Whether `report` of this group alone would reject the slot's candidate; nothing is recorded."""
        slot, candidate = assignment.slot, self.pool.candidate(assignment.slot)
        self._ledger.read()
        opened, group = self._ledger.slot(slot).trial, Tally.of(outcomes)
        if candidate is None or opened is None or assignment.role != "candidate" or assignment.task.id != candidate.id:
            return False
        if 2 * group.n < self.rollouts:
            return 2 * opened.tried(candidate.id).n < self.rollouts  # "unmeasured"
        trial = self._trial(opened, candidate)
        tried = Tally(trial.candidate.successes + group.successes, trial.candidate.n + group.n)
        return self.acceptance.decide(replace(trial, candidate=tried)).verdict == "reject"

    def _judge(self, assignment: Assignment, candidate: Task, measured: bool) -> list[Event]:
        """Decide a trial, if this group was part of it and the rule has seen enough."""
        slot = assignment.slot
        opened = self._ledger.slot(slot).trial
        if opened is None or assignment.role != "candidate" or assignment.task.id != candidate.id:
            return []
        if 2 * opened.tried(candidate.id).n < self.rollouts:
            if measured:
                return []
            # A trial that cannot be measured must not block its slot.
            return self._close(slot, candidate, Decision("reject", "unmeasured"), opened)
        if not measured:  # earlier groups were
            return []
        return self._close(slot, candidate, self._decision(opened, candidate), opened)

    def _close(self, slot: int, candidate: Task, decision: Decision, opened: OpenTrial) -> list[Event]:
        """Carry out a decision."""
        tried = opened.tried(candidate.id)
        stats: dict[str, Any] = {"successes": tried.successes, "n": tried.n, "parent": opened.trigger.accuracy}
        if decision.probability is not None:
            stats["probability"] = round(decision.probability, 4)
        if decision.verdict == "more":
            return []
        close = self.pool.accept if decision.accepted else self.pool.reject
        with contextlib.suppress(CandidateError):  # another process was faster
            return [close(slot, decision.reason, task_id=candidate.id, stats=stats)]
        return []

    def _decision(self, opened: OpenTrial, candidate: Task) -> Decision:
        if candidate.rewrite is None:
            return Decision("accept", FRESH)
        return self.acceptance.decide(self._trial(opened, candidate))

    def _trial(self, opened: OpenTrial, candidate: Task) -> Trial:
        return Trial(
            direction=candidate.rewrite.direction if candidate.rewrite else "harder",
            parent=opened.trigger,
            candidate=opened.tried(candidate.id),
            band=self.band,
        )

    # -- rewriting -------------------------------------------------------------------------------------------

    def _direction(self, assignment: Assignment, tally: Tally) -> Direction | None:
        """Direction in which a group has its task rewritten; None if it has not."""
        slot = assignment.slot
        waits = slot in self._requests or self.pool.candidate(slot) is not None
        if waits or assignment.role != "active" or 2 * tally.n < self.rollouts:
            return None
        return rewrite_direction(tally.accuracy, self.band) if self.pool.active(slot).id == assignment.task.id else None

    def _rewrite(self, assignment: Assignment, tally: Tally, critique: CritiqueSource) -> list[Event]:
        slot, task = assignment.slot, assignment.task
        if (direction := self._direction(assignment, tally)) is None:
            return []
        history = self._ledger.slot(slot)
        seed = (self.seed, slot, history.events)
        request = RewriteRequest(slot, task, direction, tally, frozenset(history.tried), critique, seed)
        if self.rewriting == "inline":
            return self._apply(request, request.run(self.rewriter))
        self._requests[slot] = request
        return []

    def _apply(self, request: RewriteRequest, result: Rewriting) -> list[Event]:
        stats = {"successes": request.tally.successes, "n": request.tally.n}
        events = [self.pool.discard(request.slot, rejection, stats=stats) for rejection in result.rejections]
        if result.candidate is not None:
            events += self._propose(request.slot, request.tally, result.candidate)
        return events

    def _propose(self, slot: int, tally: Tally, candidate: Task) -> list[Event]:
        with contextlib.suppress(CandidateError):  # another process was faster
            proposed = self.pool.propose(slot, candidate, stats={"successes": tally.successes, "n": tally.n})
            opened = OpenTrial(proposed, tally)
            decision = self._decision(opened, candidate)  # some rules need no trial
            return [proposed, *self._close(slot, candidate, decision, opened)]
        return []

    def begin_rewrites(self) -> None:
        """Start the background rewrites requested since the last `assign`.

        `assign` calls this after it has read the pool, since the threads share the interpreter with it.
        """
        for slot, request in self._requests.items():
            if slot not in self._begun:
                self._begun[slot] = BACKGROUND.submit(partial(request.run, self.rewriter))

    def drain(self, *, wait: bool = False, timeout: float | None = None) -> list[Event]:
        """Let finished rewrites take effect, in the order of their requests.

        Args:
            wait: wait for the unfinished ones, so that the pool no longer depends on how long they took.
            timeout: most seconds to wait; unfinished rewrites keep running.

        Returns:
            The events, oldest first.
        """
        if self._process != os.getpid():  # after a fork the threads and their rewrites belong to the parent
            self._process = os.getpid()
            self._requests.clear()
            self._begun.clear()
        if wait and self._requests:
            self.begin_rewrites()
            wait_for(self._begun.values(), timeout)
        events: list[Event] = []
        for slot in [slot for slot in self._requests if slot in self._begun and self._begun[slot].done()]:
            events += self._apply(self._requests.pop(slot), self._begun.pop(slot).result())
        return events

    def close(self, *, timeout: float = 1.0) -> list[Event]:
        """Wait `timeout` seconds for rewrites in the background and drop those that take longer.

        A dropped rewrite leaves no record: the task's next group outside the band requests another.
        """
        events = self.drain(wait=True, timeout=timeout)
        for future in self._begun.values():
            future.cancel()
        self._requests.clear()
        self._begun.clear()
        return events
