"""Read access to a pool: its tasks and its two logs."""

import dataclasses
import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rlanything_task_pools.errors import PoolError, UnknownTask
from rlanything_task_pools.file import PoolFile
from rlanything_task_pools.records import Event, EventKind, OutcomeRecord, Version, unpack
from rlanything_task_pools.task import Outcome, Role, Task, TaskFormatError

__all__ = ["PoolReader"]

CACHED_TASKS = 128
"""Number of unpacked tasks in the cache; an ALFWorld task takes 0.4 ms to unpack and 40 KB to keep."""


class PoolReader(PoolFile):
    """Queries of a pool that do not change it.

    Raises:
        PoolError: (all methods) the file holds data that no pool would have written.
        TaskFormatError: (all methods) a stored task is malformed.
    """

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 30.0) -> None:
        """Connect to a file; use `TaskPool.create` or `open`; arguments as for `PoolFile`."""
        super().__init__(path, timeout=timeout)
        self._tasks: OrderedDict[tuple[str, bytes], Task] = OrderedDict()

    # -- tasks -----------------------------------------------------------------------------------------------

    @property
    def slots(self) -> list[int]:
        """The slot numbers, ascending."""
        return [row[0] for row in self._rows("SELECT slot FROM slots ORDER BY slot")]

    def task(self, task_id: str) -> Task:
        """A task by its id, with the lineage of its first version.

        Raises:
            UnknownTask: The pool has no such task.
        """
        rows = self._rows("SELECT task, lineage FROM versions WHERE task = ? ORDER BY version LIMIT 1", (task_id,))
        if not rows:
            raise UnknownTask(f"{self.path} has no task {task_id!r}")
        return self._unpacked(*rows[0])

    def task_in(self, slot: int, task_id: str) -> Task:
        """A task with its lineage in a slot where it is in use; else as `task`."""
        for task in (self.active(slot), self.candidate(slot)):
            if task is not None and task.id == task_id:
                return task
        return self.task(task_id)

    def root(self, slot: int) -> Task:
        """The root task of a slot: its first task, or the last fresh task that took its place."""
        return self._unpacked(*self._in_slot(slot, "root"))

    def first(self, slot: int) -> str:
        """Id of the task that a slot began with."""
        return self._first(slot)[1]

    def active(self, slot: int) -> Task:
        """The active task of a slot."""
        return self._unpacked(*self._in_slot(slot, "active"))

    def candidate(self, slot: int) -> Task | None:
        """The candidate of a slot; None if there is none."""
        task_id, lineage = self._in_slot(slot, "candidate")
        return None if task_id is None else self._unpacked(task_id, lineage)

    def versions(self, slot: int) -> list[Version]:
        """Every task of a slot in order of proposal, rejected ones included; the one it began with first."""
        with self.snapshot(), self._sound(f"slot {slot}"):
            active, _ = self._first(slot)
            found = {active: Version(active, slot, self._version(active), None, None, None)}
            for index, *row in self._rows(
                "SELECT version, event, kind, slot, task, reason, stats FROM events "
                "WHERE slot = ? AND kind != 'discarded' ORDER BY event",
                (slot,),
            ):
                event = Event.from_row(tuple(row))
                if event.kind == "proposed":
                    task = self._version(index)
                    found[index] = Version(index, slot, task, None if task.parent is None else active, event, None)
                    continue
                found[index] = dataclasses.replace(found[index], decided=event)
                if event.kind == "accepted":
                    active = index
        return list(found.values())

    def lineage(self, task_id: str) -> list[Task]:
        """The tasks from the root to a task, each the parent of the next.

        Raises:
            UnknownTask: The pool has no such task.
        """
        chain = [self.task(task_id)]
        known = {task_id}
        while (parent := chain[-1].parent) is not None:
            if parent in known:
                raise self._damaged(f"task {task_id!r:.80} is its own ancestor")
            known.add(parent)
            chain.append(self.task(parent))
        return chain[::-1]

    def _in_slot(self, slot: int, place: str) -> tuple[Any, Any]:
        task, lineage = self._row(
            "SELECT versions.task, versions.lineage FROM slots "  # nosec B608 # `place` is a name of ours
            f"LEFT JOIN versions ON versions.version = slots.{place} WHERE slots.slot = ?",
            slot,
        )
        return task, lineage

    def _slot(self, slot: int) -> tuple[int, int, int | None]:
        root, active, candidate = self._row("SELECT root, active, candidate FROM slots WHERE slot = ?", slot)
        return root, active, candidate

    def _first(self, slot: int) -> tuple[int, str]:
        version, task = self._row("SELECT version, task FROM versions WHERE slot = ? ORDER BY version LIMIT 1", slot)
        return version, task

    def _row(self, query: str, slot: int) -> Any:
        """The one row of a slot."""
        rows = self._rows(query, (slot,))
        if not rows:
            raise PoolError(f"{self.path} has no slot {slot!r}; its slots are 0..{len(self.slots) - 1}")
        return rows[0]

    def _version(self, version: int) -> Task:
        return self._unpacked(*self._rows("SELECT task, lineage FROM versions WHERE version = ?", (version,))[0])

    @contextmanager
    def _sound(self, what: str) -> Iterator[None]:
        """Report rows that a pool would not have written as `PoolError`."""
        try:
            yield
        except (PoolError, TaskFormatError, UnknownTask):
            raise
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            raise self._damaged(f"{what}: {type(error).__name__}: {' '.join(str(error).split())[:200]}") from error

    def _unpacked(self, task_id: str, lineage: bytes) -> Task:
        # Keyed by content, not by version number: another process may restore a checkpoint and reuse numbers.
        key = (task_id, lineage)
        with self._lock, self._sound(f"task {task_id}"):
            task = self._tasks.pop(key, None)
            if task is None:
                ((data,),) = self._rows("SELECT data FROM tasks WHERE id = ?", (task_id,))
                task = Task.from_dict({**unpack(data), **unpack(lineage)})
            self._tasks[key] = task
            if len(self._tasks) > CACHED_TASKS:
                self._tasks.popitem(last=False)
            return task

    # -- the two logs ----------------------------------------------------------------------------------------

    def events(self, slot: int | None = None, *, kind: EventKind | None = None, since: int = 0) -> list[Event]:
        """The recorded events in order; those with an index up to ``since`` are left out."""
        rows = self._rows(
            "SELECT event, kind, slot, task, reason, stats FROM events WHERE event > ? "
            "AND (? IS NULL OR slot = ?) AND (? IS NULL OR kind = ?) ORDER BY event",
            (since, slot, slot, kind, kind),
        )
        with self._sound("events"):
            return [Event.from_row(row) for row in rows]

    def outcomes(
        self,
        slot: int | None = None,
        task_id: str | None = None,
        *,
        role: Role | None = None,
        after: int = 0,
        errors: bool = True,
    ) -> list[OutcomeRecord]:
        """The recorded outcomes in order.

        Args:
            slot: Only of this slot.
            task_id: Only on this task.
            role: Only of this role.
            after: Only those with a greater index than this, to continue an earlier read.
            errors: Whether to include infrastructure errors (success None).
        """
        rows = self._rows(
            "SELECT outcome, event, slot, task, role, success, score, steps, actor, batch FROM outcomes "
            "WHERE outcome > ? AND (? IS NULL OR slot = ?) AND (? IS NULL OR task = ?) "
            "AND (? IS NULL OR role = ?) AND (? OR success IS NOT NULL) ORDER BY outcome",
            (after, slot, slot, task_id, task_id, role, role, errors),
        )
        with self._sound("outcomes"):
            return [OutcomeRecord.from_row(row) for row in rows]

    def last_group(self, slot: int) -> list[Outcome]:
        """The outcomes of the last group on a slot's active task, without infrastructure errors."""
        with self.snapshot():
            records = self.outcomes(slot, self.active(slot).id, role="active", errors=False)
        return [record.outcome for record in records if record.batch == records[-1].batch]

    def counts(self) -> dict[str, int]:
        """Numbers of slots, tasks, outcomes, infrastructure errors, and events of each kind."""
        with self.snapshot():
            one = {
                name: int(self._rows(f"SELECT count(*) FROM {name}")[0][0])  # nosec B608 # names of ours
                for name in ("slots", "tasks", "outcomes")
            }
            one["errors"] = int(self._rows("SELECT count(*) FROM outcomes WHERE success IS NULL")[0][0])
            one["pending"] = int(self._rows("SELECT count(candidate) FROM slots")[0][0])
            one["rewritten"] = int(self._rows("SELECT count(*) FROM slots WHERE active != root")[0][0])
            kinds = dict(self._rows("SELECT kind, count(*) FROM events GROUP BY kind"))
        return one | {kind: kinds.get(kind, 0) for kind in ("proposed", "accepted", "rejected", "discarded")}
