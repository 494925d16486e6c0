"""The tables of a pool's file, as the ordered steps that made them: an older file takes the steps it lacks.

A new pool takes all steps from the first, so a migrated file and a new one have the same tables by
construction. A released step is never edited; a change of the tables is a new step at the end.
"""

import sqlite3

__all__ = ["APPLICATION_ID", "SCHEMA_VERSION", "STEPS", "migrate"]

APPLICATION_ID = 0x524C4150
"""Marks an SQLite file as a task pool: the letters RLAP."""

STEPS: tuple[tuple[str, ...], ...] = (
    (  # 1: tasks by content, versions by slot, two append-only logs
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
        "CREATE TABLE outcomes (outcome INTEGER PRIMARY KEY AUTOINCREMENT, event INTEGER NOT NULL, "
        "slot INTEGER NOT NULL REFERENCES slots (slot), task TEXT NOT NULL REFERENCES tasks (id), "
        "role TEXT NOT NULL, success INTEGER, score REAL NOT NULL, steps INTEGER NOT NULL, actor TEXT NOT NULL)",
        "CREATE INDEX outcomes_slot ON outcomes (slot, task)",
    ),
    (  # 2: which outcomes were one group; the database itself refuses to decide on a candidate twice
        "ALTER TABLE outcomes ADD COLUMN batch INTEGER NOT NULL DEFAULT 0",
        # Schema 1 did not say where a group ends: a run of outcomes that differ in nothing but the result is one.
        "UPDATE outcomes SET batch = runs.batch FROM ("
        "  SELECT outcome, max(start) OVER (ORDER BY outcome) AS batch FROM ("
        "    SELECT outcome, CASE WHEN lag(mark) OVER (ORDER BY outcome) IS mark THEN NULL ELSE outcome END AS start "
        "    FROM (SELECT outcome, event || ' ' || slot || ' ' || task || ' ' || role || ' ' || actor AS mark "
        "          FROM outcomes))"
        ") AS runs WHERE runs.outcome = outcomes.outcome",
        "CREATE UNIQUE INDEX events_decided ON events (version) WHERE kind IN ('accepted', 'rejected')",
    ),
)

SCHEMA_VERSION = len(STEPS)
"""What this library writes; it reads this and every older version."""


def migrate(db: sqlite3.Connection) -> None:
    """Take the steps a database lacks, inside the caller's transaction: all of them or none."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    for step in STEPS[version:]:
        for statement in step:
            db.execute(statement)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
