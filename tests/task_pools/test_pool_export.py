"""Pools out and in again in each format; nothing wrong gets in."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from alfworld_tasks import DOMAIN
from toy_tasks import child, dump, outcome, root

from rlanything_task_pools import MissingExtra, PoolError, Rejection, Task, TaskPool
from rlanything_task_pools.export import Format, export_pool, import_pool
from rlanything_task_pools.tables import build_pool, read_tables


def lived(path: Path) -> TaskPool:
    """A pool with all kinds of events, outcomes and versions, of real tasks."""
    pool = TaskPool.create(path, [DOMAIN.generate(seed) for seed in range(3)])
    rng = np.random.default_rng(0)
    pool.record(0, pool.active(0).id, [outcome(), outcome(None), outcome(False)])
    for slot in pool.slots:
        for direction in ("harder", "easier"):
            task = pool.active(slot)
            for proposal in DOMAIN.propose(task, direction, rng)[:2]:
                new = DOMAIN.validate(
                    task, proposal, direction=direction, author="π-3 “mini”", critique="Läuft\n\x1b[0m 🍎"
                )
                if isinstance(new, Task):
                    pool.propose(slot, new, stats={"n": 8, "p": 1 / 3})
                    pool.record(slot, new.id, [outcome(role="candidate")] * 2)
                    pool.accept(slot, "in-band", stats={"successes": 5}) if slot else pool.reject(slot, "too-easy")
                    break
    pool.discard(1, Rejection(reason="unsolvable", detail="no plan"), stats={"n": 8})
    task = pool.active(2)
    new = next(
        new
        for direction in ("harder", "easier")
        for proposal in DOMAIN.propose(task, direction, rng)
        if isinstance(new := DOMAIN.validate(task, proposal, direction=direction, author="x"), Task)
    )
    pool.propose(2, new)
    pool.record(2, task.id, [outcome(role="eval")])
    pool.record(2, task.id, [outcome(role="eval")])
    return pool


@pytest.mark.parametrize("format", get_args(Format))
def test_out_and_in_again_is_the_same_pool(format: Format, tmp_path: Path) -> None:
    with lived(tmp_path / "pool.db") as pool:
        assert pool.counts()["accepted"] >= 2
        folder = export_pool(pool, tmp_path / "out", format)
        with pytest.raises(PoolError, match="exists: choose another path"):
            export_pool(pool, folder, format)
        with import_pool(folder, tmp_path / "in.db") as again:
            assert read_tables(again) == read_tables(pool)
            assert dump(again.path) == dump(pool.path)
            for slot in pool.slots:
                assert again.versions(slot) == pool.versions(slot)
            assert again.outcomes() == pool.outcomes()
            assert again.events() == pool.events()
            # It lives on as the first would.
            assert again.accept(2, "ok") == pool.accept(2, "ok")
        with pytest.raises(PoolError, match="exists: choose another path"):
            import_pool(folder, tmp_path / "in.db")
    assert sorted(p.name for p in tmp_path.iterdir() if ".part" in p.name) == []


def test_a_young_pool_goes_out_and_in(tmp_path: Path) -> None:
    for format in get_args(Format):
        with TaskPool.create(tmp_path / f"{format}.db", [DOMAIN.generate(0)]) as pool:
            export_pool(pool, tmp_path / format, format)
            with import_pool(tmp_path / format, tmp_path / f"{format}-in.db") as again:
                assert dump(again.path) == dump(pool.path)


def test_a_hundred_thousand_outcomes_keep_their_groups(tmp_path: Path) -> None:
    with TaskPool.create(tmp_path / "pool.db", [root(0), root(1)]) as pool:
        for turn in range(2000):
            pool.record(turn % 2, root(turn % 2).id, [outcome(actor=f"policy@{turn}")] * 5)
        assert read_tables(build_pool(read_tables(pool), replay=False)) == read_tables(pool)


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with TaskPool.create(tmp_path / "pool.db", [root(0)]) as pool:
        for name in ["pyarrow", *(name for name in sys.modules if name.startswith("pyarrow."))]:
            monkeypatch.setitem(sys.modules, name, None)  # what Python itself does to forbid an import
        with pytest.raises(MissingExtra, match=r"pip install -e '.*\[export\]"):
            export_pool(pool, tmp_path / "out", "parquet")
    assert not (tmp_path / "out").exists()


def test_a_pool_needs_none_of_them() -> None:
    code = """
