"""Courses of the episodes of a benchmark: a file for each as it ends, and all of them as the viewer reads them."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym

from rlanything_agents.rollout.screens import Screens
from rlanything_agents.runs.folder import write_atomically
from rlanything_envs.conversation import Conversation, Turn
from rlanything_envs.errors import InfrastructureError
from rlanything_envs.verdict import command_of
from rlanything_task_pools import Task

__all__ = ["RecordedConversation", "collect"]


class RecordedConversation(Conversation):
    """A conversation that writes ``TASK-SEED.json`` when an episode has ended, and the screens of one on a desktop.

    Args:
        folder: Where the files go.
        env: See `Conversation`.
        keep_results: Whether ``TASK-SEED.results.gz`` holds what the evaluator of a desktop read at the end.
        arguments: See `Conversation`.
    """

    def __init__(
        self, folder: Path, env: gym.Env[Any, Any] | str, *, keep_results: bool = False, **arguments: Any
    ) -> None:
        super().__init__(env, **arguments)
        self._folder = folder
        if keep_results and hasattr(self.env.unwrapped, "keep_results"):
            self.env.unwrapped.keep_results = True
        self.env = self._screens = Screens(self.env)
        self._name = ""
        self._record: dict[str, Any] = {}

    def start(self, task: Task | Mapping[str, Any] | str | None = None, *, seed: int | None = None) -> Turn:
        """Begin an episode and its record."""
        self._screens.take()  # those of an episode without an end
        turn = super().start(task, seed=seed)
        self._name = f"{turn.info.get('task_id')}-{seed}"
        goal = str(turn.info.get("instruction") or turn.info.get("goal") or "")
        self._record = {"role": "benchmark", "task_id": turn.info.get("task_id"), "goal": goal}
        self._record |= {"opening": turn.text, "outcome": None, "error": "", "score": None, "turns": []}
        return turn

    def answer(self, text: str) -> Turn:
        """Send an answer and keep it, with the message and the screen after it."""
        try:
            turn = super().answer(text)
        except InfrastructureError as error:
            self._write(error=str(error))
            raise
        self._record["turns"].append({"action": text, "observation": turn.text, "command": command_of(turn.info)})
        if turn.done:
            self._write(outcome=1 if turn.won else -1, score=turn.reward)
        return turn

    def cut(self, reason: str) -> None:
        """End the record: the agent has failed for a reason (`Outgrown`) that is not the environment's."""
        self._write(outcome=-1, score=0.0, outgrown=reason)

    def _write(self, **end: Any) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        for pictures in self._screens.take().values():
            for number, picture in pictures.items():
                (self._folder / f"{self._name}-{number:03d}.webp").write_bytes(picture)
        kept = self._folder / f"{self._name}.results.gz"
        kept.unlink(missing_ok=True)  # of an earlier attempt
        if results := getattr(self.env.unwrapped, "results", None):
            kept.write_bytes(gzip.compress(results, mtime=0))
        write_atomically(self._folder / f"{self._name}.json", json.dumps({**self._record, **end}))


def collect(folder: Path, wanted: Iterable[tuple[str, int]], target: Path) -> None:
    """Put the courses of all episodes that have one into the files of a run with one iteration.

    Args:
        folder: Where the conversations wrote.
        wanted: Name (`Episode.name`) and place of each episode, in the order of the benchmark.
        target: Folder with ``trajectories`` and ``screens``; both are replaced.
    """
    for name in ("trajectories", "screens"):
        shutil.rmtree(target / name, ignore_errors=True)
    (target / "trajectories").mkdir(parents=True, exist_ok=True)
    screens = target / "screens" / "0000"
    number = 0
    with gzip.open(target / "trajectories" / "0000.jsonl.gz", "wb") as file:
        for name, place in wanted:
            try:
                record = json.loads((folder / f"{name}.json").read_bytes())
            except (OSError, ValueError, RecursionError):
                continue
            if not isinstance(record, dict):
                continue
            file.write(json.dumps({**record, "slot": place}).encode() + b"\n")
            for picture in sorted(folder.glob(f"{name}-[0-9][0-9][0-9].webp")):
                screens.mkdir(parents=True, exist_ok=True)
                os.link(picture, screens / f"{number:04d}-{picture.stem[-3:]}.webp")
            number += 1
