"""What the pool's file holds: its tables, and the typed rows of its two logs."""

import json
import zlib
from dataclasses import dataclass
from typing import Any, Literal, Self

from rlanything_task_pools.frozen import FrozenDict, canonical_json
from rlanything_task_pools.task import Outcome

EventKind = Literal["proposed", "accepted", "rejected", "discarded"]

APPLICATION_ID = 0x524C4150
"""Marks an SQLite file as a task pool: the letters RLAP."""

SCHEMA_VERSION = 1
"""Changes whenever the tables do; a pool of another version is not opened."""

SCHEMA = (
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
)


def pack(value: object) -> bytes:
    """Compressed canonical JSON."""
    return zlib.compress(canonical_json(value).encode(), 6)


def unpack(data: bytes) -> dict[str, Any]:
    """The object that `pack` was given."""
    value: dict[str, Any] = json.loads(zlib.decompress(data))
    return value


@dataclass(frozen=True, slots=True)
class Event:
    """One decision about a slot."""

    index: int
    """Position in the log, from 1; grows with every event of the pool."""
    kind: EventKind
    slot: int
    task_id: str
    """The candidate the event is about; for ``discarded`` the active task the proposal would have changed."""
    reason: str
    """A short slug; for ``proposed`` the direction."""
    stats: FrozenDict
    """Numbers behind the decision."""

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Self:
        """From a row of the events table."""
        index, kind, slot, task_id, reason, stats = row
        return cls(index, kind, slot, task_id, reason, FrozenDict(json.loads(stats)))


@dataclass(frozen=True, slots=True)
class OutcomeRecord:
    """One outcome with its place in the log."""

    index: int
    event: int
    """Index of the last event before it was recorded (0: none yet)."""
    slot: int
    task_id: str
    outcome: Outcome

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Self:
        """From a row of the outcomes table."""
        index, event, slot, task_id, role, success, score, steps, actor = row
        outcome = Outcome(
            success=None if success is None else bool(success),
            score=score,
            steps=steps,
            actor=actor,
            role=role,
        )
        return cls(index, event, slot, task_id, outcome)
