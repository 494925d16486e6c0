"""Verification of a pool: an intact file, tasks that match their ids and are solvable, and a log that leads from the
roots to the active tasks."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from rlanything_task_pools.domain import get_domain
from rlanything_task_pools.errors import UnknownName
from rlanything_task_pools.reader import PoolReader
from rlanything_task_pools.records import unpack
from rlanything_task_pools.task import Outcome, Task, TaskFormatError

__all__ = ["Problem", "verify_pool"]

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a pool."""

    where: str
    """``file``, or a task, slot, event or outcome by its number or id."""
    what: str


def verify_pool(pool: PoolReader, *, replay: bool = True) -> Iterator[Problem]:
    """All faults of a pool; none when it is sound.

    Args:
        pool: The pool; others may go on writing to it.
        replay: Whether the domains verify every task's proof; without it only form and id are checked.
    """
    damage = pool.damage()
    yield from (Problem("file", text) for text in damage)
    if damage:
        return
    with pool.snapshot():
        tasks = pool._rows("SELECT id, data FROM tasks ORDER BY id")
        versions = pool._rows("SELECT version, slot, task, lineage FROM versions ORDER BY version")
        slots = pool._rows("SELECT slot, root, active, candidate FROM slots ORDER BY slot")
        events = pool._rows("SELECT event, kind, slot, version, task FROM events ORDER BY event")
        outcomes = pool._rows(
            "SELECT outcome, event, slot, task, role, success, score, steps, actor FROM outcomes ORDER BY outcome"
        )
    yield from _tasks(tasks, replay)
    yield from _lineages(dict(tasks), versions)
    yield from _log(slots, versions, events)
    yield from _outcomes(outcomes, {(slot, task) for _, slot, task, _ in versions}, events)


def _tasks(rows: Rows, replay: bool) -> Iterator[Problem]:
    for task_id, data in rows:
        where = f"task {task_id}"
        try:
            task = Task.from_dict(unpack(data))
        except TaskFormatError as error:
            yield Problem(where, str(error))
            continue
        if task.id != task_id:
            yield Problem(where, f"its content is that of {task.id}")
        if not replay:
            continue
        try:
            flaw = get_domain(task.domain).verify(task)
        except UnknownName as error:
            flaw = str(error)
        if flaw is not None:
            yield Problem(where, flaw)


def _lineages(data: dict[str, bytes], versions: Rows) -> Iterator[Problem]:
    for index, slot, task_id, lineage in versions:
        try:
            Task.from_dict({**unpack(data[task_id]), **unpack(lineage)})
        except (TaskFormatError, KeyError) as error:
            yield Problem(f"version {index} of slot {slot}", str(error))


def _log(slots: Rows, versions: Rows, events: Rows) -> Iterator[Problem]:
    """Replay the log from the roots: every event must be allowed, and the end must match the slots."""
    place = {index: (slot, task) for index, slot, task, _ in versions}
    first: dict[int, int] = {}
    for index, slot, _, _ in versions:
        first.setdefault(slot, index)
    state = {slot: [first.get(slot), None] for slot, _, _, _ in slots}
    roots = {slot: first.get(slot) for slot in state}
    seen = set(first.values())
    parents = {index: _parent(lineage) for index, _, _, lineage in versions}
    for event, kind, slot, version, task in events:
        where = f"event {event}"
        if slot not in state or place.get(version) != (slot, task):
            yield Problem(where, f"slot {slot} has no version {version} of {task}")
            continue
        active, candidate = state[slot]
        match kind:
            case "proposed":
                if candidate is not None or version in seen:
                    yield Problem(where, f"version {version} is proposed while another waits, or for the second time")
                elif active not in place or parents[version] not in (None, place[active][1]):
                    yield Problem(where, f"{task} is not a rewrite of what was active in slot {slot}")
                seen.add(version)
                state[slot][1] = version
            case "accepted" | "rejected":
                if candidate != version:
                    yield Problem(where, f"{kind} {task}, which was not the candidate of slot {slot}")
                state[slot] = [version if kind == "accepted" else active, None]
                if kind == "accepted" and parents[version] is None:
                    roots[slot] = version
            case "discarded":
                if active != version:
                    yield Problem(where, f"{task} was not active in slot {slot}")
            case _:
                yield Problem(where, f"unknown kind {kind!r}")
    for slot, root, active, candidate in slots:
        for name, index in (("root", root), ("active task", active), ("candidate", candidate)):
            if index is not None and place.get(index, (None,))[0] != slot:
                yield Problem(f"slot {slot}", f"its {name} is version {index}, which is not of this slot")
        if roots[slot] != root:
            yield Problem(f"slot {slot}", f"its root is version {root}, its log leads to {roots[slot]}")
        if state[slot] != [active, candidate]:
            yield Problem(f"slot {slot}", f"holds versions {[active, candidate]}, its log leads to {state[slot]}")
    loose = defaultdict(list)
    for index, (slot, _) in place.items():
        if index not in seen:
            loose[slot].append(index)
    for slot, indices in sorted(loose.items()):
        yield Problem(f"slot {slot}", f"its versions {indices} were never proposed")


def _parent(lineage: bytes) -> Any:
    try:
        return unpack(lineage).get("parent")
    except (TaskFormatError, AttributeError):
        return None  # reported with the lineages


def _outcomes(rows: Rows, known: set[tuple[int, str]], events: Rows) -> Iterator[Problem]:
    indices, last = {0, *(row[0] for row in events)}, 0
    for index, event, slot, task, role, success, score, steps, actor in rows:
        where = f"outcome {index}"
        if (slot, task) not in known:
            yield Problem(where, f"slot {slot} never had {task}")
        if event not in indices or event < last:
            yield Problem(where, f"comes after event {event}, out of order")
        else:
            last = event
        try:
            won = {0: False, 1: True, None: None}.get(success, success)
            Outcome(success=won, score=score, steps=steps, actor=actor, role=role)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            yield Problem(where, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
