"""One job of a study in its own process: ``python -m studies.worker``.

The first line of standard input is the job as JSON. The rest of it is never written: when the study that started
this process ends, however it ends, the pipe closes and the process ends too, so that a study started again never
meets a worker of its past.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rlanything_agents.runs.hooks import Hook

__all__ = ["do_work", "main"]

ORPHANED = 75
"""Exit code of a worker whose study has gone."""


def main() -> None:
    """Read a job and do it."""
    with os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0) as unbuffered:
        work = json.loads(unbuffered.readline())
    threading.Thread(target=_end_with_the_study, daemon=True).start()
    with _alone(Path(work["folder"])):
        try:
            do_work(work)
        except Exception as error:
            if not type(error).__module__.startswith("rlanything_"):
                raise
            sys.exit(f"error: {error}")  # the package's own errors carry the thing, the place and the remedy


def _end_with_the_study() -> None:
    while os.read(sys.stdin.fileno(), 1024):  # not through sys.stdin: a daemon thread must not hold its lock
        pass
    os._exit(ORPHANED)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other process works in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "worker.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def do_work(work: Mapping[str, Any]) -> None:
    """Do a job in this process."""
    if work["kind"] == "align":
        from studies.aligning import align

        return align(work, Path(work["folder"]))
    if work["kind"] == "search":
        from studies.searching import search

        return search(work, Path(work["folder"]))
    if work["kind"] == "guided":
        from studies.guiding import guide

        return guide(work, Path(work["folder"]))
    from rlanything_agents.config import RunConfig

    config = RunConfig.model_validate(work["config"])
    # torch and TRL take seconds to import, so not before the settings hold
    from rlanything_agents.runs.folder import RunFolder
    from rlanything_agents.runs.progress import Reporter
    from rlanything_agents.runs.train import train, warm_up

    folder, reporter = RunFolder(Path(work["folder"])), Reporter()
    if work["kind"] == "warm":
        warm_up(config, folder, reporter)
    else:
        from studies.votes import TrueVotes

        hooks: list[Hook] = [TrueVotes(config, source)] if (source := work.get("votes")) else []
        train(config, folder, reporter, command=work["command"], hooks=hooks)


if __name__ == "__main__":
    main()
