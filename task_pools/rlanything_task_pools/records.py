"""Typed rows of a pool: events, outcomes, and the versions of a slot's task."""

import json
import zlib
from dataclasses import dataclass
from typing import Any, Literal, Self

from rlanything_task_pools.frozen import FrozenDict, canonical_json
from rlanything_task_pools.task import MAX_JSON_BYTES, Outcome, Task, TaskFormatError

EventKind = Literal["proposed", "accepted", "rejected", "discarded"]

FRESH = "fresh"
"""Reason of the events by which a task that is no rewrite takes a slot."""


def pack(value: object) -> bytes:
    """Compressed canonical JSON.

    Raises:
        TaskFormatError: It is longer than what `unpack` reads.
    """
    text = canonical_json(value)
    if len(text) > MAX_JSON_BYTES:
        raise TaskFormatError(f"JSON of {len(text)} bytes: a pool reads no more than {MAX_JSON_BYTES}")
    return zlib.compress(text.encode(), 6)


def unpack(data: bytes) -> dict[str, Any]:
    """The object of packed bytes.

    Raises:
        TaskFormatError: The bytes are not packed JSON of an object, or would exceed the largest task.
    """
    unpacker = zlib.decompressobj()
    try:
        value = json.loads(unpacker.decompress(data, MAX_JSON_BYTES))
    except (zlib.error, ValueError, TypeError, RecursionError) as error:
        problem = str(error) if unpacker.eof else f"cut short, or more than {MAX_JSON_BYTES} bytes"
        raise TaskFormatError(f"packed task: {problem}") from None
    if not isinstance(value, dict):
        raise TaskFormatError(f"packed task: expected a JSON object, got {type(value).__name__}")
    return value


@dataclass(frozen=True, slots=True)
class Event:
    """One decision about a slot."""

    index: int
    """Position in the log, from 1; grows with every event of the pool."""
    kind: EventKind
    slot: int
    task_id: str
    """Id of the candidate; for ``discarded`` that of the active task that was to be rewritten."""
    reason: str
    """Short identifier; for ``proposed`` the direction, or ``fresh``."""
    stats: FrozenDict
    """Numbers behind the decision."""

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Self:
        """Make an event from a row of the events table."""
        index, kind, slot, task_id, reason, stats = row
        return cls(index, kind, slot, task_id, reason, FrozenDict(json.loads(stats)))


@dataclass(frozen=True, slots=True)
class OutcomeRecord:
    """One outcome with its position in the log."""

    index: int
    event: int
    """Index of the last event before it was recorded (0: none yet)."""
    slot: int
    task_id: str
    outcome: Outcome
    batch: int
    """Index of the first outcome recorded in the same call: one number for each group of episodes."""

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Self:
        """Make a record from a row of the outcomes table."""
        index, event, slot, task_id, role, success, score, steps, actor, batch = row
        outcome = Outcome(
            success=None if success is None else bool(success), score=score, steps=steps, actor=actor, role=role
        )
        return cls(index, event, slot, task_id, outcome, batch)


@dataclass(frozen=True, slots=True)
class Version:
    """One task in the history of a slot, with its proposal and its decision; a node of the lineage tree."""

    index: int
    slot: int
    task: Task
    parent: int | None
    """Index of the version it is a rewrite of; None for a root."""
    proposed: Event | None
    """Event of its proposal; None for the slot's first task."""
    decided: Event | None
    """Event of its decision; None for the slot's first task and for a waiting candidate."""

    @property
    def state(self) -> Literal["root", "pending", "accepted", "rejected"]:
        """State of the version."""
        if self.proposed is None:
            return "root"
        return "pending" if self.decided is None else "accepted" if self.decided.kind == "accepted" else "rejected"
