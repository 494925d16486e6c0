"""The tables of a pool's file."""

import sqlite3

__all__ = ["APPLICATION_ID", "SCHEMA_VERSION", "create_tables"]

APPLICATION_ID = 0x524C4150
"""SQLite application id of a task pool: the letters RLAP."""

SCHEMA_VERSION = 2
"""Schema version that this library reads and writes; every change of the tables increments it."""

_TABLES = (
    # Tasks by content, versions by slot, two append-only logs.
    "CREATE TABLE tasks (id TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE versions (version INTEGER PRIMARY KEY, slot INTEGER NOT NULL, "
    "task TEXT NOT NULL REFERENCES tasks (id), lineage BLOB NOT NULL)",
    "CREATE INDEX versions_task ON versions (task)",
    "CREATE INDEX versions_slot ON versions (slot, task)",
    "CREATE TABLE slots (slot INTEGER PRIMARY KEY, root INTEGER NOT NULL REFERENCES versions (version), "
    "active INTEGER NOT NULL REFERENCES versions (version), "
    "candidate INTEGER REFERENCES versions (version))",
    "CREATE TABLE events (event INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, "
    "slot INTEGER NOT NULL REFERENCES slots (slot), version INTEGER NOT NULL REFERENCES versions (version), "
    "task TEXT NOT NULL, reason TEXT NOT NULL, stats TEXT NOT NULL)",
    "CREATE INDEX events_slot ON events (slot)",
    # This index prevents a second decision on a candidate.
    "CREATE UNIQUE INDEX events_decided ON events (version) WHERE kind IN ('accepted', 'rejected')",
    # The outcomes of one batch are one group.
    "CREATE TABLE outcomes (outcome INTEGER PRIMARY KEY AUTOINCREMENT, event INTEGER NOT NULL, "
    "slot INTEGER NOT NULL REFERENCES slots (slot), task TEXT NOT NULL REFERENCES tasks (id), "
    "role TEXT NOT NULL, success INTEGER, score REAL NOT NULL, steps INTEGER NOT NULL, actor TEXT NOT NULL, "
    "batch INTEGER NOT NULL)",
    "CREATE INDEX outcomes_slot ON outcomes (slot, task)",
)


def create_tables(db: sqlite3.Connection) -> None:
    """Make the tables of an empty database, inside the caller's transaction."""
    for statement in _TABLES:
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
