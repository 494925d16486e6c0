"""Read-only access to a run's pool, also while the run writes to it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

from rlanything_agents.runs.stored.folder import ReadError, SafeFolder
from rlanything_task_pools import TaskPool

__all__ = ["open_pool"]

POOL = "pool.sqlite"
PATIENCE = 200_000_000
"""Limit of SQLite instructions per connection: half a minute; a pool of 1,000 slots takes 1 % of it."""


class _WatchedPool(TaskPool):
    """A pool on a read-only connection, which does not block writers in write-ahead mode."""

    @property
    def _db(self) -> sqlite3.Connection:
        if self._connection is None:
            connection = sqlite3.connect(
                f"file:{quote(str(self.path.absolute()))}?mode=ro",
                uri=True,
                timeout=self._timeout,
                isolation_level=None,
                check_same_thread=False,
            )
            # The file is untrusted: its schema must not run code, and no query may run forever.
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.set_progress_handler(lambda: 1, PATIENCE)
            self._connection, self._pid = connection, os.getpid()
        return self._connection


@contextmanager
def open_pool(folder: SafeFolder) -> Iterator[TaskPool | None]:
    """Open the current pool of a run; None where the run has none yet.

    Raises:
        ReadError: The file is no pool, or cannot be read.
    """
    try:
        for name in (POOL, f"{POOL}-wal", f"{POOL}-shm"):
            if name == POOL or (folder.root / name).is_symlink():
                folder.open(name).close()
    except FileNotFoundError:
        yield None
        return
    try:
        with _WatchedPool.open(folder.root / POOL, timeout=2.0) as pool, pool.snapshot():
            yield pool
    except ReadError:
        raise
    except (ValueError, LookupError, TypeError, RecursionError, sqlite3.Error) as error:
        # Any error that reading a damaged file may raise.
        raise ReadError(f"{POOL} cannot be read: {type(error).__name__}: {error}") from None
