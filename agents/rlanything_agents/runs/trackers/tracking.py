"""The trackers of one run together: what they are told, and that none of them stops it."""

from __future__ import annotations

import contextlib
import json
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rlanything_agents.runs.folder import write_atomically
from rlanything_agents.runs.trackers.tracker import TrackedRun, Tracker, open_tracker

__all__ = ["Tracking"]

T = TypeVar("T")


class Tracking:
    """Feeds trackers.

    Args:
        names: Which.
        say: Told once of each that failed.

    Raises:
        UnknownTracker: There is none of a name.
        MissingExtra: A package is not installed.
    """

    def __init__(self, names: Sequence[str], say: Callable[[str], None]) -> None:
        self._trackers: dict[str, Tracker] = {name: open_tracker(name) for name in dict.fromkeys(names)}
        self._say = say
        self._last: dict[str, int] = {}
        self._told: set[str] = set()

    def start(self, name: str, folder: Path, config: Mapping[str, Any], done: int) -> None:
        """Begin, or go on after ``done`` iterations.

        Args:
            name: Of the run.
            folder: Of the run; holds what makes it known again in ``trackers.json``.
            config: All settings.
            done: Iterations whose results stand.
        """
        if not self._trackers:
            return
        run = TrackedRun(f"{name}-{_known_as(folder)}", folder, config)
        for tracker in list(self._trackers):
            last = self._try(tracker, lambda it: it.start(run, done))
            if last is not None:
                self._last[tracker] = last

    def reach(self, step: int, values: Callable[[int], Mapping[str, float]]) -> None:
        """Bring every tracker to a step: what it lacks of earlier ones is told as well, and nothing twice.

        Args:
            step: The last step that is complete.
            values: The values of any step up to it.
        """
        for name in list(self._trackers):
            while name in self._trackers and self._last[name] < step:
                self._last[name] += 1
                self._told.add(name)
                missing = self._last[name]
                self._try(name, lambda it: it.log(missing, values(missing)))  # noqa: B023 (it is called at once)

    def finish(self, report: Path | None = None) -> None:
        """End all of them; may be called more than once.

        Args:
            report: The page of a run that came to its end; not shown again where nothing was new.
        """
        for name in list(self._trackers):
            page = report if name in self._told else None
            if name in self._last:
                self._try(name, lambda it: it.finish(page))  # noqa: B023 (it is called at once)
        self._trackers.clear()

    def _try(self, name: str, what: Callable[[Tracker], T]) -> T | None:
        """What a tracker does, without a word on standard output; one that fails is left alone from then on."""
        try:
            with contextlib.redirect_stdout(sys.stderr):
                return what(self._trackers[name])
        except Exception as error:
            del self._trackers[name]
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            self._say(f"Tracker {name} failed and is left out from now on; the run goes on ({reason:.200})")
            return None


def _known_as(folder: Path) -> str:
    """An id of the folder, made at its first use."""
    file = folder / "trackers.json"
    try:
        found = json.loads(file.read_text(encoding="utf-8"))["id"]
        if isinstance(found, str) and found.isalnum():
            return found
    except (OSError, ValueError, TypeError, KeyError):
        pass  # none yet, or damaged: the curves begin anew
    known_as = secrets.token_hex(4)
    write_atomically(file, json.dumps({"id": known_as}) + "\n")
    return known_as
