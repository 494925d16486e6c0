"""The task pool: one SQLite file that remembers every task, rewrite and outcome of a run.

A pool has *slots*. A slot starts with a root task; its *active* task is the one being trained on; a
proposed rewrite waits as its *candidate* until it is accepted (and takes the active task's place) or
rejected. Task contents are stored once, by content; who was made from whom is stored per slot as
*versions*, because the same content can be reached twice. Outcomes and events are append-only.

Every method is one transaction, so a process killed at any instruction leaves the pool as it was before or
after the call, and several processes may work on one pool. Nothing of the state depends on a clock.
"""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from rlanything_task_pools.frozen import FrozenDict, canonical_json
from rlanything_task_pools.records import (
    APPLICATION_ID,
    SCHEMA,
    SCHEMA_VERSION,
    Event,
    EventKind,
    OutcomeRecord,
    pack,
    unpack,
)
from rlanything_task_pools.task import Outcome, Rejection, Role, Task


class PoolError(ValueError):
    """A pool cannot do what was asked; the message says why and what to do."""


class PoolExists(PoolError):
    """A new pool was asked for where one is."""


class PoolMissing(PoolError):
    """There is no pool at the path."""


class EmptyPool(PoolError):
    """A pool of no tasks was asked for."""


class PoolVersionError(PoolError):
    """The file is not a pool, or one of another schema version."""


class CandidateError(PoolError):
    """The slot has a candidate already, has none, or has another one than the caller decided on."""


class UnknownSlot(LookupError):
    """The pool has no slot of this number."""


class UnknownTask(LookupError):
    """The pool, or the slot, has no task of this id."""


