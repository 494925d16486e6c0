"""`CurriculumSource`: tasks that adapt, for a trainer of any make, which takes them and gives outcomes back."""

import os
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rlanything_envs.curriculum.acceptance import Tally
from rlanything_envs.curriculum.curriculum import Assignment, Curriculum
from rlanything_envs.curriculum.monitor import CurriculumMonitor
from rlanything_envs.curriculum.open_groups import Group, OpenGroups
from rlanything_envs.curriculum.rewrite_request import CritiqueSource
from rlanything_task_pools import Outcome, TaskPool
from rlanything_task_pools.file import fork_lock


class CurriculumSource(Iterator[Assignment]):
    """Tasks that adapt while a trainer learns from them: it takes tasks, plays each `rollouts` times, and gives the
    outcomes back. It never ends.

    A loop of yours takes assignments and observes whole groups:

    ```python
    source = CurriculumSource("pool.sqlite", rollouts=8)
    for assignment in source:
        outcomes = [play(assignment.task) for _ in range(source.rollouts)]  # True, False, or None for a failure
        if source.observe(assignment, outcomes):
            learn_from(...)
    ```

    A trainer that plays the episodes of a group one by one, perhaps in several processes, calls `join` with the group's
    name when an episode begins and `end` when it is over; the adapters to TRL, SkyRL-Gym and verifiers do.

    State is in the pool, and what is in play is in a file beside it, so several processes may have a source each on one
    pool, and a process that starts again goes on where it was.

    A group of one outcome teaches a trainer nothing that compares the episodes of a group. So a task whose last group
    was all solved or all failed is skipped for as many groups as the pool has slots, unless a rewrite of it waits to be
    tried; and a trainer that drops such a group takes another one from the source.

    Args:
        pool: the pool, or its path.
        rollouts: episodes in a group; as many as the trainer plays of one prompt.
        skip: whether tasks without spread are skipped.
        actor: name of the agent, stored with the outcomes.
        seed: seeds the choice of slots, and the rewriter's choices.
        settings: other arguments of `Curriculum`, such as ``acceptance``. Rewriting is in the background by default.

    Raises:
        PoolError: the path is not that of a pool.
        SettingError, KnobError: see `Curriculum`.
    """

    def __init__(
        self,
        pool: TaskPool | str | os.PathLike[str],
        *,
        rollouts: int = 8,
        skip: bool = True,
        actor: str = "agent",
        seed: int = 0,
        **settings: Any,
    ) -> None:
        self._owns_pool = not isinstance(pool, TaskPool)
        if not isinstance(pool, TaskPool):
            pool = TaskPool.open(pool)
        self.curriculum = Curriculum(pool, rollouts=rollouts, seed=seed, **{"rewriting": "background", **settings})
        self.skip = skip
        self.actor = actor
        self.rng = np.random.default_rng(seed)
        self._slots = pool.slots
        # As many as leave one slot: a group that is never observed must not keep its slot for ever.
        self._taken: deque[int] = deque(maxlen=len(self._slots) - 1)
        self._groups: OpenGroups | None = None
        self._monitor = CurriculumMonitor(pool, band=self.curriculum.band)
        self._lock = fork_lock()  # taken before the locks of the two files

    @property
    def pool(self) -> TaskPool:
        """The pool that is played and adapted."""
        return self.curriculum.pool

    @property
    def rollouts(self) -> int:
        """Episodes in a group."""
        return self.curriculum.rollouts

    # -- whole groups ----------------------------------------------------------------------------------------

    def __next__(self) -> Assignment:
        """The next group to play, on a slot without a group in play where there is one."""
        with self._lock:
            assignment = self._deal(self._taken)
            self._taken.append(assignment.slot)
            return assignment

    def observe(
        self, assignment: Assignment, outcomes: Sequence[Outcome | bool | None], *, critique: CritiqueSource = ""
    ) -> bool:
        """Give the outcomes of a group back; its task may be rewritten, or a trial of a rewrite decided.

        Args:
            assignment: the group.
            outcomes: one for each episode: an `Outcome`, or whether it was solved, or None where the machinery failed.
                Fewer than `rollouts` are recorded and decide nothing.
            critique: see `Curriculum.report`.

        Returns:
            Whether the group has spread: some episodes solved and some failed.
        """
        records = [
            outcome if isinstance(outcome, Outcome) else self.outcome(assignment, outcome) for outcome in outcomes
        ]
        with self._lock:
            if assignment.slot in self._taken:
                self._taken.remove(assignment.slot)
            if len(records) >= self.rollouts:
                self.curriculum.report(assignment, records, critique=critique)
            elif records:
                self.curriculum.record(assignment, records)
        return Tally.of(records).spread

    def outcome(
        self, assignment: Assignment, success: bool | None, *, score: float | None = None, steps: int = 0
    ) -> Outcome:
        """The record of an episode.

        Args:
            assignment: its group.
            success: whether it was solved; None where the machinery failed.
            score: the verifier's score; 1 for a solved episode and 0 for any other if None.
            steps: number of answers.
        """
        score = float(bool(success)) if score is None else score
        return Outcome(success=success, score=score, steps=steps, actor=self.actor, role=assignment.role)

    # -- episodes one by one ---------------------------------------------------------------------------------

    def join(self, name: str | None = None) -> Group:
        """The group of an episode that begins.

        Args:
            name: what the trainer calls the group; episodes that join by one name, in any process, play one task, until
                the group is complete. None begins a group.
        """
        with self._lock:
            return self._open.join(name, self._deal, len(self._slots) - 1)

    def end(self, group: Group, success: bool | None, *, score: float | None = None, steps: int = 0) -> bool | None:
        """Give the outcome of one episode back; with the last one of a group, what `observe` does.

        An outcome of a group that is complete already is recorded and decides nothing.

        Args:
            group: the group, by `join`.
            success: see `outcome`, as `score` and `steps`.
            score: the verifier's score.
            steps: number of answers.

        Returns:
            Whether the group has spread; None while it is incomplete, and after that.
        """
        outcome = self.outcome(group.assignment, success, score=score, steps=steps)
        with self._lock:
            outcomes = self._open.add(group, outcome, self.rollouts)
            if outcomes is None:
                self.curriculum.record(group.assignment, [outcome])
            spread = self.observe(group.assignment, outcomes) if outcomes else None
            # Here too, since a process that only ends episodes never takes an assignment.
            self.curriculum.drain()
            self.curriculum.begin_rewrites()
        return spread

    # -- a trainer's log ---------------------------------------------------------------------------------------

    def metrics(self) -> dict[str, float]:
        """The curriculum in numbers, for a trainer's log.

        Returns:
            Since the pool began: `groups` of episodes, `errors` (episodes), rewrites `proposed`, `accepted` and
            `rejected` after a trial, and `pool_size`, the number of tasks. Now: `rewritten`, the share of slots whose
            task is not their first one. Since the last call, where groups on active tasks ended: `in_band`, their share
            inside the band, and `accuracy`, their mean success rate.
        """
        with self._lock:
            row = self._monitor.row()
        numbers: dict[str, float | None] = {
            "groups": row.groups,
            "errors": row.errors,
            "proposed": row.proposed,
            "accepted": row.accepted,
            "rejected": sum(row.rejected.values()),
            "pool_size": self.pool.counts()["tasks"],
            "rewritten": row.rewritten,
            "in_band": row.inside,
            "accuracy": row.accuracy,
        }
        return {name: float(number) for name, number in numbers.items() if number is not None}

    # -- life ------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """State that is not in the pool, for a trainer's checkpoint: that of the random choice of slots."""
        return {"rng": self.rng.bit_generator.state}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue the choice of slots from a `state_dict`."""
        self.rng.bit_generator.state = state["rng"]

    def close(self) -> None:
        """Wait up to a second for running rewrites; groups in play stay open for the next source."""
        if self._groups is not None:
            self._groups.close()
        self.curriculum.close()
        if self._owns_pool:
            self.pool.close()

    def __enter__(self) -> "CurriculumSource":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _open(self) -> OpenGroups:
        if self._groups is None:
            self._groups = OpenGroups(self.pool)
        return self._groups

    def _deal(self, taken: Collection[int]) -> Assignment:
        flat = self.curriculum.flat() if self.skip else set()
        without = flat.union(taken)
        if without.issuperset(self._slots):
            without = set(taken)
        (assignment,) = self.curriculum.assign(1, self.rng, without=without)
        return assignment
