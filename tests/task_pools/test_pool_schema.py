"""Older pools take the steps they lack, all or none; newer ones are refused."""

import sqlite3
from pathlib import Path

import pytest
from toy_tasks import child, outcome, root

from rlanything_task_pools import PoolVersionError, TaskPool, schema
from rlanything_task_pools.frozen import canonical_json
from rlanything_task_pools.records import pack
from rlanything_task_pools.verify import verify_pool

# Version 1 as it was released; never to be brought up to date.
V1 = """
CREATE TABLE tasks (id TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE versions (version INTEGER PRIMARY KEY, slot INTEGER NOT NULL,
    task TEXT NOT NULL REFERENCES tasks (id), lineage BLOB NOT NULL);
CREATE INDEX versions_task ON versions (task);
CREATE INDEX versions_slot ON versions (slot, task);
CREATE TABLE slots (slot INTEGER PRIMARY KEY, root INTEGER NOT NULL REFERENCES versions (version),
    active INTEGER NOT NULL REFERENCES versions (version), candidate INTEGER REFERENCES versions (version));
CREATE TABLE events (event INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL,
    slot INTEGER NOT NULL REFERENCES slots (slot), version INTEGER NOT NULL REFERENCES versions (version),
    task TEXT NOT NULL, reason TEXT NOT NULL, stats TEXT NOT NULL);
CREATE INDEX events_slot ON events (slot);
CREATE TABLE outcomes (outcome INTEGER PRIMARY KEY AUTOINCREMENT, event INTEGER NOT NULL,
    slot INTEGER NOT NULL REFERENCES slots (slot), task TEXT NOT NULL REFERENCES tasks (id),
    role TEXT NOT NULL, success INTEGER, score REAL NOT NULL, steps INTEGER NOT NULL, actor TEXT NOT NULL);
CREATE INDEX outcomes_slot ON outcomes (slot, task);
PRAGMA application_id = 0x524C4150;
PRAGMA user_version = 1;
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A pool of version 1: two slots, groups of outcomes, one accepted and one waiting rewrite."""
    path = tmp_path / "old.db"
    first, second = child(root(0), 10), child(child(root(0), 10), 11, "harder")
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(V1)
        for version, (slot, task) in enumerate([(0, root(0)), (1, root(1)), (0, first), (0, second)], 1):
            rewrite = task.rewrite.model_dump() if task.rewrite else None
            content = {name: getattr(task, name) for name in ("domain", "goal", "payload", "proof", "traits")}
            db.execute("INSERT INTO tasks VALUES (?, ?)", (task.id, pack(content)))
            lineage = {"parent": task.parent, "root": task.root, "rewrite": rewrite}
            db.execute("INSERT INTO versions VALUES (?, ?, ?, ?)", (version, slot, task.id, pack(lineage)))
        db.executemany("INSERT INTO slots VALUES (?, ?, ?, ?)", [(0, 1, 3, 4), (1, 2, 2, None)])
        events = [("proposed", 3, first, "easier"), ("accepted", 3, first, "ok"), ("proposed", 4, second, "harder")]
        db.executemany(
            "INSERT INTO events (kind, slot, version, task, reason, stats) VALUES (?, 0, ?, ?, ?, ?)",
            [(kind, version, task.id, reason, canonical_json({"n": 8})) for kind, version, task, reason in events],
        )
        groups = [(0, 0, root(0), "active", 3), (0, 1, root(1), "active", 2), (1, 0, first, "candidate", 2)]
        groups += [(2, 0, first, "active", 1), (3, 0, first, "active", 2), (3, 1, root(1), "active", 1)]
        for event, slot, task, role, n in groups:
            db.executemany(
                "INSERT INTO outcomes (event, slot, task, role, success, score, steps, actor) "
                "VALUES (?, ?, ?, ?, 1, 1.0, 4, 'policy-1')",
                [(event, slot, task.id, role)] * n,
            )
    return path


def tables(path: Path) -> dict[str, str]:
    with sqlite3.connect(path) as db:
        return {name: " ".join(sql.split()) for name, sql in db.execute("SELECT name, sql FROM sqlite_master") if sql}


def version(path: Path) -> int:
    with sqlite3.connect(path) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def test_a_pool_of_version_1_is_migrated(old: Path, tmp_path: Path) -> None:
    with TaskPool.open(old) as pool:
        assert pool.active(0) == child(root(0), 10)
        assert pool.candidate(0) == child(child(root(0), 10), 11, "harder")
        assert [task.id for task in pool.history(0)] == [root(0).id, child(root(0), 10).id]
        assert [event.kind for event in pool.events()] == ["proposed", "accepted", "proposed"]
        # The groups were not on record; runs of outcomes that differ in nothing else are found again.
        assert [record.batch for record in pool.outcomes()] == [1, 1, 1, 4, 4, 6, 6, 8, 9, 9, 11]
        assert list(verify_pool(pool, replay=False)) == []
        pool.accept(0, "ok")
        pool.record(0, pool.active(0).id, [outcome(), outcome()])
        assert [record.batch for record in pool.outcomes()][-2:] == [12, 12]
    assert version(old) == schema.SCHEMA_VERSION
    TaskPool.create(tmp_path / "new.db", [root(0)]).close()
    assert tables(old) == tables(tmp_path / "new.db")


def test_the_old_self_is_kept(old: Path) -> None:
    before = list(sqlite3.connect(old).iterdump())
    TaskPool.open(old).close()
    backup = old.with_name("old.db.v1")
    assert version(backup) == 1
    assert list(sqlite3.connect(backup).iterdump()) == before
    with TaskPool.open(old) as pool:
        pool.restore(backup)  # a checkpoint of an older library can be gone back to
        assert [record.batch for record in pool.outcomes()][:4] == [1, 1, 1, 4]
        assert pool.counts()["pending"] == 1


def test_a_failed_migration_changes_nothing(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = (*schema.STEPS, ("CREATE TABLE later (x)", "CREATE TABLE tasks (x)"))
    monkeypatch.setattr(schema, "STEPS", broken)
    before = list(sqlite3.connect(old).iterdump())
    with pytest.raises(PoolVersionError, match="cannot be migrated"):
        TaskPool.open(old)
    assert version(old) == 1
    assert list(sqlite3.connect(old).iterdump()) == before


def test_a_newer_pool_is_refused_with_a_way_out(tmp_path: Path) -> None:
    path = tmp_path / "pool.db"
    TaskPool.create(path, [root(0)]).close()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")
    with pytest.raises(PoolVersionError, match=rf"upgrade rlanything-envs.*pool\.db\.v{schema.SCHEMA_VERSION}"):
        TaskPool.open(path)


def test_the_database_itself_refuses_a_second_decision(tmp_path: Path) -> None:
    with TaskPool.create(tmp_path / "pool.db", [root(0)]) as pool:
        pool.propose(0, child(root(0), 10))
        pool.accept(0, "ok")
    with (
        sqlite3.connect(tmp_path / "pool.db") as db,
        pytest.raises(sqlite3.IntegrityError, match=r"events\.version"),
    ):
        db.execute(
            "INSERT INTO events (kind, slot, version, task, reason, stats) VALUES ('rejected', 0, 2, '', '', '')"
        )
