"""TensorBoard: event files in the folder ``tensorboard`` of the run (``tensorboard --logdir runs``)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import (  # type: ignore[import-untyped]
    EventAccumulator,
)
from torch.utils.tensorboard import SummaryWriter

from rlanything_agents.runs.trackers.tracker import TrackedRun

__all__ = ["Open"]


class Open:
    """Event files of one run; see `Tracker`."""

    def start(self, run: TrackedRun, done: int) -> int:
        """Write on beside the files that are there; a reader drops what they hold of steps after ``done``."""
        folder = run.folder / "tensorboard"
        kept = min(_last_step(folder), done)
        self._writer = SummaryWriter(str(folder), purge_step=kept + 1 if kept >= 0 else None)
        if kept < 0:
            settings = json.dumps(dict(run.config), indent=1, sort_keys=True, default=str)
            self._writer.add_text("config", "\n".join(f"    {line}" for line in settings.splitlines()), 0)
        return kept

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """One scalar a value."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def finish(self, report: Path | None) -> None:
        """Name the page of the report."""
        if report is not None:
            self._writer.add_text("report", str(report), 0)
        self._writer.close()


def _last_step(folder: Path) -> int:
    """The last step of the event files of a folder; -1 for none."""
    if not folder.is_dir():
        return -1
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})  # all of them, for some may be forgotten
    events.Reload()
    return max((event.step for tag in events.Tags()["scalars"] for event in events.Scalars(tag)), default=-1)
