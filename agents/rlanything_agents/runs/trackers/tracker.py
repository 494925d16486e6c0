"""The protocol of a tracker, and how one is found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from rlanything_task_pools import MissingExtra

__all__ = ["TRACKERS", "TrackedRun", "Tracker", "UnknownTracker", "open_tracker"]

TRACKERS = ("trackio", "tensorboard", "wandb")
PROJECT = "rlanything"
"""The project that runs appear in, where a tracker has projects."""


class UnknownTracker(ValueError):
    """There is no tracker of this name."""


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """What a tracker knows of a run.

    Attributes:
        name: The run's name with an id of its folder: a run that is continued has the same one, another run of the
            same name has not.
        folder: The run's folder.
        config: All settings.
    """

    name: str
    folder: Path
    config: Mapping[str, Any]


class Tracker(Protocol):
    """Keeps the curves of one run. Any exception means that it cannot go on; the run does."""

    def start(self, run: TrackedRun, done: int) -> int:
        """Begin, or go on with what is kept of this run.

        Args:
            run: The run.
            done: Steps whose results stand; what is kept of later ones is forgotten, as far as the tracker can.

        Returns:
            The last step that is kept; -1 for none.
        """
        ...

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Keep the values of a step. Steps come in order, each once."""
        ...

    def finish(self, report: Path | None) -> None:
        """End; ``report`` is the page of a run that came to its end."""
        ...


def open_tracker(name: str) -> Tracker:
    """The tracker of a name.

    Raises:
        UnknownTracker: There is none.
        MissingExtra: Its package is not installed.
    """
    if name not in TRACKERS:
        raise UnknownTracker(f"no tracker {name!r:.80}; choose from {', '.join(TRACKERS)}")
    try:
        tracker: Tracker = import_module(f"{__package__}.{name}").Open()
    except ImportError as error:
        raise MissingExtra(
            f"the tracker {name} cannot be imported ({error}): pip install 'rlanything-envs[trackers]'"
        ) from error
    return tracker
