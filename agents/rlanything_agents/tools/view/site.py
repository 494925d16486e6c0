"""Site of a folder: one run, or the runs of a study."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rlanything_agents.runs.storage import RunFolderError
from rlanything_agents.tools.view.run import RunView, is_run
from rlanything_task_pools import UnknownName

__all__ = ["Site"]

DEPTH = 5
"""Depth of folders that are searched for runs: below ``runs`` a study has NAME/runs/regime/seed/arm."""
MAX_RUNS = 2_000
MAX_FOLDERS = 20_000

_KEY = re.compile(r"r[0-9]{1,6}")


class Site:
    """The resources of every run in a folder.

    ``runs`` lists them; ``r0/overview`` and so on are those of the first run, see `RunView`. A run keeps its number for
    the life of the site, and a request for the list finds runs that began later.

    Args:
        path: Folder of a run, or a folder with runs in it.

    Raises:
        RunFolderError: The folder is neither.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs: list[RunView] = []
        self._known: set[Path] = set()
        if not path.is_dir():
            raise RunFolderError(f"there is no folder {path}: name the folder of a run, or of a study")
        self._look()
        if not self.runs:
            raise RunFolderError(
                f"{path} is not the folder of a run, and there is none in it: a run has a config.json and stages/, "
                "a benchmark has a benchmark.json and trajectories/"
            )

    @property
    def single(self) -> bool:
        """Whether the folder is that of one run."""
        return self.path in self._known

    def get(self, name: str) -> bytes:
        """Read a resource as JSON.

        Raises:
            UnknownName: There is no resource of this name.
            RunFolderError: The resource cannot be read.
        """
        if name == "runs":
            return json.dumps(self._list(), allow_nan=False).encode()
        run, rest = self.run(name)
        return run.get(rest)

    def run(self, name: str) -> tuple[RunView, str]:
        """Run of a resource, and the name of the resource in it.

        Raises:
            UnknownName: There is no such run.
        """
        key, _, rest = name.partition("/")
        if _KEY.fullmatch(key) and int(key[1:]) < len(self.runs):
            return self.runs[int(key[1:])], rest
        raise UnknownName(name)

    def names(self) -> Iterator[str]:
        """Names of all resources."""
        yield "runs"
        for number, run in enumerate(self.runs):
            yield from (f"r{number}/{name}" for name in run.names())

    def images(self) -> Iterator[str]:
        """Names of all images."""
        for number, run in enumerate(self.runs):
            yield from (f"r{number}/{name}" for name in run.images())

    def _list(self) -> dict[str, Any]:
        self._look()
        return {
            "title": self.path.resolve().name,
            "single": self.single,
            "runs": [{"key": f"r{number}", **run.line()} for number, run in enumerate(self.runs)],
        }

    def _look(self) -> None:
        for path in _runs(self.path):
            if path not in self._known and len(self.runs) < MAX_RUNS:
                self._known.add(path)
                name = path.relative_to(self.path).as_posix()
                self.runs.append(RunView(path, self.path.resolve().name if name == "." else name))


def _runs(top: Path) -> Iterator[Path]:
    """Run folders by name; links are not followed, and run folders are not searched."""
    level, seen = [top], 0
    for _ in range(DEPTH + 1):
        below: list[Path] = []
        for folder in level:
            seen += 1
            if is_run(folder):
                yield folder
            elif seen < MAX_FOLDERS:
                try:
                    with os.scandir(folder) as entries:
                        inner = [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
                except OSError:
                    continue
                below += sorted(path for path in inner if not path.name.startswith("."))
        level = below
