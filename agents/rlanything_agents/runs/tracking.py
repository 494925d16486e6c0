"""Logs the curves of a run to TensorBoard, Trackio or Weights & Biases, through accelerate's trackers.

A row of ``metrics.jsonl`` is a tree, and the name of a metric is its path in the tree: ``success/active``,
``policy/loss``, ``curriculum/rejected/not-easier``. ``alarms/SIGNATURE`` is 1 where a monitor raised it, else 0.
Evaluations are ``evaluation/PANEL/rate`` with ``low`` and ``high`` (Wilson, 95 %), and ``evaluation/judge/NAME``. The
step is the iteration; step 0 is the evaluation before the loop. A resumed run continues its curves, each step once.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rlanything_agents.config import TRACKERS
from rlanything_agents.runs.folder import write_atomically
from rlanything_agents.runs.monitors import SIGNATURES
from rlanything_task_pools import MissingExtra, UnknownName
from rlanything_verifiers.installed import install

__all__ = ["PROJECT", "Tracking", "evaluation_metrics", "flatten", "iteration_metrics"]

PROJECT = "rlanything"
"""Project of the runs, in trackers that have projects."""

_PANEL = ("rate", "low", "high", "episodes", "errors")
_OTHER = re.compile(r"[^A-Za-z0-9_.-]")
_MAX_NAME = 80  # most characters of one part of a metric's name


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """The finite numbers of a tree, by their paths; other values are left out."""
    return dict(_numbers(tree, prefix))


def iteration_metrics(row: Mapping[str, Any]) -> dict[str, float]:
    """The metrics of one row of ``metrics.jsonl``."""
    alarms: dict[str, int] = {signature.name: int(signature.name in row["alarms"]) for signature in SIGNATURES}
    return flatten({key: value for key, value in row.items() if key != "iteration"}) | flatten(alarms, "alarms/")


def evaluation_metrics(result: Mapping[str, Any]) -> dict[str, float]:
    """The metrics of one evaluation."""
    panels = {split: {key: panel.get(key) for key in _PANEL} for split, panel in result.get("panels", {}).items()}
    return flatten({**panels, "judge": result.get("judge", {})}, "evaluation/")


def _numbers(tree: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, float]]:
    for key, value in tree.items():
        name = prefix + _OTHER.sub("_", str(key))[:_MAX_NAME]
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{name}/")
        elif isinstance(value, int | float) and abs(value) <= sys.float_info.max:
            yield name, float(value)


class Tracking:
    """Sends the metrics of one run to its trackers; a tracker that fails is dropped, and the run goes on.

    Args:
        names: Names from `TRACKERS`.
        say: Called once for each tracker that failed.

    Raises:
        UnknownName: A name is not in `TRACKERS`.
        MissingExtra: The package of a tracker is not installed.
    """

    def __init__(self, names: Sequence[str], say: Callable[[str], None]) -> None:
        for name in names:
            if name not in TRACKERS:
                raise UnknownName(f"no tracker {name!r:.80}; choose from {', '.join(TRACKERS)}")
            if find_spec(name) is None:
                raise MissingExtra(f"the tracker {name} is not installed: {install('trackers')}")
        self._names = list(dict.fromkeys(names))
        self._say = say
        self._trackers: dict[str, _Tracker] = {}

    def start(self, name: str, folder: Path, config: Mapping[str, Any], done: int) -> None:
        """Begin, or continue after ``done`` iterations.

        Args:
            name: Name of the run.
            folder: Folder of the run; its ``trackers.json`` identifies the run to its trackers.
            config: All settings.
            done: Iterations before the checkpoint that the run continues from.
        """
        for tracker in self._names:
            with self._failure_tolerated(tracker):
                self._trackers[tracker] = _Tracker(tracker, f"{name}-{_run_id(folder)}", folder, config, done)

    def reach(self, step: int, values: Callable[[int], Mapping[str, float]]) -> None:
        """Log each missing step to every tracker, in order.

        Args:
            step: The last complete step.
            values: Function from a step up to that to its metrics.
        """
        for name, tracker in list(self._trackers.items()):
            with self._failure_tolerated(name):
                for missing in range(tracker.last + 1, step + 1):
                    tracker.log(missing, values(missing))

    def finish(self, report: Path | None = None) -> None:
        """Close all trackers; may be called more than once.

        Args:
            report: The page of a finished run; added to each tracker that received a step since `start`.
        """
        for name, tracker in list(self._trackers.items()):
            with self._failure_tolerated(name):
                tracker.finish(report)
        self._trackers.clear()

    @contextlib.contextmanager
    def _failure_tolerated(self, name: str) -> Iterator[None]:
        """Keep a tracker's prints off standard output and its failures away from the run."""
        try:
            with contextlib.redirect_stdout(sys.stderr):
                yield
        except Exception as error:
            self._trackers.pop(name, None)
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            self._say(f"Tracker {name} failed and is left out from now on; the run goes on ({reason:.200})")


