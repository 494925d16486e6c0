"""Conversion between a pool and four plain tables, which may be of unknown origin."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from pydantic import ValidationError

from rlanything_task_pools.domain import get_domain
from rlanything_task_pools.errors import PoolError, UnknownName, UnknownTask
from rlanything_task_pools.frozen import canonical_json
from rlanything_task_pools.pool import TaskPool
from rlanything_task_pools.reader import PoolReader
from rlanything_task_pools.task import Outcome, Rejection, Task, TaskFormatError

__all__ = ["COLUMNS", "Kind", "Row", "Tables", "build_pool", "read_tables"]

Row = dict[str, Any]
Tables = dict[str, list[Row]]
Kind = Literal["int", "float", "bool", "text", "texts", "json"]

COLUMNS: dict[str, dict[str, Kind]] = {
    "tasks": {
        "version": "int", "slot": "int", "id": "text", "domain": "text", "goal": "text", "payload": "json",
        "proof": "texts", "traits": "json", "parent": "text", "root": "text",
        "direction": "text", "author": "text", "change": "json", "critique": "text", "critic": "text",
    },
    "slots": {"slot": "int", "root": "int", "active": "int", "candidate": "int"},
    "events": {
        "event": "int", "kind": "text", "slot": "int", "version": "int", "task": "text", "reason": "text",
        "stats": "json",
    },
    "outcomes": {
        "outcome": "int", "batch": "int", "event": "int", "slot": "int", "task": "text", "role": "text",
        "success": "bool", "score": "float", "steps": "int", "actor": "text",
    },
}  # fmt: skip
"""The tables and their columns. A task has one row for each of its versions; the
columns from ``direction`` on are empty for a root, ``candidate`` where none waits, ``success`` where the
infrastructure failed."""

_CONTENT = ("domain", "goal", "payload", "proof", "traits", "parent", "root")
_REWRITE = ("direction", "author", "change", "critique", "critic")
_OUTCOME = ("success", "score", "steps", "actor", "role")


def read_tables(pool: PoolReader) -> Tables:
    """The tables of a consistent snapshot of a pool, ordered by their first column; columns as in `COLUMNS`."""
    with pool.snapshot():
        tables = {
            name: [
                dict(zip(COLUMNS[name], row, strict=True))
                for row in pool._rows(f"SELECT {', '.join(COLUMNS[name])} FROM {name} ORDER BY 1")  # nosec B608 # our names
            ]
            for name in ("slots", "events", "outcomes")
        }
        tables["tasks"] = [
            _task_row(version, slot, task_id, pool._unpacked(task_id, lineage))
            for version, slot, task_id, lineage in pool._rows(
                "SELECT version, slot, task, lineage FROM versions ORDER BY version"
            )
        ]
    for row in tables["events"]:
        row["stats"] = json.loads(row["stats"])
    for row in tables["outcomes"]:
        row["success"] = None if row["success"] is None else bool(row["success"])
    return tables


def build_pool(tables: Mapping[str, Sequence[Mapping[str, Any]]], *, replay: bool = True) -> TaskPool:
    """The pool of four tables, in memory; `TaskPool.copy` writes it to a file.

    The events are replayed one by one, and the resulting tables must equal the given ones, so that the result is a
    state that a pool can reach.

    Args:
        tables: Untrusted.
        replay: Whether the domains verify every task's proof.

    Raises:
        PoolError: The tables are malformed or inconsistent; the message names the table, the row and the field.
    """
    if missing := COLUMNS.keys() - tables.keys():
        raise PoolError(f"an exported pool has the tables {', '.join(COLUMNS)}; missing: {', '.join(sorted(missing))}")
    tasks = _tasks(tables["tasks"], replay=replay)
    roots: list[Task] = []
    first: dict[Any, Any] = {}
    for number, row in enumerate(tables["tasks"], 1):
        with _naming("tasks", number):
            first.setdefault(row["slot"], row["version"])
    for number, row in enumerate(tables["slots"], 1):
        with _naming("slots", number):
            roots.append(tasks[first[row["slot"]]])
    with _naming("slots"):
        pool = TaskPool.create(":memory:", roots)
    batches = _batches(tables["outcomes"])
    _record(pool, batches.pop(0, ()))
    for number, row in enumerate(tables["events"], 1):
        with _naming("events", number):
            _happen(pool, row, tasks)
        _record(pool, batches.pop(number, ()))
    if batches:
        raise PoolError(f"table outcomes: an outcome comes after event {min(batches)}, which is not on record")
    _compare(read_tables(pool), tables)
    return pool


def _tasks(rows: Sequence[Mapping[str, Any]], *, replay: bool) -> dict[int, Task]:
    tasks: dict[int, Task] = {}
    proved: set[str] = set()
    for number, row in enumerate(rows, 1):
        with _naming("tasks", number):
            rewrite = None if row["direction"] is None else {name: row[name] for name in _REWRITE if name in row}
            task = Task.from_dict({name: row[name] for name in _CONTENT} | {"rewrite": rewrite})
            if row["id"] != task.id:
                raise TaskFormatError(f"id is {_shown(row['id'])}, but that of its content is {task.id}")
            tasks[row["version"]] = task
            if replay and task.id not in proved:
                if (flaw := get_domain(task.domain).verify(task)) is not None:
                    raise TaskFormatError(f"task {task.id} does not hold: {flaw}")
                proved.add(task.id)
    return tasks


def _batches(rows: Sequence[Mapping[str, Any]]) -> dict[int, list[list[tuple[int, Mapping[str, Any]]]]]:
    """Numbered rows of outcomes, one list for each group, by the event that precedes them."""
    batches: dict[int, list[list[tuple[int, Mapping[str, Any]]]]] = defaultdict(list)
    for number, row in enumerate(rows, 1):
        with _naming("outcomes", number):
            groups = batches[row["event"]]
            if not groups or groups[-1][-1][1]["batch"] != row["batch"]:
                groups.append([])
            groups[-1].append((number, row))
    return batches


def _record(pool: TaskPool, groups: Sequence[Sequence[tuple[int, Mapping[str, Any]]]]) -> None:
    for group in groups:
        number, first = group[0]
        with _naming("outcomes", number):
            pool.record(
                first["slot"], first["task"], [Outcome(**{name: row[name] for name in _OUTCOME}) for _, row in group]
            )


def _happen(pool: TaskPool, row: Mapping[str, Any], tasks: Mapping[int, Task]) -> None:
    slot, reason, stats = row["slot"], row["reason"], dict(row["stats"])
    match row["kind"]:
        case "proposed":
            pool.propose(slot, tasks[row["version"]], stats=stats)
        case "accepted":
            pool.accept(slot, reason, task_id=row["task"], stats=stats)
        case "rejected":
            pool.reject(slot, reason, task_id=row["task"], stats=stats)
        case "discarded":
            pool.discard(slot, Rejection(reason=reason, detail=stats.pop("detail")), stats=stats)
        case kind:
            raise PoolError(f"unknown kind {str(kind)[:40]!r}")


def _compare(own: Tables, given: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    for table, columns in COLUMNS.items():
        if len(own[table]) != len(given[table]):
            raise PoolError(f"table {table} has {len(given[table])} rows; its log makes {len(own[table])} of them")
        for number, (mine, row) in enumerate(zip(own[table], given[table], strict=True), 1):
            if extra := row.keys() - columns.keys():
                raise PoolError(f"table {table}, row {number}: unknown columns {sorted(map(str, extra))[:5]}")
            for name, kind in columns.items():
                with _naming(table, number):
                    theirs = row[name]
                    same = (
                        canonical_json(theirs) == canonical_json(mine[name])
                        if kind in ("json", "texts")
                        else theirs == mine[name]
                    )
                    if not same:
                        raise PoolError(f"{name} is {_shown(theirs)}, but it must be {_shown(mine[name])}")


@contextmanager
def _naming(table: str, number: int | None = None) -> Iterator[None]:
    """Add table and row number to any error about a row."""
    try:
        yield
    except (PoolError, UnknownTask, UnknownName, TaskFormatError) as error:
        problem = str(error)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        problem = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    except KeyError as error:
        problem = f"no {error} here, or none of that number"
    except (TypeError, AttributeError, ValueError, OverflowError, sqlite3.Error, RecursionError) as error:
        problem = f"not the values of this kind of row ({error})"
    else:
        return
    place = f"table {table}" + ("" if number is None else f", row {number}")
    raise PoolError(f"{place}: {problem}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _task_row(version: int, slot: int, task_id: str, task: Task) -> Row:
    row = {"version": version, "slot": slot, "id": task_id} | {name: getattr(task, name) for name in _CONTENT}
    row["proof"] = list(task.proof)
    return row | {name: getattr(task.rewrite, name, None) for name in _REWRITE}
