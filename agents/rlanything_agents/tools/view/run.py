"""Resources of one run by name, read from its folder on request."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from rlanything_agents.runs.storage import RunFolderError
from rlanything_agents.runs.stored import curves
from rlanything_agents.runs.stored.folder import SafeFolder
from rlanything_agents.tools.view import episodes
from rlanything_agents.tools.view.overview import overview, run_line
from rlanything_agents.tools.view.tasks import open_pool, pool_table, slot_tree
from rlanything_task_pools import UnknownName
from rlanything_task_pools.file import POOL_FILE

__all__ = ["RunView", "is_run"]

MAX_METRICS = 256 << 20
"""Maximum bytes of ``metrics.jsonl`` that are read: about 80,000 iterations."""
KEPT = 96
"""Number of cached resources (indexes of iterations, tables of tasks), as JSON."""

_TRAJECTORIES = re.compile(r"[0-9]{4,9}\.jsonl\.gz")
_SCREENS = re.compile(r"[0-9]{1,6}-[0-9]{1,6}\.(webp|png)")
_WATCHED = (
    "config.json",
    "benchmark.json",
    "audit.json",
    "results.json",
    "metrics.jsonl",
    "summary.json",
    "trajectories",
    "stages",
    POOL_FILE,
    f"{POOL_FILE}-wal",
)
_IMAGES = {b"RIFF": "image/webp", b"\x89PNG": "image/png"}
MAX_IMAGE = 8 << 20


def is_run(path: Path) -> bool:
    """Whether a folder is that of a run, a benchmark or an audit."""
    settings = any((path / name).is_file() for name in ("config.json", "benchmark.json", "audit.json"))
    return settings and ((path / "stages").is_dir() or (path / "trajectories").is_dir())


class RunView:
    """The resources of a run.

    - ``stamp``: changes when the run has written something.
    - ``overview``: settings, progress, results and curves.
    - ``tasks``, ``slots/N``: the pool, and the tree of one slot.
    - ``index/N``: the list of the episodes of iteration N; ``episodes/N/C``: chunk C of them, complete.

    Args:
        path: Folder of the run.
        name: Name of the run in its site.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.folder = SafeFolder(path)
        self.name = name
        self._kept: OrderedDict[tuple[str, tuple[tuple[int, int], ...]], bytes] = OrderedDict()
        self._lock = Lock()

    def get(self, name: str) -> bytes:
        """Read a resource as JSON.

        Raises:
            UnknownName: There is no resource of this name.
            RunFolderError: The resource cannot be read.
        """
        match name.split("/"):
            case ["stamp"]:
                return _json({"stamp": self.stamp()})
            case ["overview"]:
                return _json(self._overview())
            case ["tasks"]:
                return self._cached(name, (POOL_FILE, f"{POOL_FILE}-wal"), self._tasks)
            case ["slots", number] if _is_number(number):
                with open_pool(self.folder) as pool:
                    if pool is None:
                        raise UnknownName(name)
                    return _json(slot_tree(pool, int(number)))
            case ["index", number] if _is_number(number):
                file = _file(int(number))
                return self._cached(name, (file,), lambda: episodes.read_index(self.folder, file))
            case ["episodes", number, chunk] if _is_number(number) and _is_number(chunk):
                return self._found(name, lambda: self._chunk(int(number), int(chunk)))
        raise UnknownName(name)

    def image(self, name: str) -> tuple[str, bytes]:
        """Media type and content of a screen, ``screens/N/EPISODE-TURN.webp``.

        Raises:
            UnknownName: There is no such screen, or it is no image.
        """
        match name.split("/"):
            case ["screens", number, file] if _is_number(number) and _SCREENS.fullmatch(file):
                try:
                    content = self.folder.read(name, MAX_IMAGE)
                except (FileNotFoundError, RunFolderError):
                    raise UnknownName(name) from None
                for start, kind in _IMAGES.items():
                    if content.startswith(start):
                        return kind, content
        raise UnknownName(name)

    def names(self) -> Iterator[str]:
        """Names of all resources but ``stamp``, in the order in which pages need them."""
        yield "overview"
        yield "tasks"
        for row in self._rows_of("tasks", "slots"):
            yield f"slots/{row['slot']}"
        for iteration in self.iterations():
            yield f"index/{iteration}"
            briefs = self._rows_of(f"index/{iteration}", "episodes")
            for chunk in sorted({row["n"] // episodes.CHUNK for row in briefs}):
                yield f"episodes/{iteration}/{chunk}"

    def _rows_of(self, name: str, key: str) -> list[dict[str, Any]]:
        """List in a resource; empty where it cannot be read."""
        try:
            rows: list[dict[str, Any]] = json.loads(self.get(name))[key]
        except (RunFolderError, UnknownName):
            return []
        return rows

    def images(self) -> Iterator[str]:
        """Names of all screens."""
        for iteration in self.iterations():
            folder = f"screens/{iteration:04d}"
            yield from (f"{folder}/{name}" for name in self.folder.names(folder, _SCREENS))

    def iterations(self) -> list[int]:
        """Numbers of the iterations with stored episodes."""
        return sorted({int(name.split(".")[0]) for name in self.folder.names("trajectories", _TRAJECTORIES)})

    def stamp(self) -> str:
        """Text that changes when the run has written something."""
        return "-".join(f"{time:x}.{size:x}" for time, size in map(self.folder.mark, _WATCHED))

    def line(self) -> dict[str, Any]:
        """The run as an entry of a list."""
        line: dict[str, Any] = json.loads(self._cached("line", _WATCHED, self._line))
        return line

    def _line(self) -> dict[str, Any]:
        rows, problems = self._rows()
        try:
            return {"name": self.name, **run_line(self.folder, rows)}
        except RunFolderError as error:
            return {"name": self.name, "problems": [str(error), *problems]}

    def _overview(self) -> dict[str, Any]:
        rows, problems = self._rows()
        shown = overview(self.folder, rows, problems)
        return {
            "name": self.name,
            "stamp": self.stamp(),
            "chunk": episodes.CHUNK,
            "iterations": self.iterations(),
            "charts": curves.draw(rows),
            **shown,
        }

    def _rows(self) -> tuple[list[Mapping[str, Any]], list[str]]:
        """Metrics rows, and messages about unreadable lines; a partial last line is ignored."""
        try:
            lines = self.folder.read("metrics.jsonl", MAX_METRICS).split(b"\n")[:-1]
        except FileNotFoundError:
            return [], []
        except RunFolderError as error:
            return [], [str(error)]
        rows: list[Mapping[str, Any]] = []
        problems: list[str] = []
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if isinstance(row, dict) and isinstance(row.get("iteration"), int):
                rows.append(row)
            else:
                problems.append(f"metrics.jsonl line {number} is not a row of metrics")
        return rows, problems[:20]

    def _chunk(self, iteration: int, chunk: int) -> dict[str, Any]:
        found = episodes.read_chunk(self.folder, _file(iteration), chunk)
        screens = {name.split(".")[0]: name for name in self.folder.names(f"screens/{iteration:04d}", _SCREENS)}
        for episode in found["episodes"] if screens else []:
            for k, turn in enumerate([*episode["turns"], episode]):  # at last the screen of the end
                turn["screen"] = screens.get(f"{episode['n']:04d}-{k:03d}", "")
        return found

    def _tasks(self) -> dict[str, Any]:
        with open_pool(self.folder) as pool:
            return pool_table(pool) if pool else {"slots": [], "counts": {}, "reasons": {}}

    def _cached(self, name: str, files: Sequence[str], read: Callable[[], dict[str, Any]]) -> bytes:
        """A cached resource, read again when one of its files has changed."""
        key = (name, tuple(self.folder.mark(file) for file in files))
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        content = self._found(name, read)
        with self._lock:
            self._kept[key] = content
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return content

    def _found(self, name: str, read: Callable[[], dict[str, Any]]) -> bytes:
        try:
            return _json(read())
        except FileNotFoundError:
            raise UnknownName(name) from None


def _file(iteration: int) -> str:
    return f"trajectories/{iteration:04d}.jsonl.gz"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 9


def _json(value: Mapping[str, Any] | Sequence[Any]) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
