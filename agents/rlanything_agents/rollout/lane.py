"""One episode while it is played: what was read and written so far, as text and as tokens."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym

from rlanything_agents.rollout.constraint import Constraint
from rlanything_agents.rollout.dialect import Dialect, Step
from rlanything_agents.rollout.trajectory import Trajectory, WrittenTurn, outcome_of
from rlanything_envs.errors import InfrastructureError
from rlanything_envs.verdict import command_of

__all__ = ["INFRASTRUCTURE", "Lane"]

INFRASTRUCTURE = (InfrastructureError, OSError)
"""What ends one episode without an outcome. Time-outs and broken connections are OSErrors; a task that cannot
be played, or a misuse of an environment, is a mistake of the caller and is raised."""

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class Lane:
    """One episode. Its turns are written token by token (`begin_turn`, `write`) or whole (`take`), and then played."""

    env: gym.Env[Any, Any]
    task: Any
    tag: str
    dialect: Dialect
    opening: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)
    done: bool = False
    error: str = ""
    score: float = 0.0
    steps: list[Step] = field(default_factory=list)
    prompt_ids: list[int] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    step_of_token: list[int | None] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    allowed: list[tuple[int, ...] | None] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)
    """Tokens the model has not been fed yet."""
    constraint: Constraint | None = None
    choices: tuple[int, ...] | None = None
    """What the next token is to be chosen from; None for all."""
    turn: list[int] = field(default_factory=list)
    turns: list[WrittenTurn] = field(default_factory=list)
    """The turns so far, where each reads a prompt of its own."""

    def reset(self) -> None:
        """Begin the episode."""
        try:
            self.opening, self.info = self.env.reset(options={"task": self.task})
        except INFRASTRUCTURE as error:
            self.fail(error)
            return
        self.prompt_ids = self.dialect.opening(self.opening)
        self.unread = list(self.prompt_ids)

    def begin_turn(self, constrained: bool) -> None:
        """Get ready to `write` a turn."""
        self.turn = []
        if constrained:
            self.constraint = self.dialect.constraint(self.info)
        self._force()

    @property
    def writing(self) -> bool:
        """Whether the turn is not complete yet."""
        return not self.turn or self.turn[-1] != self.dialect.end_id

    def write(self, token: int, logprob: float, choices: tuple[int, ...] | None) -> None:
        """Take a sampled token, and those that can only follow it."""
        self._append(token, len(self.steps), logprob, choices)
        if self.constraint is not None:
            self.constraint.advance(token)
        self._force()

    def take(self, ids: list[int], logprobs: list[float], prompt: list[int] | None = None) -> None:
        """Take a whole turn as it was sampled; where it was cut off, the end of the turn is added.

        Args:
            ids: At least one.
            logprobs: Of each id.
            prompt: What was read before it, where that is not the transcript so far.
        """
        if prompt is not None:
            self.turns.append(WrittenTurn(prompt, ids, logprobs))
        self.turn = []
        for token, logprob in zip(ids, logprobs, strict=True):
            self._append(token, len(self.steps), logprob)
        if self.writing:
            self._append(self.dialect.end_id)

    def _force(self) -> None:
        if self.constraint is None:
            if len(self.turn) >= self.dialect.turn_limit and self.writing:
                self._append(self.dialect.end_id)
            return
        while len(allowed := self.constraint.allowed) == 1:
            self._append(allowed[0])
            self.constraint.advance(allowed[0])
        self.choices = allowed

    def _append(
        self,
        token: int,
        step: int | None = None,
        logprob: float = 0.0,
        choices: tuple[int, ...] | None = None,
    ) -> None:
        self.turn.append(token)
        self.unread.append(token)
        self.ids.append(token)
        self.step_of_token.append(step)
        self.logprobs.append(logprob)
        self.allowed.append(choices)

    def step(self) -> None:
        """Give the command of this turn to the environment and take in what it says."""
        thought, action = self.dialect.read_turn(self.turn)
        if self.constraint is not None:
            action = self.constraint.command or action
        try:
            observation, reward, terminated, truncated, self.info = self.env.step(action)
        except INFRASTRUCTURE as error:
            self.steps.append(Step(thought, action, ""))
            self.fail(error)
            return
        self.steps.append(Step(thought, action, observation, command_of(self.info)))
        self.score = float(reward)
        self.done = terminated or truncated
        if not self.done:
            message = self.dialect.message(observation)
            self.unread += message
            self.ids += message
            self.step_of_token += [None] * len(message)
            self.logprobs += [0.0] * len(message)
            self.allowed += [None] * len(message)

    def cut(self, tokens: int, context: int) -> None:
        """End the episode as lost: its next turn would outgrow the context."""
        _log.warning("episode on %s cut off: %d tokens and a turn outgrow %d", self.task_id, tokens, context)
        self.done = True

    def fail(self, error: Exception) -> None:
        """End the episode without an outcome."""
        _log.warning("episode on %s ended by %s: %s", self.task_id, type(error).__name__, error)
        self.done, self.error = True, f"{type(error).__name__}: {error}"

    @property
    def task_id(self) -> str:
        """Id of the task."""
        return str(self.info.get("task_id") or getattr(self.task, "id", self.task))

    def trajectory(self) -> Trajectory:
        """The episode as it was played."""
        outcome, error = (None, self.error) if self.error else outcome_of(self.info)
        length = max((t + 1 for t, step in enumerate(self.step_of_token) if step is not None), default=0)
        return Trajectory(
            task_id=self.task_id,
            tag=self.tag,
            opening=self.opening,
            steps=tuple(self.steps),
            outcome=outcome,
            error=error,
            score=self.score,
            prompt_ids=self.prompt_ids,
            completion_ids=self.ids[:length],
            step_of_token=self.step_of_token[:length],
            logprobs=self.logprobs[:length],
            allowed=self.allowed[:length],
            turns=tuple(self.turns),
        )
