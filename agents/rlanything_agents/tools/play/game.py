"""A game without a screen: its tasks, the state of the episode, and the transcript."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from rlanything_agents.domains.solutions import Solution, solution_of
from rlanything_envs.conversation import Conversation, Turn
from rlanything_envs.errors import InfrastructureError
from rlanything_task_pools import Domain, Task, TaskFormatError, TaskPool

__all__ = ["Game", "Tasks", "pool_tasks", "task_of"]

Tasks = Iterator[Task | int]
"""Tasks in the order of play, or seeds with which the environment draws them."""


class Game:
    """Episodes of one environment, one after the other.

    Args:
        conversation: Conversation with the environment; closed with the game.
        tasks: The tasks; the last one is repeated when there are no more.
        transcript: File to which every episode is appended when it ends or is left: one JSON object per line, with the
            fields of a stored trajectory.
    """

    def __init__(self, conversation: Conversation, tasks: Tasks, transcript: Path | None = None) -> None:
        self.conversation = conversation
        self.transcript = transcript
        self.wins = self.losses = 0
        self._tasks = tasks
        self._given: Task | int | None = None
        self._task: Task | None = None
        self._solution: Solution | None = None
        self._opening = ""
        self._turn: Turn | None = None
        self._steps: list[tuple[str, str]] = []
        self._error = ""
        self._written = True

    @property
    def turn(self) -> Turn:
        """Last turn of the environment.

        Raises:
            RuntimeError: No episode has begun.
        """
        if self._turn is None:
            raise RuntimeError("no episode was begun: call next()")
        return self._turn

    @property
    def running(self) -> bool:
        """Whether an episode is running."""
        return self._turn is not None and not self._turn.done and not self._error

    @property
    def answers(self) -> list[str]:
        """Answers of this episode."""
        return [answer for answer, _ in self._steps]

    @property
    def opening(self) -> str:
        """First message of this episode."""
        return self._opening

    def next(self) -> Turn:
        """Begin an episode on the next task.

        Raises:
            InfrastructureError, UnknownTask, TaskFormatError: The task cannot be played.
        """
        self._write()
        self._given = next(self._tasks, self._given)
        return self.restart()

    def restart(self) -> Turn:
        """Begin another episode on the same task."""
        self._write()
        self._turn, self._steps, self._error = None, [], ""
        if isinstance(self._given, Task):
            self._turn = self.conversation.start(self._given)
            self._task = self._given
        else:
            self._turn = self.conversation.start(seed=self._given)
            self._task = self._drawn(self._turn)
        self._solution = None
        self._opening = self._turn.text
        self._written = False
        return self._turn

    def answer(self, text: str) -> Turn:
        """Send an answer.

        Raises:
            InfrastructureError: The infrastructure failed; the episode is over and has no outcome.
            EpisodeOver: No episode is running.
        """
        try:
            self._turn = self.conversation.answer(text)
        except InfrastructureError as error:
            self._error = str(error)
            self._steps.append((text, ""))
            self._write()
            raise
        self._steps.append((text, self._turn.text))
        if self._turn.done:
            self.wins += self._turn.won
            self.losses += not self._turn.won
            self._write()
        return self._turn

    def hint(self) -> str | None:
        """Next answer of the known solution; None where none is known from here."""
        if self._task is None or not self.running:
            return None
        if self._solution is None:
            self._solution = solution_of(self._task)
        return self._solution(self.answers)

    def close(self) -> None:
        """Record the current episode, and close the conversation."""
        self._write()
        self.conversation.close()

    def _drawn(self, turn: Turn) -> Task | None:
        source = getattr(self.conversation.env.unwrapped, "source", None)
        try:
            task = source.find(turn.info["task_id"]) if source is not None else None
        except LookupError:
            return None
        return task if isinstance(task, Task) else None

    def _write(self) -> None:
        if self.transcript is None or self._written:
            return
        self._written = True
        with self.transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps(self._record()) + "\n")

    def _record(self) -> dict[str, Any]:
        turn = self.turn
        return {
            "task_id": turn.info.get("task_id", ""),
            "goal": "" if self._task is None else self._task.goal,
            "outcome": (1 if turn.won else -1) if turn.done and not self._error else None,
            "error": self._error or ("" if turn.done else "the game was left"),
            "score": turn.reward,
            "opening": self._opening,
            "steps": [{"thought": "", "action": action, "observation": message} for action, message in self._steps],
        }


def pool_tasks(path: Path, seed: int) -> Tasks:
    """Active tasks of a pool in endless cycles over its slots, beginning with slot ``seed``.

    Raises:
        PoolError: The path is not that of a pool.
    """
    with TaskPool.open(path) as pool:
        tasks = [pool.active(slot) for slot in pool.slots]
    return (tasks[number % len(tasks)] for number in count(seed))


def task_of(wanted: str, domain: Domain, pool: Path | None) -> Task:
    """Load one task, by its id in a pool, from a `Task` as JSON, or from a file in the domain's own format.

    Raises:
        UnknownTask, PoolError: The pool has no such task.
        TaskFormatError: The file holds no task, or one that the domain cannot read.
    """
    if pool is not None:
        with TaskPool.open(pool) as opened:
            return opened.task(wanted)
    path = Path(wanted)
    if not path.exists():
        raise TaskFormatError(f"{wanted!r:.200}: no such file; the id of a task needs its pool (--pool)")
    try:
        if path.is_file() and path.suffix == ".json":
            return Task.from_json(path.read_bytes())
    except TaskFormatError:
        pass  # JSON in the domain's own format
    try:
        return domain.load(path)
    except (OSError, LookupError, ValueError) as error:
        raise TaskFormatError(f"{path}: {domain.name} cannot read it as a task ({error})") from error
