"""Trackio: curves in a local SQLite file (``trackio show --project rlanything``), or where $TRACKIO_SPACE_ID says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import trackio
from trackio.sqlite_storage import SQLiteStorage

from rlanything_agents.runs.trackers.tracker import PROJECT, TrackedRun

__all__ = ["Open"]


class Open:
    """One run of a Trackio project; see `Tracker`."""

    def start(self, run: TrackedRun, done: int) -> int:
        """Resume the run of this name. A repeated iteration has the same values, so later steps may stay."""
        self._last = SQLiteStorage.get_max_step_for_run(PROJECT, run.name)
        self._run = trackio.init(
            project=PROJECT,
            name=run.name,
            config=dict(run.config),
            resume="allow",
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )
        return -1 if self._last is None else int(self._last)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """All values at once."""
        self._last = step
        self._run.log(dict(values), step=step)

    def finish(self, report: Path | None) -> None:
        """Show the page of the report beside the curves."""
        if report is not None:
            self._run.log({"report": trackio.Html(report)}, step=self._last or 0)
        # The run itself would be ended once more, with a word about it, when the process ends.
        trackio.finish()  # type: ignore[no-untyped-call]