class _Tracker:
    """One of accelerate's trackers, with the last step that it holds of this run."""

    def __init__(self, kind: str, run: str, folder: Path, config: Mapping[str, Any], done: int) -> None:
        from accelerate import PartialState, tracking

        PartialState()  # accelerate's trackers log messages, and its logger asks for the state of the process

        self.kind = kind
        self._file = folder / kind / "last-step"
        self.last = int(self._file.read_text()) if self._file.exists() else -1
        resume = {"config": dict(config), "name": run, "resume": "allow"}
        if kind == "tensorboard":
            self.last = min(self.last, done)
            # TensorBoard drops the events of the files from this step on.
            self._tracker = tracking.TensorBoardTracker(kind, folder, purge_step=self.last + 1)
        elif kind == "trackio":
            from trackio.sqlite_storage import SQLiteStorage

            # Trackio writes in the background, so only its database knows the last step that a killed run stored.
            stored = SQLiteStorage.get_max_step_for_run(PROJECT, run)
            self.last = -1 if stored is None else int(stored)
            self._tracker = tracking.TrackioTracker(
                PROJECT, **resume, embed=False, auto_log_gpu=False, auto_log_cpu=False
            )
        else:
            import wandb

            quiet = wandb.Settings(silent=True, console="off", disable_git=True)
            self._file.parent.mkdir(exist_ok=True)
            self._tracker = tracking.WandBTracker(
                PROJECT, **resume, id=run, dir=str(folder), save_code=False, settings=quiet
            )
        self._tracker.start()
        self._first = self.last
        if kind == "tensorboard" and self.last < 0:
            settings = json.dumps(dict(config), indent=1, sort_keys=True, default=str)
            self._tracker.log({"config": "\n".join(f"    {line}" for line in settings.splitlines())}, step=0)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._tracker.log(dict(values), step=step, **({"commit": True} if self.kind == "wandb" else {}))
        self.last = step
        if self.kind != "trackio":
            write_atomically(self._file, str(step))

    def finish(self, report: Path | None) -> None:
        if report is not None and self.last > self._first:
            self._tracker.log({"report": self._page(report)}, step=None if self.kind == "wandb" else self.last)
        if self.kind == "trackio":
            import trackio

            trackio.finish()  # type: ignore[no-untyped-call]  # accelerate's leaves it open, to end at exit with a print
        else:
            self._tracker.finish()

    def _page(self, report: Path) -> Any:
        if self.kind == "tensorboard":
            return str(report)
        if self.kind == "trackio":
            import trackio

            return trackio.Html(report)
        import wandb

        return wandb.Html(report.read_text(encoding="utf-8"), inject=False)


def _run_id(folder: Path) -> str:
    """Id of a run folder in its trackers, drawn at the first use."""
    file = folder / "trackers.json"
    try:
        found = json.loads(file.read_text(encoding="utf-8"))["id"]
        if isinstance(found, str) and found.isalnum():
            return found
    except (OSError, ValueError, TypeError, KeyError):
        pass  # none yet, or damaged: the curves begin again
    made = secrets.token_hex(4)
    write_atomically(file, json.dumps({"id": made}) + "\n")
    return made
