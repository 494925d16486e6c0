"""The folder of one benchmark: one line per episode, which a killed process cannot damage.

A partial last line is dropped when the folder is opened again; an episode with an infrastructure failure is played
again, and its last line counts.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from rlanything_agents.runs.folder import write_atomically
from rlanything_agents.tools.benchmark.episode import Key, Result
from rlanything_agents.tools.benchmark.errors import BenchmarkError

__all__ = ["ResultFolder"]

_LOCK = "lock"
_CLAIM = re.compile(rf"{_LOCK}|benchmark\.json\.\d+\.part")
"""Names of the files that a process killed before or while it claims a folder leaves there."""


class ResultFolder:
    """Files of a benchmark, locked by one process at a time.

    Layout::

        benchmark.json   settings: a command with the same ones continues, with others it is refused
        results.jsonl    one line per episode, as soon as it has ended
        prompts.jsonl    prompts to a model and its answers
        results.json  report.html
        episodes/        the course of each episode, and its screens
        trajectories/  screens/   all of them in the form of a run, which ``rlanything view`` reads
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.prompts = path / "prompts.jsonl"
        self.summary = path / "results.json"
        self.page = path / "report.html"
        self._lines = path / "results.jsonl"
        self._settings = path / "benchmark.json"

    @classmethod
    @contextmanager
    def open(cls, path: Path, settings: Mapping[str, Any], *, restart: bool = False) -> Iterator[Self]:
        """Open and lock the folder of a benchmark.

        Args:
            path: The folder, created where it is missing.
            settings: All settings that results depend on.
            restart: Delete the content first.

        Raises:
            BenchmarkError: The folder belongs to a benchmark with other settings, is locked by another process, or is
                neither empty nor the folder of a benchmark.
        """
        folder = cls(path)
        if path.exists() and not path.is_dir():
            raise BenchmarkError(f"{path} is a file: give another --out")
        others = [found for found in path.iterdir() if not _CLAIM.fullmatch(found.name)] if path.exists() else []
        if others and not folder._settings.exists():
            raise BenchmarkError(f"{path} is there and is not the folder of a benchmark: give another --out")
        path.mkdir(parents=True, exist_ok=True)
        with (path / _LOCK).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise BenchmarkError(f"another process plays into {path}: wait for it, or give another --out") from None
            for leftover in path.glob("*.part"):  # writes interrupted by a kill
                leftover.unlink()
            if restart:
                folder._delete()
            folder._compare(settings)
            yield folder

    def _delete(self) -> None:
        """Delete the results first, which would count without their episodes, and the settings last."""
        for found in sorted(self.path.iterdir(), key=lambda found: (found == self._settings, found != self._lines)):
            if found.is_dir() and not found.is_symlink():
                shutil.rmtree(found)
            elif found.name != _LOCK:
                found.unlink()

    def claim(self, settings: Mapping[str, Any]) -> None:
        """Store the settings, which bind the folder to this benchmark."""
        if not self._settings.exists():
            write_atomically(self._settings, json.dumps(settings, indent=1) + "\n")

    def _compare(self, settings: Mapping[str, Any]) -> None:
        if not self._settings.exists():
            return
        stored, wanted = _read_object(self._settings), json.loads(json.dumps(settings))
        if different := sorted(key for key in {*stored, *wanted} if stored.get(key) != wanted.get(key)):
            changes = "; ".join(f"{k}: was {stored.get(k)!r:.100}, now {wanted.get(k)!r:.100}" for k in different)
            raise BenchmarkError(
                f"{self.path} holds another benchmark ({changes}): give another --out, or begin again with --restart"
            )

    def results(self) -> dict[Key, Result]:
        """Last result of each episode.

        Raises:
            BenchmarkError: A complete line is not a result; the message names its number.
        """
        self._drop_torn_line()
        found: dict[Key, Result] = {}
        if self._lines.exists():
            with self._lines.open("rb") as file:
                for number, line in enumerate(file, 1):
                    try:
                        result = Result.from_json(line)
                    except BenchmarkError as error:
                        raise BenchmarkError(
                            f"{self._lines}, line {number}: {error}; remove the line, or begin again with --restart"
                        ) from None
                    found[result.key] = result
        return found

    def append(self, result: Result) -> None:
        """Append a result; it survives a kill of the process."""
        line = json.dumps(result.to_dict()).encode() + b"\n"
        file = os.open(self._lines, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            while line:
                line = line[os.write(file, line) :]
        finally:
            os.close(file)

    def _drop_torn_line(self) -> None:
        if not self._lines.exists():
            return
        content = self._lines.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(self._lines, whole)


def _read_object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BenchmarkError(f"{path} cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise BenchmarkError(f"{path} does not hold a JSON object")
    return value