import sys
import rlanything_task_pools.export
heavy = {"pandas", "pyarrow", "datasets"} & set(sys.modules)
sys.exit(f"imported {heavy}" if heavy else 0)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# what must not get in


def change(table: str, row: int, **columns: Any) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        file = folder / f"{table}.jsonl"
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        rows[row] = {**rows[row], **columns}
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))

    return act


def drop(table: str, row: int) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        file = folder / f"{table}.jsonl"
        lines = file.read_text().splitlines(keepends=True)
        del lines[row]
        file.write_text("".join(lines))

    return act


def overwrite(name: str, text: str | bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode()) and None


HOSTILE: dict[str, tuple[Callable[[Path], None], str]] = {
    "other goal": (change("tasks", 0, goal="be rich"), r"tasks, row 1: id is .* that of its content is"),
    "other id": (change("tasks", 0, id="alfworld-0"), r"tasks, row 1: id is 'alfworld-0', but that of"),
    "no proof": (change("tasks", 0, proof=[]), r"tasks, row 1: .*has no proof"),
    "wrong proof": (change("tasks", 1, proof=["look"]), r"tasks, row 2: .*does not reach the goal"),
    "proof of numbers": (change("tasks", 1, proof=[1]), r"tasks, row 2: task field proof"),
    "payload of text": (change("tasks", 1, payload="x"), r"tasks, row 2: task field payload"),
    "no world": (change("tasks", 1, payload={}), r"tasks, row 2: id is .* that of its content is"),
    "other parent": (change("tasks", 3, parent="alfworld-0"), r"is a rewrite of alfworld-0"),
    "foreign domain": (change("tasks", 0, domain="../../etc"), r"tasks, row 1: id is .* content is ../../etc-"),
    "extra column": (change("tasks", 0, evil=1), r"tasks, row 1: unknown columns \['evil'\]"),
    "other active": (change("slots", 1, active=2, candidate=None), r"slots, row 2: active is 2, but it must be"),
    "slot of none": (change("slots", 0, root=99), r"slots, row 1: root is 99, but it must be 1"),
    "slot numbers": (change("slots", 0, slot=7), r"slots, row 1: no 7 here"),
    "unhashable": (change("slots", 0, slot={}), r"slots, row 1: not the values"),
    "lost event": (drop("events", 0), r"table events|table outcomes"),
    "second acceptance": (change("events", 1, kind="accepted"), r"table (slots|events)"),
    "unknown kind": (change("events", 0, kind="praised"), r"events, row 1: unknown kind 'praised'"),
    "stats of text": (change("events", 0, stats="x"), r"events, row 1"),
    "score of text": (change("outcomes", 0, score="high"), r"outcomes, row 1: score"),
    "success of text": (change("outcomes", 0, success="yes"), r"outcomes, row 1: success"),
    "role": (change("outcomes", 0, role="boss"), r"outcomes, row 1: role"),
    "negative steps": (change("outcomes", 0, steps=-1), r"outcomes, row 1: steps"),
    "other numbers": (change("outcomes", 0, outcome=5), r"outcomes, row 1: outcome is 5"),
    "lost outcome": (drop("outcomes", 0), r"table outcomes"),
    "outcome of the future": (change("outcomes", 0, event=99), r"outcomes"),
    "huge number": (change("outcomes", 0, steps=10**30), r"outcomes, row 1"),
    "not JSON": (overwrite("events.jsonl", "{"), r"events\.jsonl cannot be read"),
    "not an object": (overwrite("events.jsonl", "[]\n"), r"line 1: expected a JSON object"),
    "not text": (overwrite("events.jsonl", b"\xff\xfe"), r"events\.jsonl cannot be read"),
    "deep": (overwrite("events.jsonl", "[" * 100_000), r"events\.jsonl"),
    "long line": (overwrite("events.jsonl", '{"a": "' + "x" * 5_000_000), r"events\.jsonl cannot be read"),
    "no roots": (overwrite("slots.jsonl", ""), r"table slots: no tasks"),
    "no table": (lambda folder: (folder / "events.jsonl").unlink(), r"events\.jsonl cannot be read"),
    "no header": (lambda folder: (folder / "pool.json").unlink(), r"is not an exported pool"),
    "newer": (
        overwrite("pool.json", '{"format": "rlanything-pool", "version": 2, "tables": "jsonl"}'),
        r"this library reads 'rlanything-pool' 1",
    ),
    "list of formats": (
        overwrite("pool.json", '{"format": "rlanything-pool", "version": 1, "tables": ["jsonl"]}'),
        r"this library reads",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("export")
    with lived(folder / "pool.db") as pool:
        export_pool(pool, folder / "out")
    return {file.name: file.read_bytes() for file in (folder / "out").iterdir()}


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_wrong_gets_in(name: str, exported: dict[str, bytes], tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    for file, data in exported.items():
        (folder / file).write_bytes(data)
    spoil, message = HOSTILE[name]
    spoil(folder)
    with pytest.raises(PoolError, match=message):
        import_pool(folder, tmp_path / "in.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_a_world_that_cannot_be_built_or_is_of_no_domain(tmp_path: Path) -> None:
    for task, message in (
        (Task(domain="alfworld", goal="be", payload={"scene": {}}, proof=("look",)), "world cannot be built"),
        (root(0), "no domain named 'toy'"),
    ):
        with TaskPool.create(tmp_path / f"{task.id}.db", [task]) as pool:
            export_pool(pool, tmp_path / task.id)
        with pytest.raises(PoolError, match=message):
            import_pool(tmp_path / task.id, tmp_path / "in.db")
        import_pool(tmp_path / task.id, tmp_path / f"{task.id}-believed.db", replay=False).close()


def test_broken_parquet_files(tmp_path: Path) -> None:
    with TaskPool.create(tmp_path / "pool.db", [DOMAIN.generate(0)]) as pool:
        export_pool(pool, tmp_path / "parquet", "parquet")
    (tmp_path / "parquet" / "tasks.parquet").write_bytes(b"PAR1 not")
    with pytest.raises(PoolError, match="cannot be read"):
        import_pool(tmp_path / "parquet", tmp_path / "in.db")
    assert not (tmp_path / "in.db").exists()
    # A folder without a pool in it.
    with pytest.raises(PoolError, match="not an exported pool"):
        import_pool(tmp_path, tmp_path / "in.db")


def test_unknown_format(tmp_path: Path) -> None:
    with TaskPool.create(tmp_path / "pool.db", [root(0), child(root(0), 5)]) as pool:
        with pytest.raises(PoolError, match="jsonl, parquet"):
            export_pool(pool, tmp_path / "out", "csv")  # type: ignore[arg-type]
        assert not (tmp_path / "out").exists()


def test_datasets_reads_the_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", True)
    with lived(tmp_path / "pool.db") as pool:
        folder = export_pool(pool, tmp_path / "out", "parquet")
        tables = read_tables(pool)
    for name, rows in tables.items():
        found = datasets.load_dataset(
            "parquet", data_files=str(folder / f"{name}.parquet"), split="train", cache_dir=str(tmp_path / "cache")
        )
        assert (len(found), found.column_names) == (len(rows), list(rows[0]))
