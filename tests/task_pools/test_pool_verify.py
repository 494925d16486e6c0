"""A pool that was tampered with is told, thing by thing."""

import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from alfworld_tasks import DOMAIN
from toy_tasks import child, outcome, root

from rlanything_task_pools import Rejection, Task, TaskPool
from rlanything_task_pools.records import pack, unpack
from rlanything_task_pools.verify import verify_pool


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with TaskPool.create(tmp_path / "pool.db", [root(0), root(1)]) as pool:
        pool.record(0, root(0).id, [outcome(), outcome(None)])
        pool.propose(0, child(root(0), 10))
        pool.record(0, child(root(0), 10).id, [outcome(role="candidate")])
        pool.accept(0, "ok")
        pool.propose(0, child(pool.active(0), 11))
        pool.discard(1, Rejection(reason="unsolvable"))
    return tmp_path / "pool.db"


def problems(path: Path, *, replay: bool = False) -> list[str]:
    with TaskPool.open(path) as pool:
        return [f"{problem.where}: {problem.what}" for problem in verify_pool(pool, replay=replay)]


def test_a_sound_pool_has_no_problems(path: Path) -> None:
    assert problems(path) == []


def repack(db: sqlite3.Connection, **changes: object) -> None:
    ((data,),) = db.execute("SELECT data FROM tasks WHERE id = ?", (root(0).id,))
    db.execute("UPDATE tasks SET data = ? WHERE id = ?", (pack(unpack(data) | changes), root(0).id))


TAMPERED: dict[str, tuple[Callable[[sqlite3.Connection], object], str]] = {
    "other goal": (lambda db: repack(db, goal="reach for the stars"), "its content is that of toy-"),
    "no goal": (lambda db: repack(db, goal=""), "task field goal"),
    "garbage": (lambda db: db.execute("UPDATE tasks SET data = x'00ff'"), "packed task"),
    "cut short": (lambda db: db.execute("UPDATE tasks SET data = substr(data, 1, 30)"), "cut short"),
    "bomb": (
        lambda db: db.execute("UPDATE tasks SET data = ?", (zlib.compress(b'{"goal": "' + b"x" * 5_000_000 + b'"}'),)),
        "more than 4000000 bytes",
    ),
    "lineage": (lambda db: db.execute("UPDATE versions SET lineage = x'00'"), "version 1 of slot 0: packed task"),
    "other active": (lambda db: db.execute("UPDATE slots SET active = 1 WHERE slot = 0"), "its log leads to [3, 4]"),
    "foreign active": (lambda db: db.execute("UPDATE slots SET active = 2 WHERE slot = 0"), "not of this slot"),
    "lost event": (lambda db: db.execute("DELETE FROM events WHERE kind = 'accepted'"), "while another waits"),
    "lost proposal": (lambda db: db.execute("DELETE FROM events WHERE event = 3"), "versions [4] were never proposed"),
    "unknown kind": (lambda db: db.execute("UPDATE events SET kind = 'praised'"), "unknown kind 'praised'"),
    "wrong version": (
        lambda db: db.execute("UPDATE events SET version = 4 WHERE event = 4"),
        "slot 1 has no version 4",
    ),
    "accept another": (
        lambda db: db.execute("UPDATE events SET version = 1, task = ? WHERE event = 2", (root(0).id,)),
        "which was not the candidate of slot 0",
    ),
    "outcome of none": (
        lambda db: db.execute("UPDATE outcomes SET task = ? WHERE outcome = 1", (root(1).id,)),
        "outcome 1: slot 0 never had",
    ),
    "odd success": (lambda db: db.execute("UPDATE outcomes SET success = 7 WHERE outcome = 1"), "outcome 1: success"),
    "odd role": (lambda db: db.execute("UPDATE outcomes SET role = 'boss'"), "role"),
    "future": (lambda db: db.execute("UPDATE outcomes SET event = 99 WHERE outcome = 1"), "out of order"),
    "loose reference": (lambda db: db.execute("UPDATE outcomes SET task = 'x'"), "file: outcomes row 1 refers to"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_is_told(name: str, path: Path) -> None:
    tamper, what = TAMPERED[name]
    with sqlite3.connect(path) as db:
        tamper(db)
    found = problems(path)
    assert any(what in problem for problem in found), found


def test_a_damaged_file_is_told(path: Path) -> None:
    with sqlite3.connect(path) as db:
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'tasks'").fetchone()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)
    assert problems(path)[0].startswith("file: ")


def test_proofs_are_played(tmp_path: Path) -> None:
    good, task = DOMAIN.generate(0), DOMAIN.generate(1)
    tasks = {
        "a proof": good,
        "no proof": task.model_copy(update={"proof": ()}),
        "cut": task.model_copy(update={"proof": task.proof[:-1]}),
        "foreign": DOMAIN.generate(2).model_copy(update={"proof": ("dance",)}),
        "longer": DOMAIN.generate(3).model_copy(update={"proof": (*DOMAIN.generate(3).proof, "look")}),
        "no world": Task(domain="alfworld", goal="be", payload={"scene": {"receptacles": 3}}, proof=("look",)),
        "no domain": Task(domain="chess", goal="mate", payload={}, proof=("e4",)),
    }
    del tasks["cut"]  # the same content as "no proof"; tried by itself below
    TaskPool.create(tmp_path / "pool.db", tasks.values()).close()
    found = {line.split(": ")[0].removeprefix("task "): line for line in problems(tmp_path / "pool.db", replay=True)}
    assert found.keys() == {task.id for name, task in tasks.items() if name != "a proof"}
    for name, what in (
        ("no proof", "has no proof"),
        ("foreign", "'dance', is not admissible"),
        ("longer", "solved before command"),
        ("no world", "world cannot be built"),
        ("no domain", "no domain named 'chess'"),
    ):
        assert what in found[tasks[name].id]
    assert problems(tmp_path / "pool.db") == []  # without playing they look well
    assert "does not reach the goal" in str(DOMAIN.verify(task.model_copy(update={"proof": task.proof[:-1]})))
    assert DOMAIN.verify(good) is None
