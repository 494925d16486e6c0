"""Progress display of a study: a live table on a terminal, a line for each event elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from rlanything_agents.runs.progress import duration
from studies.jobs import Job, Key, Progress
from studies.runner import Board, Entry, State

__all__ = ["Screen", "remaining"]

EVERY = 60.0
"""Seconds between two lines on the running jobs where the output is no terminal."""


def remaining(board: Board, progress: Callable[[Job], Progress]) -> float | None:
    """Seconds until the last job ends; None before anything is known of the pace.

    A job that has not begun takes as long as those of its arm did, else as long as the mean of all.
    """
    by_arm: dict[str, list[float]] = {}
    left = 0.0
    for entry in board.entries.values():
        arm = entry.job.key.arm
        if entry.state == State.done and entry.seconds is not None:
            by_arm.setdefault(arm, []).append(entry.seconds)
        elif entry.state == State.running and (share := progress(entry.job).share) > 0.05:
            whole = entry.elapsed / share
            by_arm.setdefault(arm, []).append(whole)
            left += whole - entry.elapsed
    if not by_arm:
        return None
    means = {arm: sum(values) / len(values) for arm, values in by_arm.items()}
    overall = sum(means.values()) / len(means)
    waiting = [entry.job.key.arm for entry in board.entries.values() if entry.state == State.waiting]
    left += sum(means.get(arm, overall) for arm in waiting)
    return left / max(1, min(board.workers, len(waiting) + board.count(State.running)))


class Screen:
    """Shows a board.

    Args:
        title: Of the table.
        progress: Progress of a running job.
        outcome: Result of a finished job, in a few characters.
        console: Where to.
    """

    def __init__(
        self,
        title: str,
        progress: Callable[[Job], Progress],
        outcome: Callable[[Job], str],
        console: Console | None = None,
    ) -> None:
        self.title, self.progress, self.outcome = title, progress, outcome
        self.console = console or Console(highlight=False, markup=False)
        self._states: dict[Key, State] = {}
        self._outcomes: dict[Key, str] = {}
        self._said = time.monotonic()
        self._drawn = 0.0
        self._live: Live | None = None

    def __enter__(self) -> Screen:
        if self.console.is_terminal:
            self._live = Live(console=self.console, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, board: Board) -> None:
        """Bring the screen up to date."""
        if self._live is None:
            self._say(board)
        elif time.monotonic() - self._drawn > 0.9 or not board.count(State.running):
            self._drawn = time.monotonic()
            self._live.update(self.table(board), refresh=True)

    def table(self, board: Board) -> Table:
        """Arms by seeds."""
        entries = list(board.entries.values())
        seeds = sorted({entry.job.key.seed for entry in entries})
        rows = list(dict.fromkeys((entry.job.key.regime, entry.job.key.arm) for entry in entries))
        many = len({regime for regime, _ in rows}) > 1
        left = remaining(board, self.progress)
        done, total = board.count(State.done), len(entries)
        caption = f"{done} of {total} done" + _left(left)
        table = Table(title=self.title, caption=caption, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        table.add_column("arm", no_wrap=True)
        for seed in seeds:
            table.add_column(f"seed {seed}", justify="right")
        for regime, arm in rows:
            cells = [self._cell(board.entries.get(Key(regime, arm, seed))) for seed in seeds]
            table.add_row(f"{regime} {arm}" if many else arm, *cells)
        return table

    def _cell(self, entry: Entry | None) -> Text:
        if entry is None:
            return Text("")
        if entry.state == State.done:
            return Text(self._outcome(entry.job), style="green")
        if entry.state == State.running:
            progress = self.progress(entry.job)
            eta = entry.elapsed * (1 / progress.share - 1) if progress.share > 0.05 else None
            return Text(progress.note + ("" if eta is None else f"\n{duration(eta)} left"), style="yellow")
        return Text(
            "·" if entry.state == State.waiting else entry.state, style="dim" if entry.state == "waiting" else "red"
        )

    def _outcome(self, job: Job) -> str:
        if job.key not in self._outcomes:
            self._outcomes[job.key] = self.outcome(job)
        return self._outcomes[job.key]

    def _say(self, board: Board) -> None:
        first = not self._states
        for key, entry in board.entries.items():
            old, new = self._states.get(key, State.waiting), entry.state
            self._states[key] = new
            if old == new or (first and new == State.done):
                continue
            text = f"{key}: {new}"
            if new == State.done:
                text += f" in {duration(entry.seconds or 0)}, {self._outcome(entry.job)}"
            self.console.print(text, soft_wrap=True)
        if first and (done := board.count(State.done)):
            self.console.print(f"{done} of {len(board.entries)} jobs were done before")
        if time.monotonic() - self._said > EVERY:
            self._said = time.monotonic()
            running = [e.job for e in board.entries.values() if e.state == State.running]
            notes: Sequence[str] = [f"{job.key} {self.progress(job).note}" for job in running]
            left = _left(remaining(board, self.progress))
            text = f"{board.count(State.done)} of {len(board.entries)} done{left}"
            self.console.print(" | ".join([text, *notes]), soft_wrap=True)


def _left(seconds: float | None) -> str:
    return "" if seconds is None else f", about {duration(seconds)} left"
