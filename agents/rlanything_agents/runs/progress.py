"""Progress of long work: a live bar on a terminal, plain lines elsewhere; and a stopwatch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

__all__ = ["Reporter", "Stage", "Stopwatch", "duration"]

_SPEED_SECONDS = 3600.0
"""Time over which a bar measures its speed: an iteration of a large model may take minutes, and Rich's default is 30 s,
after which it shows no remaining time."""


def duration(seconds: float) -> str:
    """``2 h 05 min``, ``7 min``, ``40 s``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


class Stage:
    """Progress of one stage with a known number of units."""

    def __init__(self, show: Callable[[int, str], None], note: Callable[[str], None] = lambda text: None) -> None:
        self._show = show
        self._done = 0
        self.note = note
        """Shows a text at once, next to the bar or on its own line."""

    def add(self, count: int) -> None:
        """Count ``count`` more units as done."""
        self.reach(self._done + count)

    def reach(self, done: int, note: str = "") -> None:
        """Set the number of units done; ``note`` is shown next to the bar."""
        self._done = done
        self._show(done, note)


class Reporter:
    """Reports the progress of a run.

    On a terminal each stage is a bar with elapsed and remaining time; elsewhere it is one line when the stage begins,
    and one for each tenth of it, with the remaining time.
    """

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console()

    @classmethod
    def silent(cls) -> Reporter:
        """A reporter without output."""
        return cls(Console(quiet=True, force_terminal=False))

    def show(self, table: RenderableType) -> None:
        """Print a table."""
        self.console.print(table)

    def say(self, text: str) -> None:
        """Print one line."""
        self.console.print(text, highlight=False)

    @contextmanager
    def stage(self, name: str, total: int) -> Iterator[Stage]:
        """Report the progress of one stage of ``total`` units; a block that ends without an error has done them all."""
        if not self.console.is_terminal:
            self.say(f"{name} ...")

            def line(text: str) -> None:
                self.console.print(f"  {text}", highlight=False, soft_wrap=True)

            yield Stage(self._lines(name, total), line)
            return
        with self._bar() as bar:
            task = bar.add_task(name, total=total, note="")

            def show(done: int, note: str) -> None:
                bar.update(task, completed=done, note=note)

            yield Stage(show, lambda text: bar.update(task, note=text))
            bar.update(task, completed=total)

    def _lines(self, name: str, total: int) -> Callable[[int, str], None]:
        reported = 0
        begun: tuple[float, int] | None = None  # time and units at the first report: a continued stage begins later

        def show(done: int, note: str) -> None:
            nonlocal reported, begun
            begin, first = begun = begun or (time.monotonic(), done)
            tenth = 10 * done // max(total, 1)
            if tenth > reported:
                reported = tenth
                seconds = (time.monotonic() - begin) * (total - done) / max(done - first, 1)
                left = f"about {timedelta(seconds=round(seconds))} left" if first < done < total else ""
                self.say("  ".join(part for part in (f"  {name}: {done}/{total}", note, left) if part))

        return show

    def _bar(self) -> Progress:
        return Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=self.console,
            speed_estimate_period=_SPEED_SECONDS,
        )


@dataclass(slots=True)
class Stopwatch:
    """Seconds of each step of an iteration, by its name; laps of one name add up."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def lap(self, name: str) -> Iterator[None]:
        """Measure a block."""
        start = time.perf_counter()
        yield
        self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 3)
