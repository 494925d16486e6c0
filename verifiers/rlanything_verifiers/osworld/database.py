"""SQLite databases: opened in memory, read only, in a process with limits on time and memory."""

from __future__ import annotations

import itertools
import json
import sqlite3
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rlanything_verifiers.osworld.file import File

__all__ = ["query"]

_SECONDS, _MEMORY = 10, 256 * 2**20
"""Of processor time, and bytes: in a view of the agent, one instruction of SQLite's machine can take hours."""

_ROWS, _BYTES = 100_000, 32 * 2**20
"""Rows that are looked at, and the most they may take, written as JSON; a browser's history takes some megabytes."""

_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})


def query(file: File, sql: str) -> list[list[Any]]:
    """The first rows of a query that only reads; bytes come as text, Latin-1.

    Raises:
        Unreadable, VerifierError: the file is not a database, it lacks what the query asks for, or the query takes too
            long or gives too much.
    """
    from rlanything_verifiers.osworld.limited import run_limited  # the process below runs this file without packages

    with file.reading():
        if not file.data.startswith(b"SQLite format 3\x00"):
            raise file.refuse("no SQLite database")
        command = [sys.executable, "-I", "-S", __file__, sql]
        return [json.loads(row) for row in run_limited(file, command, file.data, seconds=_SECONDS).splitlines()]


def _print_rows(data: bytes, sql: str) -> None:
    if data[18:20] == b"\x02\x02":  # with a write-ahead log, which a database in memory cannot have
        data = data[:18] + b"\x01\x01" + data[20:]
    connection = sqlite3.connect(":memory:")
    connection.deserialize(data)
    for setting in ("trusted_schema=0", "cell_size_check=1", "temp_store=MEMORY", f"hard_heap_limit={_MEMORY}"):
        connection.execute(f"PRAGMA {setting}")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2**24)
    connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY)
    left = _BYTES
    for row in itertools.islice(connection.execute(sql), _ROWS):
        print(written := json.dumps(row, default=lambda value: value.decode("latin-1")))
        if (left := left - len(written)) < 0:
            sys.exit(f"its rows take more than {_BYTES} bytes")


if __name__ == "__main__":
    _print_rows(sys.stdin.buffer.read(), sys.argv[1])
