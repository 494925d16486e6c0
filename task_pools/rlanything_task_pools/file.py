"""The file of a pool: connections, transactions, checkpoints."""

import contextlib
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from rlanything_task_pools.errors import PoolError
from rlanything_task_pools.schema import APPLICATION_ID, SCHEMA_VERSION

__all__ = ["GROUPS", "POOL_FILE", "PoolFile", "fork_lock"]

POOL_FILE = "pool.sqlite"
"""Of a pool in the folder of a run."""
GROUPS = (".groups", ".groups-wal", ".groups-shm")
"""What follows the name of a pool's file in those of its groups in play."""

_LOCKS: weakref.WeakSet[Any] = weakref.WeakSet()


def fork_lock() -> Any:
    """A reentrant lock that is free in a child process, unless the thread that forked it holds it."""
    _LOCKS.add(lock := threading.RLock())
    return lock


class PoolFile:
    """One SQLite file that several threads and processes may use; independent of tasks."""

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 30.0) -> None:
        """Connect to a file; use `TaskPool.create` or `open`.

        Args:
            path: The SQLite file.
            timeout: Seconds to wait for another process that is writing.
        """
        self.path = Path(path)
        self._timeout = timeout
        self._lock = fork_lock()
        self._connection: sqlite3.Connection | None = None
        self._pid = 0

    @property
    def in_memory(self) -> bool:
        """Whether there is no file: the path is ``:memory:``."""
        return str(self.path) == ":memory:"

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, timeout: float = 30.0) -> Self:
        """Open an existing pool.

        Args:
            path: Its file, or the folder of a run, which holds it.
            timeout: Seconds to wait for another process that is writing.

        Raises:
            PoolError: There is no file, or its creation was cut short; the file is not a pool, or has another schema
                version; or it has views or triggers, which would run on use.
        """
        path = Path(path)
        if path.is_dir():
            path /= POOL_FILE
        if not path.is_file():
            raise PoolError(
                f"no task pool at {path}: a run makes its pool after the warm start, TaskPool.create makes one"
            )
        pool = cls(path, timeout=timeout)
        with contextlib.ExitStack() as undo:
            undo.callback(pool.close)
            try:
                (application,) = pool._db.execute("PRAGMA application_id").fetchone()
                (version,) = pool._db.execute("PRAGMA user_version").fetchone()
                (tables,) = pool._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # SQLite quotes a damaged schema
                raise PoolError(f"{path} is not a task pool ({error}): choose another path") from None
            if not tables:
                raise PoolError(f"the pool {path} was never finished: make it again with TaskPool.create")
            if application != APPLICATION_ID:
                raise PoolError(f"{path} is a database but not a task pool: choose another path")
            if version != SCHEMA_VERSION:
                remedy = "upgrade rlanything-envs" if version > SCHEMA_VERSION else "make it again with TaskPool.create"
                raise PoolError(
                    f"the pool {path} has schema version {version}, this library reads {SCHEMA_VERSION}: {remedy}"
                )
            if pool._rows("SELECT 1 FROM sqlite_master WHERE type IN ('view', 'trigger') LIMIT 1"):
                raise PoolError(f"{path} has views or triggers, which no pool of ours has: it is not used")
            undo.pop_all()
        return pool

    # -- life ------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Release the file; a later use of the pool connects again."""
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
        # SQLite connections must not cross a fork: a child process opens its own. See also `_close_before_fork`.
        if self._connection is None or self._pid != os.getpid():
            self._connection = sqlite3.connect(
                self.path, timeout=self._timeout, isolation_level=None, check_same_thread=False
            )
            self._pid = os.getpid()
            _CONNECTED.add(self)
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute("PRAGMA foreign_keys = ON")
            # The file is untrusted: its schema must not run code.
            self._connection.execute("PRAGMA trusted_schema = OFF")
        return self._connection

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            db = self._db
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:  # a full disk has ended it already
                    db.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Self]:
        """All reads inside the block see the pool as it was at the first of them, in spite of concurrent writers."""
        with self._lock:
            if self._db.in_transaction:
                yield self
                return
            self._rows("BEGIN")
            try:
                yield self
            finally:
                self._rows("COMMIT")

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        try:
            with self._lock:
                return self._db.execute(query, values).fetchall()
        except (sqlite3.OperationalError, sqlite3.IntegrityError) as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:  # the queries are ours: a table or a column is not
                raise self._damaged(str(error)) from error
            raise  # from another writing process, the disk, or an interrupt
        except (sqlite3.DatabaseError, UnicodeDecodeError, OverflowError) as error:
            raise self._damaged(str(error)) from error

    def _damaged(self, what: str) -> PoolError:
        return PoolError(
            f"the pool {self.path} cannot be read ({what}): `rlanything pool verify` says all that is wrong with it"
        )

    # -- checkpoints -----------------------------------------------------------------------------------------

    def copy(self, path: str | os.PathLike[str]) -> Path:
        """Write a consistent snapshot of the pool to another file, for a checkpoint.

        The file appears complete or not at all.

        Raises:
            PoolError: There is a file at the path.
        """
        target = Path(path)
        unfinished = target.with_name(f".{target.name}.{os.getpid()}.part")
        if target.exists():
            raise PoolError(f"{target} exists: choose another path for the copy")
        try:
            unfinished.unlink(missing_ok=True)
            with self._lock, contextlib.closing(sqlite3.connect(unfinished)) as copy:
                self._db.backup(copy)
                # A checkpoint is a single file, without the write-ahead log of a live pool.
                copy.execute("PRAGMA journal_mode = DELETE")
            try:
                os.link(unfinished, target)
            except FileExistsError:  # another process was faster
                raise PoolError(f"{target} exists: choose another path for the copy") from None
            except OSError:  # a file system without links
                unfinished.replace(target)
            for end in ("-wal", "-shm", *GROUPS):  # left by a killed process, of a pool that was at this path
                Path(f"{target}{end}").unlink(missing_ok=True)
        finally:
            unfinished.unlink(missing_ok=True)
        return target

    def restore(self, snapshot: str | os.PathLike[str]) -> None:
        """Set this pool to the state of a `copy`, in one transaction; later outcomes and events are lost.

        Raises:
            PoolError: The snapshot is not a pool.
        """
        with type(self).open(snapshot, timeout=self._timeout) as source, self._lock:
            with self._transaction():
                pass  # waits for another process that is writing, as long as `timeout`; a backup waits for ever
            source._db.backup(self._db)
            self._log_ahead()

    def _log_ahead(self) -> None:
        """Turn on the write-ahead log; where others open the file at once, SQLite does not wait for its lock."""
        end = time.monotonic() + self._timeout
        while True:
            try:
                self._rows("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def damage(self) -> list[str]:
        """Faults of the file that SQLite's own check reports; empty when it is sound."""
        try:
            pages = [row[0] for row in self._rows("PRAGMA integrity_check") if row[0] != "ok"]
            loose = self._rows("PRAGMA foreign_key_check")
        except (sqlite3.DatabaseError, PoolError) as error:
            return [str(error)]
        return pages + [
            f"{table} row {row} refers to a row of {parent} that is not there" for table, row, parent, _ in loose
        ]


_CONNECTED: weakref.WeakSet[PoolFile] = weakref.WeakSet()


def _close_before_fork() -> None:
    """Close the files of this process: each connects again when it is used.

    A child inherits SQLite's table of locks. A connection that it opens to a file that was open takes no lock then, and
    a process that closes the file deletes the log (WAL) under it, with what the child has written.
    """
    for file in list(_CONNECTED):
        with file._lock:
            if not file.in_memory and file._connection is not None and not file._connection.in_transaction:
                file.close()


def _free_locks() -> None:
    for lock in list(_LOCKS):
        if not lock._is_owned():
            lock._at_fork_reinit()


os.register_at_fork(before=_close_before_fork, after_in_child=_free_locks)


def _reopen(kind: type[PoolFile], path: str, timeout: float) -> PoolFile:
    return kind(path, timeout=timeout)