class TaskPool:
    """Slots of tasks that change while an agent learns, in one SQLite file (see the module's text)."""

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 30.0) -> None:
        """Connect to a file; use `create` or `open`.

        Args:
            path: The SQLite file.
            timeout: Seconds to wait for another process that is writing.
        """
        self.path = Path(path)
        self._timeout = timeout
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._pid = 0

    @classmethod
    def create(cls, path: str | os.PathLike[str], tasks: Iterable[Task], *, timeout: float = 30.0) -> Self:
        """Make a pool with one slot for each task, numbered from 0 in their order.

        Raises:
            EmptyPool: There are no tasks.
            PoolExists: There is a pool (or another SQLite database) at the path.
            PoolError: Two of the tasks are the same.
        """
        roots = list(tasks)
        if not roots:
            raise EmptyPool(f"no tasks for the pool {path}: generate or load at least one")
        first: dict[str, int] = {}
        for number, task in enumerate(roots):
            if (twin := first.setdefault(task.id, number)) != number:
                raise PoolError(f"tasks {twin} and {number} are the same ({task.id}): give each slot its own")
        pool = cls(path, timeout=timeout)
        with contextlib.ExitStack() as undo:
            undo.callback(pool.close)
            pool._db.execute("PRAGMA journal_mode = WAL")
            with pool._transaction() as db:
                if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    raise PoolExists(f"{path} exists: open it with TaskPool.open, or choose another path")
                for statement in SCHEMA:
                    db.execute(statement)
                for slot, task in enumerate(roots):
                    version = pool._add_version(db, slot, task)
                    db.execute("INSERT INTO slots VALUES (?, ?, ?, NULL)", (slot, version, version))
                db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            undo.pop_all()
        return pool

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, timeout: float = 30.0) -> Self:
        """Open an existing pool.

        Raises:
            PoolMissing: There is no file, or its creation was cut short.
            PoolVersionError: Not a pool, or one of another schema version.
        """
        if not Path(path).is_file():
            raise PoolMissing(f"no task pool at {path}: make one with TaskPool.create")
        pool = cls(path, timeout=timeout)
        with contextlib.ExitStack() as undo:
            undo.callback(pool.close)
            try:
                application = pool._db.execute("PRAGMA application_id").fetchone()[0]
                version = pool._db.execute("PRAGMA user_version").fetchone()[0]
                tables = pool._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            except sqlite3.DatabaseError as error:
                raise PoolVersionError(f"{path} is not a task pool ({error}): choose another path") from None
            if not tables:
                raise PoolMissing(f"the pool {path} was never finished: make it again with TaskPool.create")
            if application != APPLICATION_ID:
                raise PoolVersionError(f"{path} is a database but not a task pool: choose another path")
            if version != SCHEMA_VERSION:
                raise PoolVersionError(
                    f"the pool {path} has schema version {version}, this library reads {SCHEMA_VERSION}: "
                    "use the library version that made it, or create a new pool"
                )
            undo.pop_all()
        return pool

    # -- life ------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Release the file; using the pool again connects anew."""
        with self._lock:
            if self._connection is not None and self._pid == os.getpid():
                self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (type(self), str(self.path), self._timeout)

    @property
    def _db(self) -> sqlite3.Connection:
        # SQLite connections must not cross a fork: a child process connects for itself and leaves the
        # parent's alone.
        if self._connection is None or self._pid != os.getpid():
            self._connection = sqlite3.connect(
                self.path, timeout=self._timeout, isolation_level=None, check_same_thread=False
            )
            self._pid = os.getpid()
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute("PRAGMA foreign_keys = ON")
        return self._connection

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            db = self._db
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._db.execute(query, values).fetchall()

    # -- tasks -----------------------------------------------------------------------------------------------

    @property
    def slots(self) -> list[int]:
        """The slot numbers, ascending."""
        return [row[0] for row in self._rows("SELECT slot FROM slots ORDER BY slot")]

    def task(self, task_id: str) -> Task:
        """A task by its id, with the lineage under which it first came.

        Raises:
            UnknownTask: The pool has no such task.
        """
        rows = self._rows("SELECT min(version) FROM versions WHERE task = ?", (task_id,))
        if rows[0][0] is None:
            raise UnknownTask(f"{self.path} has no task {task_id!r}")
        return self._version(rows[0][0])

    def root(self, slot: int) -> Task:
        """The task a slot began with."""
        return self._version(self._slot(slot)[0])

    def active(self, slot: int) -> Task:
        """The task a slot trains on now."""
        return self._version(self._slot(slot)[1])

    def candidate(self, slot: int) -> Task | None:
        """The rewrite that waits for a decision, if any."""
        version = self._slot(slot)[2]
        return None if version is None else self._version(version)

    def history(self, slot: int) -> list[Task]:
        """The tasks that were active in a slot, the root first, the active one last."""
        root = self._slot(slot)[0]
        rows = self._rows("SELECT version FROM events WHERE slot = ? AND kind = 'accepted' ORDER BY event", (slot,))
        return [self._version(version) for version in [root, *(row[0] for row in rows)]]

    def lineage(self, task_id: str) -> list[Task]:
        """From the root to a task: each one the parent of the next.

        Raises:
            UnknownTask: The pool has no such task.
        """
        chain = [self.task(task_id)]
        while chain[-1].parent is not None:
            chain.append(self.task(chain[-1].parent))
        return chain[::-1]

    def _slot(self, slot: int) -> tuple[int, int, int | None]:
        rows = self._rows("SELECT root, active, candidate FROM slots WHERE slot = ?", (slot,))
        if not rows:
            raise UnknownSlot(f"{self.path} has no slot {slot!r}; its slots are 0..{len(self.slots) - 1}")
        root, active, candidate = rows[0]
        return root, active, candidate

    def _version(self, version: int) -> Task:
        ((data, lineage),) = self._rows(
            "SELECT tasks.data, versions.lineage FROM versions JOIN tasks ON tasks.id = versions.task "
            "WHERE version = ?",
            (version,),
        )
        return Task.from_dict({**unpack(data), **unpack(lineage)})

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
        """Append the outcomes of episodes on a task of a slot.

        Raises:
            UnknownSlot: The pool has no such slot.
            UnknownTask: The slot never had this task.
        """
        with self._transaction() as db:
            self._slot(slot)
            if not db.execute("SELECT 1 FROM versions WHERE slot = ? AND task = ?", (slot, task_id)).fetchone():
                raise UnknownTask(f"slot {slot} of {self.path} never had the task {task_id!r}")
            now = db.execute("SELECT ifnull(max(event), 0) FROM events").fetchone()[0]
            db.executemany(
                "INSERT INTO outcomes (event, slot, task, role, success, score, steps, actor) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [(now, slot, task_id, o.role, o.success, o.score, o.steps, o.actor) for o in outcomes],
            )

    def propose(self, slot: int, task: Task, *, stats: Mapping[str, Any] | None = None) -> Event:
        """Make a validated rewrite of the active task the slot's candidate.

        Raises:
            CandidateError: The slot has a candidate, or the task is not a rewrite of what is active now.
        """
        with self._transaction() as db:
            _, active, pending = self._slot(slot)
            if pending is not None:
                raise CandidateError(f"slot {slot} has a candidate already: accept or reject it first")
            parent = self._version(active)
            if task.rewrite is None or task.parent != parent.id:
                raise CandidateError(
                    f"task {task.id} is a rewrite of {task.parent}, but slot {slot} has {parent.id} active: "
                    "rewrite the active task"
                )
            if task.id == parent.id:
                raise CandidateError(f"the candidate {task.id} is the active task of slot {slot} itself")
            version = self._add_version(db, slot, task)
            db.execute("UPDATE slots SET candidate = ? WHERE slot = ?", (version, slot))
            return self._log(db, "proposed", slot, version, task, task.rewrite.direction, stats)

    def accept(
        self,
        slot: int,
        reason: str,
        *,
        task_id: str | None = None,
        stats: Mapping[str, Any] | None = None,
    ) -> Event:
        """Put the candidate in the active task's place.

        Args:
            slot: Slot number.
            reason: Short slug, kept in the event.
            task_id: The candidate the decision is about; checked when given, for more than one deciding
            process. stats: Numbers behind the decision, kept in the event.

        Raises:
            CandidateError: The slot has no candidate, or not this one.
        """
        return self._decide("accepted", slot, reason, task_id, stats)

    def reject(
        self,
        slot: int,
        reason: str,
        *,
        task_id: str | None = None,
        stats: Mapping[str, Any] | None = None,
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
            db.execute("UPDATE slots SET candidate = NULL WHERE slot = ?", (slot,))
            return self._log(db, kind, slot, version, task, reason, stats)

    def discard(self, slot: int, rejection: Rejection, *, stats: Mapping[str, Any] | None = None) -> Event:
        """Put on record a proposal that never became a candidate, with the reason its validation gave."""
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

    # -- reading the log -------------------------------------------------------------------------------------

    def events(self, slot: int | None = None, *, kind: EventKind | None = None, since: int = 0) -> list[Event]:
        """The decisions on record, in order; ``since`` leaves out events with an index up to it."""
        rows = self._rows(
            "SELECT event, kind, slot, task, reason, stats FROM events WHERE event > ? "
            "AND (? IS NULL OR slot = ?) AND (? IS NULL OR kind = ?) ORDER BY event",
            (since, slot, slot, kind, kind),
        )
        return [Event.from_row(row) for row in rows]

    def outcomes(
        self,
        slot: int | None = None,
        task_id: str | None = None,
        *,
        role: Role | None = None,
        since: int = 0,
        errors: bool = True,
    ) -> list[OutcomeRecord]:
        """The outcomes on record, in order.

        Args:
            slot: Only of this slot.
            task_id: Only on this task.
            role: Only of this role.
            since: Only those recorded after the event of this index had happened.
            errors: Whether to give outcomes of episodes that the infrastructure broke (success None) too.
        """
        rows = self._rows(
            "SELECT outcome, event, slot, task, role, success, score, steps, actor FROM outcomes "
            "WHERE event >= ? AND (? IS NULL OR slot = ?) AND (? IS NULL OR task = ?) "
            "AND (? IS NULL OR role = ?) AND (? OR success IS NOT NULL) ORDER BY outcome",
            (since, slot, slot, task_id, task_id, role, role, errors),
        )
        return [OutcomeRecord.from_row(row) for row in rows]

    def counts(self) -> dict[str, int]:
        """How many slots, tasks, outcomes, broken episodes, and events of each kind the pool holds."""
        with self._lock:
            self._db.execute("BEGIN")
            try:
                one = {
                    name: int(self._rows(f"SELECT count(*) FROM {name}")[0][0])
                    for name in ("slots", "tasks", "outcomes")
                }
                one["errors"] = int(self._rows("SELECT count(*) FROM outcomes WHERE success IS NULL")[0][0])
                one["pending"] = int(self._rows("SELECT count(candidate) FROM slots")[0][0])
                one["rewritten"] = int(self._rows("SELECT count(*) FROM slots WHERE active != root")[0][0])
                kinds = dict(self._rows("SELECT kind, count(*) FROM events GROUP BY kind"))
            finally:
                self._db.execute("COMMIT")
        return one | {kind: kinds.get(kind, 0) for kind in ("proposed", "accepted", "rejected", "discarded")}

    # -- checkpoints -----------------------------------------------------------------------------------------

    def copy(self, path: str | os.PathLike[str]) -> Path:
        """Write the pool as it is at this moment to another file, for a checkpoint.

        The file appears complete or not at all.

        Raises:
            PoolExists: There is a file at the path.
        """
        target = Path(path)
        if target.exists():
            raise PoolExists(f"{target} exists: choose another path for the copy")
        unfinished = target.with_name(f".{target.name}.{os.getpid()}.part")
        unfinished.unlink(missing_ok=True)
        with self._lock, contextlib.closing(sqlite3.connect(unfinished)) as copy:
            self._db.backup(copy)
            # A checkpoint is one file to copy about: without the write-ahead log of a live pool.
            copy.execute("PRAGMA journal_mode = DELETE")
        unfinished.replace(target)
        return target

    def restore(self, snapshot: str | os.PathLike[str]) -> None:
        """Make this pool what a `copy` of it was, in one transaction; later outcomes and events are gone.

        Raises:
            PoolMissing, PoolVersionError: The snapshot is not a pool.
        """
        with TaskPool.open(snapshot, timeout=self._timeout) as source, self._lock:
            source._db.backup(self._db)
            self._db.execute("PRAGMA journal_mode = WAL")


def _reopen(kind: type[TaskPool], path: str, timeout: float) -> TaskPool:
    return kind(path, timeout=timeout)
