"""Groups whose episodes come in one by one, from any process: a small SQLite file beside the pool's.

It holds what a pool's logs do not: which task a group in play has, and the outcomes of its episodes so far. A complete
group leaves it and goes to the pool as one record.
"""

import sqlite3
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from rlanything_envs.curriculum.curriculum import Assignment
from rlanything_task_pools import Outcome, Task, TaskPool, UnknownTask
from rlanything_task_pools.file import PoolFile

_TABLES = (
    "CREATE TABLE IF NOT EXISTS groups (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, "
    "slot INTEGER NOT NULL, task TEXT NOT NULL, role TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS episodes (number INTEGER NOT NULL, success INTEGER, score REAL NOT NULL, "
    "steps INTEGER NOT NULL, actor TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS episodes_number ON episodes (number)",
)

KEPT = 4096
"""Number of groups after which one that was never complete is forgotten: many times what any trainer has in play."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group in play.

    Attributes:
        number: its number among all groups dealt from this pool by name, from 1.
        assignment: its task, slot and role.
    """

    number: int
    assignment: Assignment

    @property
    def task(self) -> Task:
        """The task that all of its episodes play."""
        return self.assignment.task


class OpenGroups(PoolFile):
    """The groups in play of a pool, in the file ``POOL.groups``, for several threads and processes.

    Args:
        pool: the pool; with one in memory, this is in memory too.
    """

    def __init__(self, pool: TaskPool) -> None:
        super().__init__(pool.path if pool.in_memory else f"{pool.path}.groups")
        self._pool = pool
        self._log_ahead()
        with self._transaction() as db:
            for statement in _TABLES:
                db.execute(statement)

    def join(self, name: str | None, deal: Callable[[Collection[int]], Assignment], last: int) -> Group:
        """The open group of a name; a new one if there is none, and for the name None.

        Args:
            name: by which the episodes of one group find each other.
            deal: makes the assignment of a new group from the slots of other open groups; one process at a time.
            last: number of open groups, those dealt last, of which `deal` is given the slots.
        """
        with self._transaction() as db:
            found = db.execute("SELECT number, slot, task, role FROM groups WHERE name = ?", (name,)).fetchone()
            if found is not None:
                number, slot, task_id, role = found
                try:
                    return Group(number, Assignment(slot, self._pool.task_in(slot, task_id), role))
                except UnknownTask:  # the pool was set back to an earlier state
                    self._take(db, number)
            db.execute("DELETE FROM episodes WHERE number <= (SELECT max(number) FROM groups) - ?", (KEPT,))
            db.execute("DELETE FROM groups WHERE number <= (SELECT max(number) FROM groups) - ?", (KEPT,))
            open_slots = db.execute("SELECT slot FROM groups ORDER BY number DESC LIMIT ?", (last,)).fetchall()
            assignment = deal([slot for (slot,) in open_slots])
            row = db.execute(
                "INSERT INTO groups (name, slot, task, role) VALUES (?, ?, ?, ?)",
                (name, assignment.slot, assignment.task.id, assignment.role),
            )
            return Group(int(row.lastrowid or 0), assignment)

    def add(self, group: Group, outcome: Outcome, size: int) -> list[Outcome] | None:
        """Add the outcome of an episode.

        Returns:
            All outcomes of the group if this was the last of `size`, and the group is closed; an empty list before;
            None for a group that is not open, and then the outcome is not stored.
        """
        with self._transaction() as db:
            if not db.execute("SELECT 1 FROM groups WHERE number = ?", (group.number,)).fetchone():
                return None
            db.execute(
                "INSERT INTO episodes VALUES (?, ?, ?, ?, ?)",
                (group.number, outcome.success, outcome.score, outcome.steps, outcome.actor),
            )
            ((count,),) = db.execute("SELECT count(*) FROM episodes WHERE number = ?", (group.number,))
            return _outcomes(self._take(db, group.number), group.assignment) if count >= size else []

    @staticmethod
    def _take(db: sqlite3.Connection, number: int) -> list[tuple[Any, ...]]:
        """Remove a group; returns the rows of its episodes."""
        rows = db.execute(
            "SELECT success, score, steps, actor FROM episodes WHERE number = ? ORDER BY rowid", (number,)
        ).fetchall()
        db.execute("DELETE FROM episodes WHERE number = ?", (number,))
        db.execute("DELETE FROM groups WHERE number = ?", (number,))
        return rows


def _outcomes(rows: list[tuple[Any, ...]], assignment: Assignment) -> list[Outcome]:
    return [
        Outcome(
            success=None if success is None else bool(success),
            score=score,
            steps=steps,
            actor=actor,
            role=assignment.role,
        )
        for success, score, steps, actor in rows
    ]
