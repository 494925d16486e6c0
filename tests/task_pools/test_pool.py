"""The pool: slots and logs in one file, whole after any kill, shared by processes, restored."""

import multiprocessing
import os
import pickle
import signal
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from toy_tasks import child, dump, history, outcome, root

from rlanything_task_pools import CandidateError, PoolError, Rejection, Rewrite, TaskFormatError, TaskPool, UnknownTask
from rlanything_task_pools.export import export_pool, import_pool
from rlanything_task_pools.records import pack
from rlanything_task_pools.tables import build_pool, read_tables
from rlanything_task_pools.verify import verify_pool


@pytest.fixture
def pool(tmp_path: Path) -> TaskPool:
    return TaskPool.create(tmp_path / "pool.db", [root(n) for n in range(3)])


# opening


def test_create_and_open(pool: TaskPool) -> None:
    with TaskPool.open(pool.path) as again:
        assert again.slots == [0, 1, 2]
        assert [again.active(slot) for slot in again.slots] == [root(n) for n in range(3)]
        assert again.candidate(0) is None
        assert again.task(root(1).id) == again.root(1) == root(1)
        assert again.counts() == {
            "slots": 3, "tasks": 3, "outcomes": 0, "errors": 0, "pending": 0, "rewritten": 0,
            "proposed": 0, "accepted": 0, "rejected": 0, "discarded": 0,
        }  # fmt: skip


