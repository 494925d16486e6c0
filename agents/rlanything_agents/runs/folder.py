"""The folder of one run: everything that a reader or a resumed process needs, and no partial file.

A file gets its final name only when it is complete (written under a temporary name, then renamed), so a process killed
at any instruction leaves a folder from which the same command continues.
"""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from rlanything_agents.runs.checkpoints import Checkpoints
from rlanything_agents.runs.manifest import damage, seal
from rlanything_agents.runs.storage import RunFolderError, StorageError, replacing, storing, write_atomically
from rlanything_task_pools.file import POOL_FILE

__all__ = ["RunFolder", "RunFolderError", "StorageError", "write_atomically"]

_LOCK = ".lock"
_UNNAMED = {_LOCK, "models"}
"""What a run makes before its configuration is stored."""
_CHILDREN_END = 2.0
"""Seconds in which children of a killed process end, which hold its lock while they do."""


class RunFolder:
    """Paths and atomic writes of one run.

    Layout::

        config.json  versions.json  summary.json  report.html
        prompts.jsonl             prompts and answers of the language model that rewrites tasks, where there is one
        stages/NAME.json          result of a finished stage: warm_start, before, iteration-NNNN, after
        metrics.jsonl             one line per iteration
        trajectories/NNNN.jsonl.gz   every turn with every judgement
        screens/NNNN/EEEE-TTT.webp   the screen of each turn of an episode, and its last, with `rollout.screenshots`
        checkpoints/NNNN/         models, optimizers, pool and metrics after iteration NNNN, the batch that was played
                                  ahead (`rollout.ahead`), a few samples of both updates, and a manifest of hashes

    A file that cannot be written raises `StorageError`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pool = path / POOL_FILE
        self.metrics = path / "metrics.jsonl"
        self.report = path / "report.html"
        self.summary = path / "summary.json"
        self.prompts = path / "prompts.jsonl"
        self.trajectories = path / "trajectories"
        self.screens = path / "screens"
        self.checkpoints = Checkpoints(path / "checkpoints", self.metrics)
        self._stages = path / "stages"

    def final_weights(self) -> Path | None:
        """Last checkpoint of a finished run; None of an unfinished one.

        Raises:
            RunFolderError: The checkpoint is damaged.
        """
        return self.checkpoints.final() if self.summary.exists() else None

    def warm_weights(self) -> Path | None:
        """Weights that the loop began with; None where they are not there yet.

        Raises:
            RunFolderError: They are damaged.
        """
        if self.stage("warm_start") is None:
            return None
        if what := self.stage_damage("warm_start"):
            raise RunFolderError(f"{self.path}, {what}; start that run again: it does the stage again")
        return self._stages / "warm_start"

    def prepare(self, config: Mapping[str, Any]) -> bool:
        """Create the folder, or check that it belongs to ``config``; return whether it existed before.

        Raises:
            RunFolderError: The folder belongs to a run with another configuration.
        """
        self._sweep()
        if not (existed := self.belongs_to(config)):
            with storing(self.path):
                self.path.mkdir(parents=True, exist_ok=True)
            write_atomically(self.path / "config.json", json.dumps(config, indent=2, sort_keys=True) + "\n")
        with storing(self.path):
            for folder in (self.trajectories, self.checkpoints.path, self._stages):
                folder.mkdir(parents=True, exist_ok=True)
            scratch = (*self.path.glob("*.part"), *self.trajectories.glob("*.part"), *self._stages.rglob("*.part"))
            for leftover in scratch:  # writes interrupted by a kill
                leftover.unlink()
            for leftover in (*self.checkpoints.path.glob("*.part"), *self._stages.glob("*.adopted")):
                shutil.rmtree(leftover)
        return existed

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from running this run; the lock ends with the process, however it ends.

        Raises:
            RunFolderError: Another process runs it.
        """
        latest = time.monotonic() + _CHILDREN_END
        while (lock := self._lock()) is None:
            if time.monotonic() > latest:
                wait = "wait for it, or give this run another `name`"
                raise RunFolderError(f"{self.path}: another process runs this run: {wait}")
            time.sleep(0.05)
        with lock:
            yield

    def _lock(self) -> IO[str] | None:
        """The lock of the folder; None where another process holds it, or is just deleting the run."""
        place = self.path / _LOCK
        with storing(self.path), contextlib.ExitStack() as files:
            with contextlib.suppress(FileExistsError):
                self.path.resolve().mkdir(parents=True)
            with contextlib.suppress(BlockingIOError, FileNotFoundError):
                lock = files.enter_context(place.open("a"))
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(lock.fileno()), place.stat()):  # else it was moved away in the meantime
                    files.pop_all()
                    return lock
        return None

    def belongs_to(self, config: Mapping[str, Any]) -> bool:
        """Whether the folder belongs to ``config``; False where it belongs to no run yet.

        Raises:
            RunFolderError: It belongs to a run with another configuration.
        """
        if (stored := self._config()) is None:
            return False
        if different := sorted(differences(stored, dict(config))):
            raise RunFolderError(
                f"{self.path} holds a run with another configuration (different: {', '.join(different)}). "
                "Give this run another `name`, or start over with --restart"
            )
        return True

    def config(self) -> dict[str, Any]:
        """Stored configuration of the run.

        Raises:
            RunFolderError: The folder is no run folder, or its configuration is damaged.
        """
        if (stored := self._config()) is None:
            raise RunFolderError(f"{self.path} is not a run folder: it has no config.json")
        return stored

    def _config(self) -> dict[str, Any] | None:
        remedy = "restore it from a copy, or delete it: the command of this run writes it anew and goes on"
        return _read(self.path / "config.json", remedy)

    def stage(self, name: str) -> dict[str, Any] | None:
        """Stored result of a finished stage; None of an unfinished one.

        Raises:
            RunFolderError: The result is damaged.
        """
        return _read(self._stages / f"{name}.json", "delete it: the command of this run does the stage again")

    def finish_stage(self, name: str, result: Mapping[str, Any]) -> None:
        """Store the result of a stage, which is then finished and not run again."""
        if (self._stages / name).is_dir():
            seal(self._stages / name)
        write_atomically(self._stages / f"{name}.json", json.dumps(result, sort_keys=True) + "\n")

    def stage_damage(self, name: str) -> str:
        """Description of the damage of a finished stage or its files; empty without damage."""
        try:
            self.stage(name)
        except RunFolderError as error:
            return str(error)
        return "; ".join(f"stages/{name}/{file}: {what}" for file, what in damage(self._stages / name).items())

    def drop_damaged_stages(self) -> Iterator[str]:
        """Delete damaged stages, so that they are run again, and yield a message about each."""
        for file in sorted(self._stages.glob("*.json")):
            if what := self.stage_damage(file.stem):
                with storing(file):
                    file.unlink()  # first: what a kill leaves of the other files is then no finished stage
                    shutil.rmtree(self._stages / file.stem, ignore_errors=True)
                when = ", if the run still comes to it" if file.stem.startswith("iteration-") else ""
                yield f"the stage {file.stem} is done again{when}: {what}"

    def adopt_stage(self, source: RunFolder, name: str) -> dict[str, Any]:
        """Copy a finished stage of another run with its files; the result names the source in ``adopted_from``.

        Raises:
            RunFolderError: The other run has not finished the stage, or its files are damaged.
        """
        if (result := source.stage(name)) is None:
            raise RunFolderError(f"{source.path} has no finished stage {name!r} to take over: let that run come to it")
        if what := source.stage_damage(name):
            raise RunFolderError(f"{source.path}, {what}; start that run again: it does the stage {name!r} again")
        files, scratch = source._stages / name, self._stages / f"{name}.adopted"
        if files.is_dir():
            with storing(scratch):
                shutil.rmtree(scratch, ignore_errors=True)
                shutil.copytree(files, scratch)
                shutil.rmtree(self._stages / name, ignore_errors=True)
                scratch.rename(self._stages / name)
        adopted = {"adopted_from": str(source.path), **result}
        self.finish_stage(name, adopted)
        return adopted

    def folder(self, name: str) -> Path:
        """Folder for a stage's own files, created where it is missing (weights, a panel)."""
        path = self._stages / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def append_metrics(self, row: Mapping[str, Any]) -> None:
        """Append one iteration's metrics."""
        with storing(self.metrics), self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, sort_keys=True) + "\n")

    def store_episodes(self, iteration: int, episodes: Iterable[Mapping[str, Any]]) -> None:
        """Write every turn of an iteration's episodes."""
        path = self.trajectories / f"{iteration:04d}.jsonl.gz"
        with replacing(path) as raw, gzip.open(raw, "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(episode) + "\n" for episode in episodes)

    def rows(self) -> list[dict[str, Any]]:
        """All complete metrics rows, in order of iteration; a partial last line is skipped.

        Raises:
            RunFolderError: Another line is damaged.
        """
        return _rows(self.metrics) if self.metrics.exists() else []

    def rewind(self, iteration: int) -> None:
        """Delete the results after ``iteration``, and restore the metrics from its checkpoint.

        Raises:
            RunFolderError: The metrics up to the iteration are damaged, and the checkpoint has no copy.
        """
        copy = self.checkpoints.folder(iteration) / self.metrics.name
        rows = _rows(copy) if copy.is_file() else self.rows() if iteration else []
        kept = [row for row in rows if row["iteration"] <= iteration]
        write_atomically(self.metrics, "".join(json.dumps(row, sort_keys=True) + "\n" for row in kept))
        with storing(self.path):
            for path in (*self.trajectories.glob("[0-9]*"), *self.screens.glob("[0-9]*")):
                number = path.name.split(".")[0]
                if number.isdigit() and int(number) > iteration:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            self.checkpoints.drop_before(iteration)  # a kill may fall between writing one and dropping another

    def delete(self) -> None:
        """Delete the run; a kill leaves the whole of it, or nothing that a later process would take for a run.

        Raises:
            RunFolderError: The folder exists and is not a run folder, or a process runs the run.
        """
        if not self.path.exists():
            return
        names = {found.name for found in self.path.glob("*") if not found.match("config.json.*.part")}
        if "config.json" not in names and not {_LOCK} <= names <= _UNNAMED:
            raise RunFolderError(f"{self.path} is not a run folder (no config.json); nothing was deleted")
        with self.alone(), storing(self.path):
            self.path.resolve().rename(self._sweep())
        self._sweep()

    def _sweep(self) -> Path:
        """Delete what `delete` has moved beside the folder, also in a killed process; returns the path of that."""
        folder = self.path.resolve()
        moved = folder.with_name(f".{folder.name}.deleted")
        while moved.exists():
            with contextlib.suppress(FileNotFoundError), storing(moved):  # another process may delete it, too
                shutil.rmtree(moved)
        return moved


def _read(path: Path, remedy: str) -> dict[str, Any] | None:
    """JSON object of a file; None where the file does not exist."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunFolderError(f"{path} cannot be read ({error.strerror}); make it readable, or {remedy}") from None
    except (ValueError, RecursionError) as error:
        raise RunFolderError(f"{path} is not valid JSON ({error}); {remedy}") from None
    if not isinstance(value, dict):
        raise RunFolderError(f"{path} does not hold a JSON object; {remedy}")
    return value


def _rows(path: Path) -> list[dict[str, Any]]:
    """Metrics rows of a file, without a partial last line."""
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        try:
            row = json.loads(line)
            whole = isinstance(row, dict) and type(row.get("iteration")) is int
        except (ValueError, RecursionError):
            whole = False
        if not whole:
            remedy = "a run that goes on takes them from its checkpoint"
            raise RunFolderError(f"{path}, line {number} is not the metrics of an iteration; {remedy}")
        rows.append(row)
    return rows


def differences(old: Any, new: Any, prefix: str = "") -> Iterator[str]:
    """Dotted keys in which two configurations differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() | new.keys():
            yield from differences(old.get(key), new.get(key), f"{prefix}.{key}" if prefix else str(key))
    elif old != new:
        yield prefix
