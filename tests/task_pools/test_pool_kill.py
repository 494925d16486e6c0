"""``kill -9`` at random moments: the pool against journals that its writers sync to disk around every call."""

import itertools
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from toy_tasks import child, dump, history, outcome, root
from waiting import until

from rlanything_task_pools import PoolError, Rejection, TaskPool
from rlanything_task_pools.verify import verify_pool

HERE = Path(__file__).parent
few_and_many = pytest.mark.parametrize("kills", [12, pytest.param(200, marks=pytest.mark.slow)])


class Nursery:
    """Starts the workers of `pool_writer` and kills them."""

    def __init__(self) -> None:
        command = [sys.executable, str(HERE / "pool_writer.py")]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, *command: object) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(*command, file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def kill(self, worker: int) -> None:
        os.kill(worker, signal.SIGKILL)
        assert self.ask("reap", worker) == signal.SIGKILL  # it was at work until then, not dead of an error

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.close()


class Journals:
    """What all writers ever asked and were told."""

    def __init__(self, folder: Path) -> None:
        self.begun: dict[str, dict[str, Any]] = {}
        self.done: dict[str, int | None] = {}
        self.refused: set[str] = set()
        for file in folder.glob("*.journal"):
            for line in file.read_text().splitlines(keepends=True):
                if not line.endswith("\n"):
                    continue  # the kill came in the middle of a line: the call had not begun, or its end is unknown
                entry = json.loads(line)
                if "begun" in entry:
                    self.begun[entry["label"]] = entry
                elif "done" in entry:
                    self.done[entry["label"]] = entry["done"]
                else:
                    self.refused.add(entry["label"])


def check_against_journals(pool: TaskPool, journals: Journals) -> None:
    events = {event.stats["label"]: event for event in pool.events()}
    outcomes = defaultdict(list)
    for record in pool.outcomes():
        outcomes[record.outcome.actor].append(record)
    assert len(events) == len(pool.events())
    # Nothing is there that nobody asked for, or that the pool had refused.
    assert events.keys() | outcomes.keys() <= journals.begun.keys() - journals.refused
    for label, entry in journals.begun.items():
        if entry["begun"] == "record":
            # Whole groups or nothing; a group whose end was noted is there.
            assert len(outcomes[label]) in ({entry["n"]} if label in journals.done else {0, entry["n"]}), label
            assert {(r.slot, r.task_id) for r in outcomes[label]} <= {(entry["slot"], entry["task"])}
            assert len({record.batch for record in outcomes[label]}) <= 1
        elif label in events:
            event = events[label]
            assert (event.kind, event.slot) == (entry["begun"], entry["slot"])
            assert entry["task"] in (None, event.task_id)
            assert journals.done.get(label, event.index) == event.index
        else:
            assert label not in journals.done, f"{label} was told {journals.done[label]} and is lost"


def check_active(pool: TaskPool) -> None:
    """What is active was accepted, once; what is neither was not."""
    decided = Counter(version.index for slot in pool.slots for version in pool.versions(slot) if version.decided)
    assert not decided or max(decided.values()) == 1
    accepted = Counter((event.slot, event.task_id) for event in pool.events(kind="accepted"))
    for slot in pool.slots:
        active = pool.active(slot)
        assert active == pool.root(slot) or accepted[slot, active.id] == 1  # labels make every candidate another one
        assert len(history(pool, slot)) == 1 + sum(n for (s, _), n in accepted.items() if s == slot)


@few_and_many
def test_two_writers_killed_at_random_moments(kills: int, nursery: Nursery, tmp_path: Path) -> None:
    rng = random.Random(kills)
    path = tmp_path / "pool.db"
    TaskPool.create(path, [root(n) for n in range(3)]).close()
    turns = kills // 2
    for turn in range(turns):
        journals = [tmp_path / f"{name}{turn}.journal" for name in "ab"]
        workers = [nursery.ask("write", path, journal, turn) for journal in journals]
        for worker, journal in zip(workers, journals, strict=True):
            size = rng.randrange(1, 3000)
            until(lambda: journal.exists() and journal.stat().st_size > size, every_s=0.001)  # noqa: B023
            time.sleep(rng.random() * 0.005)
            nursery.kill(worker)
        if kills == 12 or turn % 10 == 9:  # what is lost stays lost
            with TaskPool.open(path) as pool:
                assert list(verify_pool(pool, replay=False)) == []
                check_active(pool)
                check_against_journals(pool, Journals(tmp_path))
    with TaskPool.open(path) as pool:
        counts = pool.counts()
    for kind in ("accepted", "rejected", "discarded", "outcomes"):
        assert counts[kind] >= turns, f"the writers did too little to show anything: {counts}"


@few_and_many
def test_killed_while_restoring_and_copying(kills: int, nursery: Nursery, tmp_path: Path) -> None:
    rng = random.Random(kills)
    path = tmp_path / "pool.db"
    with TaskPool.create(path, [root(n) for n in range(50)]) as pool:
        states = []
        for name in "ab":
            for slot in range(50):
                pool.record(slot, pool.active(slot).id, [outcome()] * 20)
                pool.propose(slot, child(pool.active(slot), 1000 + 100 * len(states) + slot))
                pool.accept(slot, "ok")
            states.append(dump(pool.copy(tmp_path / f"{name}.db")))
    assert states[0] != states[1]
    seen = Counter[int]()
    while seen.total() < kills or min(seen[0], seen[1]) < kills // 6:
        assert seen.total() < 20 * kills, f"a kill hits one of the two alone: {seen}"
        worker = nursery.ask("swap", path, tmp_path, seen.total())
        until(lambda: any(tmp_path.glob("*copy-*")), every_s=0.001)
        time.sleep(rng.random() * 0.03)
        nursery.kill(worker)
        seen[states.index(dump(path))] += 1
        for copy in tmp_path.glob("copy-*.db"):
            assert dump(copy) in states
            assert TaskPool.open(copy).counts()["outcomes"] in (1000, 2000)
        for file in [*tmp_path.glob("*copy-*")]:
            file.unlink()
    with TaskPool.open(path) as pool:
        assert list(verify_pool(pool, replay=False)) == []
        pool.record(0, pool.active(0).id, [outcome()])


@few_and_many
def test_killed_while_creating(kills: int, nursery: Nursery, tmp_path: Path) -> None:
    rng = random.Random(kills)
    for number in range(kills // 3):
        path = tmp_path / f"{number}.db"
        worker = nursery.ask("create", path, 0)
        time.sleep(rng.random() * 0.06)
        nursery.kill(worker)
        try:
            made = TaskPool.open(path)
        except PoolError:
            made = TaskPool.create(path, [root(n) for n in range(400)])
        assert len(made.slots) == 400


def decided(pool: TaskPool) -> None:
    pool.propose(0, child(root(0), 10))
    pool.accept(0, "ok")


OPERATIONS: dict[str, tuple[Callable[[TaskPool], object], Callable[[TaskPool], object]]] = {
    "record": (decided, lambda pool: pool.record(0, child(root(0), 10).id, [outcome(), outcome(None), outcome(False)])),
    "propose": (decided, lambda pool: pool.propose(0, child(pool.active(0), 11))),
    "accept": (lambda pool: pool.propose(0, child(root(0), 10)), lambda pool: pool.accept(0, "ok")),
    "reject": (lambda pool: pool.propose(0, child(root(0), 10)), lambda pool: pool.reject(0, "no")),
    "discard": (decided, lambda pool: pool.discard(1, Rejection(reason="unsolvable"))),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_killed_before_each_statement_of_each_operation(name: str, tmp_path: Path) -> None:
    before, operation = OPERATIONS[name]
    with TaskPool.create(tmp_path / "start.db", [root(n) for n in range(3)]) as pool:
        before(pool)
        start = pool.copy(tmp_path / "before.db")
        operation(pool)
        states = [dump(start), dump(pool.copy(tmp_path / "after.db"))]
    assert states[0] != states[1]
    for statement in range(1, 100):
        path = tmp_path / f"{statement}.db"
        shutil.copy(start, path)
        with sqlite3.connect(path) as db:
            db.execute("PRAGMA journal_mode = WAL")
        status = die_at(statement, path, operation)
        assert dump(path) == states[status == 0]
        if status == 0:
            break
        assert status == signal.SIGKILL
    assert 5 <= statement < 99


def die_at(statement: int, path: Path, operation: Callable[[TaskPool], object]) -> int:
    """Run an operation in a process that kills itself before the given SQL statement; its wait status."""
    pid = os.fork()
    if pid == 0:
        try:
            pool, count = TaskPool.open(path), itertools.count(1)
            pool._db.set_trace_callback(
                lambda _: os.kill(os.getpid(), signal.SIGKILL) if next(count) == statement else None
            )
            operation(pool)
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitpid(pid, 0)[1]