def test_opening_the_wrong_thing(pool: TaskPool, tmp_path: Path) -> None:
    with pytest.raises(PoolError, match=r"TaskPool\.open"):
        TaskPool.create(pool.path, [root(0)])
    with pytest.raises(PoolError, match=r"TaskPool\.create"):
        TaskPool.open(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(PoolError, match="no tasks for the pool"):
        TaskPool.create(tmp_path / "empty.db", [])
    assert not (tmp_path / "empty.db").exists()
    with pytest.raises(PoolError, match="tasks 0 and 1 are the same"):
        TaskPool.create(tmp_path / "twins.db", [root(0), root(0)])
    (tmp_path / "text.db").write_text("no database, but long enough to look like a file of some kind" * 20)
    with pytest.raises(PoolError, match="not a task pool"):
        TaskPool.open(tmp_path / "text.db")
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE t (x)")
    before = (tmp_path / "other.db").read_bytes()
    with pytest.raises(PoolError, match="not a task pool"):
        TaskPool.open(tmp_path / "other.db")
    with pytest.raises(PoolError, match="exists: open it"):
        TaskPool.create(tmp_path / "other.db", [root(0)])
    assert (tmp_path / "other.db").read_bytes() == before, "what is another program's is left as it is"
    with sqlite3.connect(pool.path) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(PoolError, match="99"):
        TaskPool.open(pool.path)


def test_a_damaged_schema_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pool.sqlite"
    TaskPool.create(path, [root(0)]).close()
    content = path.read_bytes()
    keyword = b"event INTEGER PRIMARY KEY"
    assert keyword in content
    path.write_bytes(content.replace(keyword, b"event INTEGER PRIMARY \x80EY"))  # SQLite's message quotes it
    with pytest.raises(PoolError, match="not a task pool"):
        TaskPool.open(path)


def test_an_unfinished_creation_is_missing_and_can_be_made_again(tmp_path: Path) -> None:
    path = tmp_path / "pool.db"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode = WAL")
    with pytest.raises(PoolError, match="never finished"):
        TaskPool.open(path)
    assert TaskPool.create(path, [root(0)]).slots == [0]


# decisions


def test_life_of_candidates(pool: TaskPool) -> None:
    first, second = child(root(0), 10), child(child(root(0), 10), 11, "harder")
    event = pool.propose(0, first, stats={"p": 0.1})
    assert (event.index, event.kind, event.reason, event.stats["p"]) == (1, "proposed", "easier", 0.1)
    assert pool.candidate(0) == first
    assert pool.active(0) == root(0)
    pool.accept(0, "in_band", task_id=first.id, stats={"p": 0.5})
    assert pool.candidate(0) is None
    assert pool.active(0) == first
    pool.propose(0, second)
    pool.reject(0, "not_harder")
    pool.discard(0, Rejection(reason="unsolvable", detail="no plan"), stats={"author": "scripted"})
    pool.propose(0, second)
    pool.accept(0, "in_band")
    assert history(pool, 0) == [root(0), first, second]
    assert pool.root(0) == root(0)
    assert pool.lineage(second.id) == [root(0), first, second]
    assert [e.kind for e in pool.events()] == [
        "proposed", "accepted", "proposed", "rejected", "discarded", "proposed", "accepted",
    ]  # fmt: skip
    assert [e.index for e in pool.events(kind="accepted", since=2)] == [7]
    assert pool.events(1) == []
    assert pool.events()[4].stats == {"author": "scripted", "detail": "no plan"}
    counts = pool.counts()
    assert (counts["rewritten"], counts["pending"], counts["tasks"], counts["accepted"]) == (1, 0, 5, 2)


def test_a_slot_may_return_to_its_root_and_keep_the_rewrite_on_record(pool: TaskPool) -> None:
    away = child(root(0), 10)
    back = root(0).model_copy(
        update={"parent": away.id, "root": root(0).id, "rewrite": Rewrite(direction="harder", author="x", change={})}
    )
    assert back.id == root(0).id
    for task in (away, back):
        pool.propose(0, task)
        pool.accept(0, "ok")
    assert pool.active(0) == back
    assert pool.active(0).rewrite == back.rewrite
    assert pool.root(0).rewrite is None
    assert [task.id for task in history(pool, 0)] == [root(0).id, away.id, root(0).id]
    assert pool.lineage(away.id) == [root(0), away]
    assert pool.lineage(back.id) == [root(0)]


def test_a_fresh_task_is_the_new_root(pool: TaskPool) -> None:
    pool.propose(0, child(root(0), 10))
    pool.accept(0, "ok")
    assert pool.propose(0, root(7)).reason == "fresh"
    assert (pool.root(0), pool.candidate(0)) == (root(0), root(7))
    pool.reject(0, "no")
    pool.propose(0, root(8))
    pool.accept(0, "fresh")
    assert pool.root(0) == pool.active(0) == root(8)
    assert pool.first(0) == root(0).id
    assert pool.counts()["rewritten"] == 0
    pool.propose(0, child(root(8), 9))
    pool.accept(0, "ok")
    assert [(v.state, v.parent) for v in pool.versions(0)] == [
        ("root", None), ("accepted", 1), ("rejected", None), ("accepted", None), ("accepted", 6),
    ]  # fmt: skip
    assert pool.root(0) == root(8)
    assert pool.lineage(pool.active(0).id) == [root(8), pool.active(0)]
    assert list(verify_pool(pool, replay=False)) == []
    assert read_tables(build_pool(read_tables(pool), replay=False)) == read_tables(pool)
    tables = read_tables(pool)
    tables["slots"][0]["root"] = 1
    with pytest.raises(PoolError, match="slots, row 1: root is 1, but it must be 6"):
        build_pool(tables, replay=False)
    with pytest.raises(PoolError, match="has no slot 9"):
        pool.first(9)


def test_wrong_decisions_change_nothing(pool: TaskPool) -> None:
    before = dump(pool.path)
    with pytest.raises(CandidateError, match="no candidate"):
        pool.accept(0, "x")
    with pytest.raises(CandidateError, match="rewrite of"):
        pool.propose(0, child(root(1), 10))
    with pytest.raises(CandidateError, match="rewrite of"):
        pool.propose(0, root(2).model_copy(update={"parent": root(1).id}))
    with pytest.raises(CandidateError, match="itself"):
        pool.propose(0, child(root(0), 0))
    with pytest.raises(PoolError, match=r"0\.\.2"):
        pool.active(3)
    with pytest.raises(PoolError, match="has no slot 3"):
        pool.record(3, root(0).id, [outcome()])
    with pytest.raises(UnknownTask):
        pool.record(0, root(1).id, [outcome()])
    with pytest.raises(UnknownTask):
        pool.task("toy-0")
    assert dump(pool.path) == before
    pool.propose(0, child(root(0), 10))
    before = dump(pool.path)
    with pytest.raises(CandidateError, match="already"):
        pool.propose(0, child(root(0), 11))
    with pytest.raises(CandidateError, match="look again"):
        pool.reject(0, "x", task_id=root(0).id)
    assert dump(pool.path) == before


def test_outcomes_and_their_filters(pool: TaskPool) -> None:
    new = child(root(0), 10)
    pool.record(0, root(0).id, [outcome(True), outcome(False), outcome(None)])
    pool.propose(0, new)
    pool.record(0, new.id, [outcome(True, "candidate")])
    pool.record(0, root(0).id, [outcome(True)])
    pool.record(1, root(1).id, [outcome(False, "eval")])
    assert [record.outcome.success for record in pool.outcomes(0, root(0).id)] == [True, False, None, True]
    assert [record.outcome.success for record in pool.outcomes(0, root(0).id, errors=False)] == [True, False, True]
    assert [record.task_id for record in pool.outcomes(role="candidate")] == [new.id]
    assert [record.slot for record in pool.outcomes(role="eval")] == [1]
    assert [record.index for record in pool.outcomes()] == [1, 2, 3, 4, 5, 6]
    assert (pool.counts()["outcomes"], pool.counts()["errors"]) == (6, 1)


def test_versions_tell_what_became_of_every_rewrite(pool: TaskPool) -> None:
    first, second, third = child(root(0), 10), child(root(0), 11), child(child(root(0), 11), 12)
    pool.propose(0, first)
    pool.reject(0, "not-easier")
    pool.discard(0, Rejection(reason="unsolvable"))
    pool.propose(0, second)
    pool.accept(0, "easier")
    pool.propose(0, third)
    versions = pool.versions(0)
    assert [version.task for version in versions] == [root(0), first, second, third]
    assert [version.state for version in versions] == ["root", "rejected", "accepted", "pending"]
    by_index = {version.index: version for version in versions}
    parents = [by_index[version.parent].task.id if version.parent else None for version in versions]
    assert parents == [None, root(0).id, root(0).id, second.id]
    assert [version.decided.reason if version.decided else None for version in versions] == [
        None, "not-easier", "easier", None,
    ]  # fmt: skip
    assert pool.versions(1)[0].task == root(1)
    with pytest.raises(PoolError, match="has no slot 9"):
        pool.versions(9)


def test_a_group_is_what_one_call_records(pool: TaskPool) -> None:
    pool.record(0, root(0).id, [outcome()] * 3)
    pool.record(0, root(0).id, [outcome()] * 2)
    pool.record(0, root(0).id, [])
    pool.record(1, root(1).id, [outcome()])
    assert [record.batch for record in pool.outcomes()] == [1, 1, 1, 4, 4, 6]


def test_a_snapshot_sees_one_moment(pool: TaskPool) -> None:
    with TaskPool.open(pool.path) as other:
        with pool.snapshot():
            before = pool.counts()
            other.record(0, root(0).id, [outcome()])
            other.propose(0, child(root(0), 10))
            assert pool.counts() == before
            assert pool.candidate(0) is None
        assert pool.counts()["outcomes"] == 1
        assert pool.candidate(0) == child(root(0), 10)


def test_unpacked_tasks_are_kept_and_never_stale(pool: TaskPool, tmp_path: Path) -> None:
    assert pool.active(0) is pool.active(0)
    copy = pool.copy(tmp_path / "copy.db")
    pool.propose(0, child(root(0), 10))
    assert pool.candidate(0) is pool.candidate(0)
    pool.accept(0, "ok")
    with TaskPool.open(pool.path) as other:  # another process goes back and on, with the same version numbers
        other.restore(copy)
        assert pool.active(0) == root(0)
        other.propose(0, child(root(0), 20))
        assert pool.candidate(0) == child(root(0), 20)
        other.accept(0, "ok")
    assert pool.active(0) == child(root(0), 20)
    with TaskPool.create(tmp_path / "many.db", [root(n) for n in range(300)]) as many:
        assert [many.active(slot) for slot in many.slots] == [root(n) for n in range(300)]
        assert len(many._tasks) == 128


# checkpoints


def test_a_copy_restores_exactly(pool: TaskPool, tmp_path: Path) -> None:
    pool.record(0, root(0).id, [outcome()])
    pool.propose(0, child(root(0), 10))
    state = dump(pool.path)
    copy = pool.copy(tmp_path / "checkpoint.db")
    assert dump(copy) == state
    assert sorted(path.name for path in tmp_path.glob("*checkpoint*")) == ["checkpoint.db"]
    with pytest.raises(PoolError, match="exists: choose another path"):
        pool.copy(copy)
    for _ in range(2):
        pool.accept(0, "in_band")
        pool.record(1, root(1).id, [outcome()] * 50)
        assert dump(pool.path) != state
        pool.restore(copy)
        assert dump(pool.path) == state
    other = TaskPool.open(pool.path)
    # Ids go on from where the checkpoint was, as in a run that was never stopped.
    assert other.accept(0, "in_band").index == 2
    assert pool.active(0) == child(root(0), 10)
    with sqlite3.connect(pool.path) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    with pytest.raises(PoolError, match="no task pool at"):
        pool.restore(tmp_path / "none.db")


def test_a_copy_is_a_pool(pool: TaskPool, tmp_path: Path) -> None:
    with TaskPool.open(pool.copy(tmp_path / "copy.db")) as copy:
        copy.propose(2, child(root(2), 20))
    assert pool.candidate(2) is None


# processes


def _write(path: Path, slot: int, rounds: int) -> None:
    pool = TaskPool.open(path)
    for number in range(rounds):
        task = pool.active(slot)
        pool.record(slot, task.id, [outcome()] * 2)
        pool.propose(slot, child(task, 100 * (slot + 1) + number))
        pool.accept(slot, "ok")


def test_two_processes_and_a_forked_pool(pool: TaskPool) -> None:
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=_write, args=(pool.path, slot, 30)) for slot in (0, 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert pool.counts()["accepted"] == 60
    assert pool.counts()["outcomes"] == 120
    assert len(history(pool, 0)) == len(history(pool, 1)) == 31

    pid = os.fork()
    if pid == 0:  # the child uses the parent's pool object
        try:
            pool.record(2, root(2).id, [outcome()])
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
    pool.record(2, root(2).id, [outcome()])
    assert len(pool.outcomes(2)) == 2


def test_what_a_child_writes_survives_its_parents_pool(pool: TaskPool) -> None:
    """A child that inherits SQLite's locks takes none of its own, and the log would be deleted under it."""
    pool.record(2, root(2).id, [outcome()])
    (go, closed), (told, written) = os.pipe(), os.pipe()
    if (pid := os.fork()) == 0:
        try:
            with TaskPool.open(pool.path) as own:
                own.record(2, root(2).id, [outcome()])
                os.write(written, b"1")
                os.read(go, 1)
                own.record(2, root(2).id, [outcome()])
            os._exit(0)
        except BaseException:
            os._exit(1)
    os.read(told, 1)
    pool.close()
    os.write(closed, b"1")
    assert os.waitpid(pid, 0)[1] == 0
    assert len(pool.outcomes(2)) == 3


def test_nothing_is_stored_that_cannot_be_read() -> None:
    with pytest.raises(TaskFormatError, match="a pool reads no more than 4000000"):
        pack({"payload": "x" * 4_000_000})


def test_a_new_pool_has_no_groups_of_an_earlier_one_at_its_path(tmp_path: Path) -> None:
    ends = ("", "-wal", "-shm")
    for end in ends:
        (tmp_path / f"pool.sqlite.groups{end}").write_text("groups in play")
    TaskPool.create(tmp_path / "pool.sqlite", [root(0)]).close()
    assert not list(tmp_path.glob("*.groups*"))


def test_threads_share_a_pool(pool: TaskPool) -> None:
    errors: list[BaseException] = []

    def work(slot: int) -> None:
        try:
            for _ in range(30):
                pool.record(slot, pool.active(slot).id, [outcome()])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(slot,)) for slot in (0, 1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert pool.counts()["outcomes"] == 90


def test_a_task_of_two_slots_has_the_lineage_of_each(pool: TaskPool) -> None:
    made = [child(root(slot), 10) for slot in (0, 1)]
    assert made[0].id == made[1].id
    for slot, task in enumerate(made):
        pool.propose(slot, task)
    assert [pool.task_in(slot, made[0].id).parent for slot in (0, 1, 2)] == [root(0).id, root(1).id, root(0).id]
    with pytest.raises(UnknownTask):
        pool.task_in(0, "toy-0")


def test_pickle_reopens(pool: TaskPool) -> None:
    assert pickle.loads(pickle.dumps(pool)).slots == [0, 1, 2]


def test_a_busy_pool_is_waited_for(pool: TaskPool) -> None:
    with sqlite3.connect(pool.path, isolation_level=None, check_same_thread=False) as other:
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.3, lambda: other.execute("COMMIT"))
        timer.start()
        pool.record(0, root(0).id, [outcome()])
        timer.join()
    assert pool.counts()["outcomes"] == 1


