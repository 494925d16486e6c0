"""SQLite databases, opened in memory, read only, and with a limit on the work of a query."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from rlanything_verifiers.osworld.file import File

__all__ = ["query"]

_STEPS = 50_000_000
"""Instructions of SQLite's machine that a query may take: some seconds."""

_ROWS = 100_000

_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})


def query(file: File, sql: str) -> list[tuple[Any, ...]]:
    """The first rows of a query that only reads.

    Raises:
        Unreadable, VerifierError: the file is not a database, it lacks what the query asks for, or the query takes too
            long.
    """
    with file.reading(), _opened(file) as connection:
        return connection.execute(sql).fetchmany(_ROWS)


@contextmanager
def _opened(file: File) -> Iterator[sqlite3.Connection]:
    if not file.data.startswith(b"SQLite format 3\x00"):
        raise file.refuse("no SQLite database")
    data = file.data
    if data[18:20] == b"\x02\x02":  # with a write-ahead log, which a database in memory cannot have
        data = data[:18] + b"\x01\x01" + data[20:]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(data)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2**24)
        connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY)
        left = iter(range(_STEPS // 100_000))
        connection.set_progress_handler(lambda: next(left, None) is None, 100_000)
        yield connection
