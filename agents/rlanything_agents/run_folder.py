"""The folder of one run: everything a reader or a resumed process needs, and nothing half-written.

A file appears under its final name only when it is complete (written beside it and renamed), so a
process killed at any instruction leaves a folder that the same command can continue from.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["RunFolder", "RunFolderError", "write_atomically"]


class RunFolderError(ValueError):
    """The folder cannot be used for this run; the message says which file and what to do."""


def write_atomically(path: Path, text: str) -> None:
    """Write ``text`` so that ``path`` holds either its old content or all of the new one."""
    scratch = path.with_name(f"{path.name}.{os.getpid()}.part")
    with scratch.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)


class RunFolder:
    """Paths and atomic writes of one run.

    Layout::

        config.json  versions.json  summary.json  report.html
        prompts.jsonl             what a language model was asked and answered, where one rewrites tasks
        stages/NAME.json          result of a finished stage: warm_start, before, iteration-NNNN, after
        metrics.jsonl             one line per iteration
        trajectories/NNNN.jsonl.gz   every turn with every judgement
        screens/NNNN/EEEE-TTT.webp   the screen after a turn of an episode, where `rollout.screenshots` keeps some
        checkpoints/NNNN/         models, optimizers, pool, random state after iteration NNNN
    """

    KEPT_CHECKPOINTS = 2

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pool = path / "pool.sqlite"
        self.metrics = path / "metrics.jsonl"
        self.report = path / "report.html"
        self.summary = path / "summary.json"
        self.prompts = path / "prompts.jsonl"
        self.trajectories = path / "trajectories"
        self.screens = path / "screens"
        self.checkpoints = path / "checkpoints"
        self._stages = path / "stages"

    def prepare(self, config: Mapping[str, Any]) -> bool:
        """Create the folder, or check that it belongs to ``config``; return whether it existed before.

        Raises:
            RunFolderError: The folder belongs to a run with another configuration.
        """
        for folder in (self.path, self.trajectories, self.checkpoints, self._stages):
            folder.mkdir(parents=True, exist_ok=True)
        for leftover in (*self.path.glob("*.part"), *self._stages.glob("*.part")):
            leftover.unlink()
        for leftover in (*self.checkpoints.glob("*.part"), *self._stages.glob("*.adopted")):
            shutil.rmtree(leftover)
        stored = self._read(self.path / "config.json")
        if stored is None:
            write_atomically(self.path / "config.json", json.dumps(config, indent=2, sort_keys=True) + "\n")
            return False
        different = sorted(_differences(stored, dict(config)))
        if different:
            raise RunFolderError(
                f"{self.path} holds a run with another configuration (different: {', '.join(different)}). "
                "Give this run another `name`, or start over with --restart"
            )
        return True

    def config(self) -> dict[str, Any]:
        """The configuration of the run this folder belongs to.

        Raises:
            RunFolderError: There is none.
        """
        stored = self._read(self.path / "config.json")
        if stored is None:
            raise RunFolderError(f"{self.path} is not a run folder: it has no config.json")
        return stored

    def stage(self, name: str) -> dict[str, Any] | None:
        """The stored result of a finished stage, or None."""
        return self._read(self._stages / f"{name}.json")

    def finish_stage(self, name: str, result: Mapping[str, Any]) -> None:
        """Store the result of a stage; from now on it is not run again."""
        write_atomically(self._stages / f"{name}.json", json.dumps(result, sort_keys=True) + "\n")

    def adopt_stage(self, source: RunFolder, name: str) -> dict[str, Any]:
        """Take over a finished stage of another run, its files included; the result says where it is from.

        Raises:
            RunFolderError: The other run has not finished this stage.
        """
        result = source.stage(name)
        if result is None:
            raise RunFolderError(f"{source.path} has no finished stage {name!r} to take over: let that run come to it")
        files, scratch = source._stages / name, self._stages / f"{name}.adopted"
        if files.is_dir():
            shutil.rmtree(scratch, ignore_errors=True)
            shutil.copytree(files, scratch)
            shutil.rmtree(self._stages / name, ignore_errors=True)
            scratch.rename(self._stages / name)
        adopted = {"adopted_from": str(source.path), **result}
        self.finish_stage(name, adopted)
        return adopted

    def folder(self, name: str) -> Path:
        """A folder for a stage's own files (weights, cached demonstrations)."""
        path = self._stages / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def append_metrics(self, row: Mapping[str, Any]) -> None:
        """Append one iteration's metrics."""
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, sort_keys=True) + "\n")

    def rows(self) -> list[dict[str, Any]]:
        """All complete metrics rows, in order of iteration."""
        if not self.metrics.exists():
            return []
        return list(_complete_lines(self.metrics))

    def latest_checkpoint(self) -> tuple[int, Path] | None:
        """Iteration number and folder of the newest complete checkpoint."""
        found = sorted(p for p in self.checkpoints.iterdir() if p.is_dir() and p.name.isdigit())
        return (int(found[-1].name), found[-1]) if found else None

    def rewind(self, iteration: int) -> None:
        """Forget what was written after the checkpoint of ``iteration``."""
        kept = [row for row in self.rows() if row["iteration"] <= iteration]
        write_atomically(self.metrics, "".join(json.dumps(row, sort_keys=True) + "\n" for row in kept))
        for file in self.trajectories.iterdir():
            if int(file.name.split(".")[0]) > iteration:
                file.unlink()
        for folder in self.screens.glob("[0-9]*"):
            if int(folder.name) > iteration:
                shutil.rmtree(folder)

    @contextmanager
    def checkpoint(self, iteration: int) -> Iterator[Path]:
        """A folder to fill; it becomes the newest checkpoint when the block ends without an error."""
        scratch = self.checkpoints / f"{iteration:04d}.part"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        yield scratch
        final = self.checkpoints / f"{iteration:04d}"
        shutil.rmtree(final, ignore_errors=True)
        scratch.rename(final)
        complete = sorted(p for p in self.checkpoints.iterdir() if p.name.isdigit())
        for old in complete[: -self.KEPT_CHECKPOINTS]:
            shutil.rmtree(old)

    def delete(self) -> None:
        """Delete the run.

        Raises:
            RunFolderError: The folder exists and is not a run folder.
        """
        if not self.path.exists():
            return
        if not (self.path / "config.json").exists():
            raise RunFolderError(f"{self.path} is not a run folder (no config.json); nothing was deleted")
        shutil.rmtree(self.path)

    @staticmethod
    def _read(path: Path) -> dict[str, Any] | None:
        if not path.exists():
            return None
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise RunFolderError(f"{path} is not valid JSON ({error}); start over with --restart") from error
        if not isinstance(value, dict):
            raise RunFolderError(f"{path} does not hold a JSON object; start over with --restart")
        return value


def _complete_lines(path: Path) -> Iterator[dict[str, Any]]:
    """JSON lines of ``path``; a last line cut short by a crash is skipped."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                yield json.loads(line)


def _differences(old: Any, new: Any, prefix: str = "") -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() | new.keys():
            yield from _differences(old.get(key), new.get(key), f"{prefix}.{key}" if prefix else str(key))
    elif old != new:
        yield prefix