def test_restoring_waits_for_a_busy_pool_as_long_as_its_timeout(pool: TaskPool, tmp_path: Path) -> None:
    snapshot = pool.copy(tmp_path / "snapshot.db")
    with sqlite3.connect(pool.path, isolation_level=None) as other, TaskPool.open(pool.path, timeout=0.2) as hasty:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="database is locked"):
            hasty.restore(snapshot)
        other.execute("COMMIT")
        hasty.restore(snapshot)


# several processes at one path


def _together(work: Callable[[], object]) -> list[str]:
    """What becomes of work that four processes begin at once: ``done``, or the error."""
    context = multiprocessing.get_context("fork")
    begun, found = context.Barrier(4), context.Queue()

    def one() -> None:
        begun.wait(10)
        try:
            work()
            found.put("done")
        except Exception as error:
            found.put(f"{type(error).__name__}: {error}")

    processes = [context.Process(target=one) for _ in range(4)]
    for process in processes:
        process.start()
    results = sorted(found.get(timeout=20) for _ in processes)
    for process in processes:
        process.join()
    return results


@pytest.mark.parametrize("how", ["create", "import"])
def test_of_several_processes_one_makes_a_pool(how: str, pool: TaskPool, tmp_path: Path) -> None:
    export_pool(pool, tmp_path / "export")
    for k in range(12):
        path = tmp_path / f"{k}.db"
        made = {
            "create": lambda path=path: TaskPool.create(path, [root(n) for n in range(3)]),
            "import": lambda path=path: import_pool(tmp_path / "export", path, replay=False),
        }
        done, *refused = _together(made[how])
        assert all(text.startswith(f"PoolError: {path} exists") for text in (done, *refused[:2])), (done, refused)
        assert refused[2] == "done"
        with TaskPool.open(path) as found:
            assert (found.slots, found.damage()) == ([0, 1, 2], [])
            assert found._rows("PRAGMA journal_mode") == [("wal",)]


def test_a_copy_is_not_mixed_with_what_a_killed_process_left(pool: TaskPool, tmp_path: Path) -> None:
    path = tmp_path / "killed.db"
    if (pid := os.fork()) == 0:
        TaskPool.create(path, [root(7)]).record(0, root(7).id, [outcome()])
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    path.unlink()
    assert list(tmp_path.glob("killed.db-wal"))
    with TaskPool.open(pool.copy(path)) as copy:
        assert [copy.root(slot).id for slot in copy.slots] == [root(n).id for n in range(3)]
        assert copy.outcomes() == []


def test_a_child_does_not_wait_for_a_thread_of_its_parent(pool: TaskPool) -> None:
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            pool.record(0, root(0).id, [outcome()])

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            if (pid := os.fork()) == 0:
                signal.alarm(10)  # a child that waits for ever ends with the signal
                pool.record(1, root(1).id, [outcome()])
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert len(pool.outcomes(1)) == 10
