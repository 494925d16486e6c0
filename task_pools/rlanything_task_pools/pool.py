"""The task pool: one SQLite file with every task, rewrite and outcome of a run.

A pool has *slots*. A slot starts with a root task; its *active* task is the one being trained on; a
proposed rewrite waits as its *candidate* until it is accepted (and takes the active task's place) or
rejected. Equal tasks are stored once; the lineage is stored per slot as *versions*, because the same content can be
reached twice. Outcomes and events are append-only.

Every method is one transaction, so a process that is killed at any instruction leaves the pool in the state before or
after the call, and several processes may work on one pool. No state depends on a clock.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from rlanything_task_pools.errors import CandidateError, PoolError, UnknownTask
from rlanything_task_pools.file import GROUPS
from rlanything_task_pools.frozen import FrozenDict, canonical_json
from rlanything_task_pools.reader import PoolReader
from rlanything_task_pools.records import FRESH, Event, EventKind, pack
from rlanything_task_pools.schema import create_tables
from rlanything_task_pools.task import Outcome, Rejection, Task, twins

__all__ = ["TaskPool"]


class TaskPool(PoolReader):
    """Slots of tasks that change while an agent learns, in one SQLite file; see the module's docstring."""

    @classmethod
    def create(cls, path: str | os.PathLike[str], tasks: Iterable[Task], *, timeout: float = 30.0) -> Self:
        """Make a pool with one slot for each task, numbered from 0 in order.

        Raises:
            PoolError: There are no tasks, or two of them are the same; a pool or another database exists at the path.
        """
        roots = list(tasks)
        if not roots:
            raise PoolError(f"no tasks for the pool {path}: generate or load at least one")
        if same := twins(roots):
            raise PoolError(f"tasks {same[0]} and {same[1]} are the same ({roots[same[0]].id}): give each slot its own")
        pool = cls(path, timeout=timeout)
        with contextlib.ExitStack() as undo:
            undo.callback(pool.close)
            with pool._transaction() as db:
                if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    raise PoolError(f"{path} exists: open it with TaskPool.open, or choose another path")
                for end in GROUPS:  # of an earlier pool at this path
                    Path(f"{path}{end}").unlink(missing_ok=True)
                create_tables(db)
                for slot, task in enumerate(roots):
                    version = pool._add_version(db, slot, task)
                    db.execute("INSERT INTO slots VALUES (?, ?, ?, NULL)", (slot, version, version))
            pool._log_ahead()
            undo.pop_all()
        return pool

    def _add_version(self, db: sqlite3.Connection, slot: int, task: Task) -> int:
        content = {
            "domain": task.domain, "goal": task.goal, "payload": task.payload,
            "proof": task.proof, "traits": task.traits,
        }  # fmt: skip
        rewrite = task.rewrite.model_dump() if task.rewrite else None
        lineage = {"parent": task.parent, "root": task.root, "rewrite": rewrite}
        db.execute("INSERT OR IGNORE INTO tasks VALUES (?, ?)", (task.id, pack(content)))
        row = db.execute("INSERT INTO versions (slot, task, lineage) VALUES (?, ?, ?)", (slot, task.id, pack(lineage)))
        return int(row.lastrowid or 0)

    # -- outcomes and decisions ------------------------------------------------------------------------------

    def record(self, slot: int, task_id: str, outcomes: Iterable[Outcome]) -> None:
        """Append the outcomes of episodes on a task of a slot; the outcomes of one call are one group.

        Raises:
            PoolError: The pool has no such slot.
            UnknownTask: The slot never had this task.
        """
        with self._transaction() as db:
            self._slot(slot)
            if not db.execute("SELECT 1 FROM versions WHERE slot = ? AND task = ?", (slot, task_id)).fetchone():
                raise UnknownTask(f"slot {slot} of {self.path} never had the task {task_id!r}")
            now = db.execute("SELECT ifnull(max(event), 0) FROM events").fetchone()[0]
            batch = db.execute("SELECT ifnull(max(outcome), 0) + 1 FROM outcomes").fetchone()[0]
            db.executemany(
                "INSERT INTO outcomes (event, slot, task, role, success, score, steps, actor, batch) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(now, slot, task_id, o.role, o.success, o.score, o.steps, o.actor, batch) for o in outcomes],
            )

    def propose(self, slot: int, task: Task, *, stats: Mapping[str, Any] | None = None) -> Event:
        """Make a validated rewrite of the active task the slot's candidate, or a fresh task.

        A fresh task has no parent; it becomes the slot's root when it is accepted.

        Raises:
            CandidateError: The slot has a candidate, or the task is a rewrite of another than the active task.
        """
        with self._transaction() as db:
            _, active, pending = self._slot(slot)
            if pending is not None:
                raise CandidateError(f"slot {slot} has a candidate already: accept or reject it first")
            parent = self._version(active)
            fresh = task.rewrite is None and task.parent is None
            if not fresh and (task.rewrite is None or task.parent != parent.id):
                raise CandidateError(
                    f"task {task.id} is a rewrite of {task.parent}, but slot {slot} has {parent.id} active: "
                    "rewrite the active task"
                )
            if task.id == parent.id:
                raise CandidateError(f"the candidate {task.id} is the active task of slot {slot} itself")
            version = self._add_version(db, slot, task)
            db.execute("UPDATE slots SET candidate = ? WHERE slot = ?", (version, slot))
            reason = FRESH if task.rewrite is None else task.rewrite.direction
            return self._log(db, "proposed", slot, version, task, reason, stats)

    def accept(
        self, slot: int, reason: str, *, task_id: str | None = None, stats: Mapping[str, Any] | None = None
    ) -> Event:
        """Make the candidate the active task, and the root where it is a fresh one.

        Args:
            slot: Slot number.
            reason: Short identifier, stored in the event.
            task_id: The candidate that was decided on; checked if given, for concurrent processes.
            stats: Numbers behind the decision, stored in the event.

        Raises:
            CandidateError: The slot has no candidate, or not this one.
        """
        return self._decide("accepted", slot, reason, task_id, stats)

    def reject(
        self, slot: int, reason: str, *, task_id: str | None = None, stats: Mapping[str, Any] | None = None
    ) -> Event:
        """Drop the candidate; arguments and errors as for `accept`."""
        return self._decide("rejected", slot, reason, task_id, stats)

    def _decide(
        self, kind: EventKind, slot: int, reason: str, task_id: str | None, stats: Mapping[str, Any] | None
    ) -> Event:
        with self._transaction() as db:
            version = self._slot(slot)[2]
            if version is None:
                raise CandidateError(f"slot {slot} has no candidate to decide on: propose one first")
            task = self._version(version)
            if task_id is not None and task_id != task.id:
                raise CandidateError(f"the candidate of slot {slot} is {task.id}, not {task_id}: look again")
            if kind == "accepted":
                db.execute("UPDATE slots SET active = candidate WHERE slot = ?", (slot,))
                if task.parent is None:
                    db.execute("UPDATE slots SET root = candidate WHERE slot = ?", (slot,))
            db.execute("UPDATE slots SET candidate = NULL WHERE slot = ?", (slot,))
            return self._log(db, kind, slot, version, task, reason, stats)

    def discard(self, slot: int, rejection: Rejection, *, stats: Mapping[str, Any] | None = None) -> Event:
        """Record a proposal that failed its validation, with the reason."""
        with self._transaction() as db:
            active = self._slot(slot)[1]
            noted = {**(stats or {}), "detail": rejection.detail}
            return self._log(db, "discarded", slot, active, self._version(active), rejection.reason, noted)

    def _log(
        self,
        db: sqlite3.Connection,
        kind: EventKind,
        slot: int,
        version: int,
        task: Task,
        reason: str,
        stats: Mapping[str, Any] | None,
    ) -> Event:
        row = db.execute(
            "INSERT INTO events (kind, slot, version, task, reason, stats) VALUES (?, ?, ?, ?, ?, ?)",
            (kind, slot, version, task.id, reason, canonical_json(stats or {})),
        )
        return Event(int(row.lastrowid or 0), kind, slot, task.id, reason, FrozenDict(stats or {}))
