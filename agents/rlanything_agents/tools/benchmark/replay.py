"""Judging a stored episode again: its answers are given to its environment, or its kept results to the evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym

import rlanything_envs  # noqa: F401  (registers the environments)
from rlanything_agents.runs.stored.folder import SafeFolder
from rlanything_agents.runs.stored.lines import unpacked_lines
from rlanything_agents.tools.audit.agents import AuditWorld, Refusals
from rlanything_agents.tools.benchmark.episode import Episode, World
from rlanything_agents.tools.benchmark.errors import BenchmarkError, Outgrown
from rlanything_agents.tools.benchmark.player import Response
from rlanything_agents.tools.benchmark.scripted import Scripted
from rlanything_envs.conversation import Conversation, Turn
from rlanything_envs.errors import InfrastructureError
from rlanything_envs.views import make_env
from rlanything_task_pools import Task, get_domain

if TYPE_CHECKING:
    from rlanything_envs.osworld.env import OSWorldEnv

__all__ = ["Replay", "ReplayWorld", "Replayer"]

MAX_KEPT = 64 << 20
"""Maximum bytes of the kept results of one desktop."""


@dataclass(frozen=True, slots=True)
class Replay(Episode):
    """A stored episode with what the verifier judges: its answers, or the file with the kept results of a desktop."""

    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReplayWorld(AuditWorld):
    """The environment in which stored answers are judged: in a view of a run, or as a benchmark plays it.

    Attributes:
        view: Name of the view; empty for a benchmark.
        folder: Folder of the kept results of desktops.
    """

    view: str = ""
    folder: str = ""

    def open(self) -> Conversation:
        """Open a conversation with a new environment."""
        if self.domain == "osworld":
            return _Results(World.open(self).env, SafeFolder(Path(self.folder)))
        if not self.view:
            return AuditWorld.open(self)
        env_id = get_domain(self.domain).env_id
        try:
            return _Actions(Refusals(make_env(env_id, self.view, **self.arguments)))
        except (TypeError, ValueError) as error:
            raise BenchmarkError(f"{env_id} cannot be made with {dict(self.arguments)}: {error}") from error


class _Actions(Conversation):
    """A conversation whose answers are actions, as the records of runs hold them."""

    def answer(self, text: str) -> Turn:
        """Take an action."""
        return self._turn(*self.env.step(text))


class _Results(Conversation):
    """An episode of one turn, whose answer names the file with the kept results of a desktop."""

    def __init__(self, env: gym.Env[Any, Any], folder: SafeFolder) -> None:
        super().__init__(env)
        self._folder = folder
        self._task: Any = None

    def start(self, task: Task | Mapping[str, Any] | str | None = None, *, seed: int | None = None) -> Turn:
        """Begin with a task; no desktop is started."""
        self._task = task
        return Turn("", 0.0, False, False, {})

    def answer(self, text: str) -> Turn:
        """Evaluate kept results."""
        judge: OSWorldEnv = self.env.unwrapped  # type: ignore[assignment]
        try:
            with self._folder.open(text) as file:
                line = next((line for _, line in unpacked_lines(file, longest=MAX_KEPT)), None)
            score, outcome = judge.judge_again(self._task, line or b"")
        except Exception as error:  # as at the end of an episode on a desktop
            raise InfrastructureError(f"the evaluator has no score: {error}") from error
        return Turn("", score, True, False, {"outcome": outcome})


class Replayer(Scripted):
    """Gives the stored answers of each episode again."""

    name = "reverify"

    def player(self, episode: Episode) -> _Again:
        """A player of one episode."""
        if not isinstance(episode, Replay):
            raise TypeError("an episode without its answers")
        return _Again(episode.answers)


class _Again:
    counts = False

    def __init__(self, answers: Sequence[str]) -> None:
        self._answers = iter(answers)

    def act(self, turn: Turn) -> Response:
        if (answer := next(self._answers, None)) is None:
            raise Outgrown("overlong", "the stored answers end before the episode, which has not solved its task")
        return Response(answer)
