"""Jobs in processes of their own: order, failures, and what becomes of workers whose study is gone."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console
from waiting import until

from studies.jobs import Job, Key, Progress
from studies.runner import Board, Entry, Screen, State, run_jobs, tail


def job(tmp_path: Path, arm: str, needs: tuple[str, ...] = (), *, done: bool = False) -> Job:
    """A job that is done, or fails at once: its configuration has no such key."""
    folder = tmp_path / arm
    folder.mkdir()
    result = folder / "result"
    if done:
        result.touch()
    work = {"kind": "train", "config": {"threads": 1, "odd": 1}, "folder": str(folder), "command": ""}
    return Job(Key("r", arm, 0), work, folder / "log.txt", (result,), tuple(Key("r", name, 0) for name in needs))


def test_a_failure_stops_what_needs_it_and_nothing_else(tmp_path: Path) -> None:
    jobs = [job(tmp_path, "a"), job(tmp_path, "b", ("a",)), job(tmp_path, "c", ("b",)), job(tmp_path, "d", done=True)]
    jobs.append(job(tmp_path, "e", ("d",)))
    seen: list[int] = []
    board = run_jobs(jobs, 1, lambda board: seen.append(board.count(State.running)))
    states = {entry.job.key.arm: entry.state for entry in board.entries.values()}
    assert states == {"a": State.failed, "b": State.blocked, "c": State.blocked, "d": State.done, "e": State.failed}
    assert max(seen) == 1
    assert [failed.key.arm for failed in board.failures()] == ["a", "e"]
    assert "odd" in tail(jobs[0])
    assert not jobs[1].log.exists()


def test_nothing_is_run_when_everything_is_done(tmp_path: Path) -> None:
    jobs = [job(tmp_path, name, done=True) for name in "ab"]
    board = run_jobs(jobs, 2, lambda board: None)
    assert board.count(State.done) == 2
    assert not any(entry.job.log.exists() for entry in board.entries.values())


def test_a_worker_ends_when_its_study_is_killed(tmp_path: Path) -> None:
    # The study is a process that starts a worker which waits for a lock that this test holds.
    script = """
import json, sys
from pathlib import Path
from studies.jobs import Job, Key
from studies.runner import run_jobs
folder = Path(sys.argv[1])
work = {"kind": "train", "config": {"threads": 1}, "folder": str(folder), "command": ""}
def watch(board):
    entry = next(iter(board.entries.values()))
    print(entry.process.pid, flush=True)
run_jobs([Job(Key("r", "a", 0), work, folder / "log.txt", (folder / "result",))], 1, watch)
"""
    with (tmp_path / "worker.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        study = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        assert study.stdout is not None
        worker = int(study.stdout.readline())
        time.sleep(0.5)
        os.kill(worker, 0)  # it is there, and waits
        study.send_signal(signal.SIGKILL)
        study.wait()
        until(lambda: not _alive(worker), 30, lambda: "the worker outlived its study")


def _alive(pid: int) -> bool:
    """Running, not only a name that nobody has asked after yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def board_of(tmp_path: Path) -> Board:
    entries = {}
    for arm, state, seconds in (
        ("a", State.done, 100.0),
        ("b", State.running, None),
        ("c", State.waiting, None),
        ("d", State.failed, 3.0),
    ):
        made = job(tmp_path, arm)
        started = time.monotonic() - 50 if state == State.running else None
        entries[made.key] = Entry(made, state, started=started, seconds=seconds)
    return Board(entries, workers=2)


def test_each_event_is_a_line_and_running_jobs_are_one_each_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = Console(width=40, record=True, file=(tmp_path / "out").open("w"))
    board = board_of(tmp_path)
    screen = Screen(lambda job: Progress(0.5, "it 3"), lambda job: "31.0", console)
    screen.show(board)
    with monkeypatch.context() as patch:
        patch.setattr("studies.runner.EVERY", -1.0)
        screen.show(board)
    entry = board.entries[Key("r", "b", 0)]
    entry.state, entry.seconds = State.done, 200.0
    screen.show(board)
    screen.show(board)
    assert console.export_text().splitlines() == [
        "r/seed-0/b: running",
        "r/seed-0/d: failed",
        "1 of 4 jobs were done before",
        "1 of 4 done | r/seed-0/b it 3 (50 %)",
        "r/seed-0/b: done in 3 min, 31.0",
    ]
