"""Pools of another schema version are refused; the tables hold what the library relies on."""

import sqlite3
from pathlib import Path

import pytest
from toy_tasks import child, root

from rlanything_task_pools import PoolError, TaskPool
from rlanything_task_pools.schema import SCHEMA_VERSION


@pytest.mark.parametrize(
    ("by", "remedy"), [(-1, r"make it again with TaskPool\.create"), (1, "upgrade rlanything-envs")]
)
def test_a_pool_of_another_version_is_refused_with_a_way_out(tmp_path: Path, by: int, remedy: str) -> None:
    path = tmp_path / "pool.db"
    TaskPool.create(path, [root(0)]).close()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + by}")
    before = path.read_bytes()
    with pytest.raises(PoolError, match=rf"schema version {SCHEMA_VERSION + by}, .*: {remedy}"):
        TaskPool.open(path)
    assert path.read_bytes() == before


def test_the_database_itself_refuses_a_second_decision(tmp_path: Path) -> None:
    with TaskPool.create(tmp_path / "pool.db", [root(0)]) as pool:
        pool.propose(0, child(root(0), 10))
        pool.accept(0, "ok")
    with sqlite3.connect(tmp_path / "pool.db") as db, pytest.raises(sqlite3.IntegrityError, match=r"events\.version"):
        db.execute(
            "INSERT INTO events (kind, slot, version, task, reason, stats) VALUES ('rejected', 0, 2, '', '', '')"
        )
