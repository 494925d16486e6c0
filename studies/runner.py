"""Runs jobs in parallel, each in its own process that ends with this one.

What is done is known from the files of a job alone, so the same jobs given to a new runner go on where an
interrupted one stopped. A job that fails leaves the others alone, except those that need it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rich.console import Console

from rlanything_agents.feedback.percent import percent
from rlanything_agents.runs.progress import duration
from studies.jobs import Job, Key, Progress

__all__ = ["Board", "Entry", "Screen", "State", "run_jobs", "tail"]

POLL = 0.2
"""Seconds between two looks at the processes."""
EVERY = 60.0
"""Seconds between two lines on the running jobs."""


class State(StrEnum):
    """State of a job."""

    waiting = "waiting"
    running = "running"
    done = "done"
    failed = "failed"
    blocked = "blocked"
    """A job it needs has failed."""


@dataclass(slots=True)
class Entry:
    """A job and its state."""

    job: Job
    state: State
    started: float | None = None
    seconds: float | None = None
    """Wall-clock time in this process, once it has ended."""
    process: subprocess.Popen[bytes] | None = None


@dataclass(slots=True)
class Board:
    """All jobs in order, with their states."""

    entries: dict[Key, Entry]
    workers: int

    def count(self, state: State) -> int:
        """Number of jobs in a state."""
        return sum(entry.state == state for entry in self.entries.values())

    def failures(self) -> list[Job]:
        """Jobs that failed by themselves."""
        return [entry.job for entry in self.entries.values() if entry.state == State.failed]


def run_jobs(jobs: Sequence[Job], workers: int, watch: Callable[[Board], None]) -> Board:
    """Run every job that is not done, at most ``workers`` at a time, in order as far as needs allow.

    Args:
        jobs: In the order of their importance.
        workers: Processes in parallel.
        watch: Called a few times a second.

    Raises:
        KeyboardInterrupt: After the processes have been ended.
    """
    board = Board({job.key: Entry(job, State.done if job.done else State.waiting) for job in jobs}, workers)
    try:
        while True:
            for entry in board.entries.values():
                _look(entry)
            _start(board)
            watch(board)
            if not board.count(State.running):
                return board
            time.sleep(POLL)
    finally:
        for entry in board.entries.values():
            if entry.process is not None and entry.process.poll() is None:
                entry.process.kill()  # a run folder is safe against this at any instruction
                entry.process.wait()


class Screen:
    """Prints a line for each change of a board, and now and then one on the running jobs.

    Args:
        progress: Progress of a running job.
        outcome: Result of a finished job, in a few characters.
        console: Where to.
    """

    def __init__(self, progress: Callable[[Job], Progress], outcome: Callable[[Job], str], console: Console) -> None:
        self.progress, self.outcome, self.console = progress, outcome, console
        self._states: dict[Key, State] = {}
        self._said = time.monotonic()

    def show(self, board: Board) -> None:
        """Print what has changed since the last call."""
        first = not self._states
        for key, entry in board.entries.items():
            old, new = self._states.get(key, State.waiting), entry.state
            self._states[key] = new
            if old == new or (first and new == State.done):
                continue
            ended = f" in {duration(entry.seconds or 0)}, {self.outcome(entry.job)}" if new == State.done else ""
            self.console.print(f"{key}: {new}{ended}", soft_wrap=True)
        if first and (done := board.count(State.done)):
            self.console.print(f"{done} of {len(board.entries)} jobs were done before")
        if time.monotonic() - self._said > EVERY:
            self._said = time.monotonic()
            running = [entry.job for entry in board.entries.values() if entry.state == State.running]
            notes = [f"{job.key} {(at := self.progress(job)).note} ({percent(at.share, 0)})" for job in running]
            text = f"{board.count(State.done)} of {len(board.entries)} done"
            self.console.print(" | ".join([text, *notes]), soft_wrap=True)


def tail(job: Job, lines: int = 12) -> str:
    """The last lines of a job's log."""
    try:
        return "\n".join(job.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
    except OSError as error:
        return f"(no log: {error})"


def _look(entry: Entry) -> None:
    if entry.process is None or entry.process.poll() is None:
        return
    entry.seconds = time.monotonic() - (entry.started or 0.0)
    entry.state = State.done if entry.process.returncode == 0 and entry.job.done else State.failed
    if entry.process.stdin is not None:
        entry.process.stdin.close()
    entry.process = None


def _start(board: Board) -> None:
    for entry in board.entries.values():
        if entry.state != State.waiting:
            continue
        needed = [board.entries[key].state for key in entry.job.needs if key in board.entries]
        if any(state in (State.failed, State.blocked) for state in needed):
            entry.state = State.blocked
        elif all(state == State.done for state in needed) and board.count(State.running) < board.workers:
            entry.process, entry.started = _launch(entry.job), time.monotonic()
            entry.state = State.running


def _launch(job: Job) -> subprocess.Popen[bytes]:
    job.log.parent.mkdir(parents=True, exist_ok=True)
    threads = str(job.work["config"]["threads"])
    environment: dict[str, Any] = {**os.environ, "OMP_NUM_THREADS": threads, "PYTHONUNBUFFERED": "1"}
    environment.setdefault("GOMP_SPINCOUNT", "6000")  # as `rlanything train` does
    with job.log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "studies.worker"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the study; it ends its workers itself
        )
    # The pipe stays open: when this process dies, however it dies, the worker reads its end and dies too.
    if process.stdin is not None:
        try:
            process.stdin.write(json.dumps(job.work).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            pass  # it ended at once; its log has the reason
    return process
