"""Weights & Biases: files in the folder ``wandb`` of the run, sent as $WANDB_MODE says (offline: ``wandb sync``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import wandb

from rlanything_agents.runs.folder import write_atomically
from rlanything_agents.runs.trackers.tracker import PROJECT, TrackedRun

__all__ = ["Open"]


class Open:
    """One run of a W&B project; see `Tracker`."""

    def start(self, run: TrackedRun, done: int) -> int:
        """Resume the run of this id. A repeated iteration has the same values, so later steps may stay."""
        folder = run.folder / "wandb"
        folder.mkdir(exist_ok=True)
        self._last_step = folder / "last-step"
        last = int(self._last_step.read_text()) if self._last_step.exists() else -1
        self._run = wandb.init(
            project=PROJECT,
            id=run.name,
            name=run.name,
            dir=str(run.folder),
            config=dict(run.config),
            resume="allow",
            save_code=False,
            settings=wandb.Settings(silent=True, console="off", disable_git=True),
        )
        return last

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """All values at once."""
        self._run.log(dict(values), step=step, commit=True)
        write_atomically(self._last_step, str(step))

    def finish(self, report: Path | None) -> None:
        """Show the page of the report beside the curves."""
        if report is not None:
            self._run.log({"report": wandb.Html(report.read_text(encoding="utf-8"), inject=False)})
        self._run.finish()
