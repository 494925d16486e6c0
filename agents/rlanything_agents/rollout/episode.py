"""Episode in progress: its messages and answers so far, as text and as token ids."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym

from rlanything_agents.rollout.renderer import Renderer
from rlanything_agents.rollout.screens import Screens
from rlanything_agents.rollout.trajectory import PromptedTurn, Step, Trajectory, is_free, outcome_of
from rlanything_envs.errors import InfrastructureError
from rlanything_envs.llm.generator import Completion, SeenPrompt
from rlanything_envs.message import Image, images_of, parts_of, text_of
from rlanything_envs.verdict import command_of

__all__ = ["INFRASTRUCTURE", "Episode"]

INFRASTRUCTURE = (InfrastructureError, OSError)
"""Exceptions that end one episode without an outcome. Time-outs and broken connections are OSErrors. An unplayable
task or a misuse of an environment is a mistake of the caller and is raised."""

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class Episode:
    """Episode in progress: `reset`, then for each turn `prompt`, `take` and `step`, until it is `done`.

    The lists from ``ids`` to ``allowed`` have one entry per token after ``prompt_ids``; see `Trajectory`.
    """

    env: gym.Env[Any, Any]
    task: Any
    tag: str
    renderer: Renderer
    stop: tuple[str, ...] = ()
    """Texts that end an answer."""
    number: int = 0
    """Number of the episode within its rollout."""
    since: float = 0.0
    """When it began, on the clock of `time.monotonic`."""
    worked: float = 0.0
    """Seconds that its own steps took in the environment."""
    opening: str = ""
    screen: Image | None = None
    """Screen of the first message."""
    info: Mapping[str, Any] = field(default_factory=dict)
    first_message: str = ""
    done: bool = False
    error: str = ""
    overlong: bool = False
    late: bool = False
    score: float = 0.0
    steps: list[Step] = field(default_factory=list)
    prompt_ids: list[int] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    step_of_token: list[int | None] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    allowed: list[tuple[int, ...] | None] = field(default_factory=list)
    turns: list[PromptedTurn] = field(default_factory=list)
    """Turns so far, where each has its own prompt (``thinking: strip``, a history window, screens); else empty."""
    answers: list[list[int]] = field(default_factory=list)
    """Answers so far, that of the current turn included, closed."""
    added: tuple[int, ...] = ()
    """Ids that the prompt of this turn adds; see `Step`."""

    def reset(self) -> None:
        """Begin the episode on its task."""
        self.since = time.monotonic()
        if isinstance(self.env, Screens):
            self.env.episode = self.number
        try:
            observation, self.info = self.env.reset(options={"task": self.task})
        except INFRASTRUCTURE as error:
            self.fail(error)
            return
        self.opening, self.screen = text_and_screen(observation, first=True)
        self.first_message = str(self.info.get("message", ""))
        self.prompt_ids = self.renderer.opening(self.opening, self.screen)
        if self.renderer.appends:
            self.added = tuple(self.prompt_ids)

    def prompt(self) -> list[int] | SeenPrompt:
        """Prompt of the next answer."""
        if self.renderer.appends:
            return self.prompt_ids + self.ids
        return self.renderer.prompt(self.opening, list(zip(self.answers, self.steps, strict=True)), self.screen)

    def take(self, completion: Completion, prompt: list[int] | SeenPrompt) -> None:
        """Append a sampled answer; where the token limit cut it off, its end is added as a forced token.

        Args:
            completion: Answer with at least one token id, and with log-probabilities.
            prompt: Its prompt.
        """
        ids, logprobs = completion.token_ids or [], completion.logprobs or []
        allowed = completion.allowed or [None] * len(ids)
        if not self.renderer.appends:
            read, images = (prompt.ids, prompt.images) if isinstance(prompt, SeenPrompt) else (prompt, ())
            self.turns.append(PromptedTurn(read, ids, logprobs, completion.allowed, images))
        answer = list(ids)
        self.answers.append(answer)
        self.ids += ids
        self.logprobs += logprobs
        step = len(self.steps)
        for choices in allowed:
            free = is_free(choices)
            self.step_of_token.append(step if free else None)
            self.allowed.append(None if choices is not None and len(choices) == 1 else choices)
        if answer[-1] != self.renderer.end_id:
            answer.append(self.renderer.end_id)
            self._append((self.renderer.end_id,))

    def step(self) -> None:
        """Execute the action of this turn in the environment, and append the next message."""
        thought, action = self.renderer.read(self.answers[-1], self.stop)
        answer = tuple(self.answers[-1])
        begun = time.monotonic()
        try:
            observation, reward, terminated, truncated, self.info = self.env.step(action)
        except INFRASTRUCTURE as error:
            self.steps.append(Step(thought, action, "", prompt=self.added, answer=answer))
            self.fail(error)
            return
        finally:
            self.worked += time.monotonic() - begun
        message = str(self.info.get("message", ""))
        observation, screen = text_and_screen(observation)
        command = command_of(self.info)
        self.steps.append(Step(thought, action, observation, command, message, screen, self.added, answer))
        self.score = float(reward)
        self.done = terminated or truncated
        if not self.done:
            ids = self.renderer.message(observation)
            self._append(ids)
            if self.renderer.appends:
                self.added = ids

    def cut(self, tokens: int) -> None:
        """End the episode as failed: its next turn would exceed the context."""
        context = self.renderer.context
        _log.warning("episode on %s cut off: %d tokens and a turn outgrow %d", self.task_id, tokens, context)
        self.done = self.overlong = True

    def expire(self, deadline: float) -> None:
        """End the episode at its deadline.

        Steps that ended without an error are the doing of their actions, and an environment that finds its machinery
        overloaded says so. Where they took half of the time, the agent made the episode slow, and it has failed;
        elsewhere it waited for the engine or for other episodes, and it has no outcome.
        """
        reason = f"the episode took more than {deadline:g} s (rollout.deadline)"
        if self.worked < deadline / 2:
            self.fail(InfrastructureError(reason))
            return
        _log.warning("episode on %s cut off: %s, %.0f of them in its own steps", self.task_id, reason, self.worked)
        self.done = self.late = True

    def fail(self, error: Exception) -> None:
        """End the episode without an outcome: the infrastructure failed."""
        _log.warning("episode on %s ended by %s: %s", self.task_id, type(error).__name__, error)
        self.done, self.error = True, f"{type(error).__name__}: {error}"

    def trajectory(self) -> Trajectory:
        """Trajectory of the episode, up to the last sampled token."""
        outcome, error = (None, self.error) if self.error else outcome_of(self.info)
        length = max((t + 1 for t, step in enumerate(self.step_of_token) if step is not None), default=0)
        return Trajectory(
            task_id=self.task_id,
            tag=self.tag,
            opening=self.opening,
            message=self.first_message,
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
            overlong=self.overlong,
            late=self.late,
            agent_crash=str(self.info.get("agent_crash") or ""),
            screen=self.screen,
        )

    @property
    def task_id(self) -> str:
        """Id of the task from the environment, else from the task itself."""
        return str(self.info.get("task_id") or getattr(self.task, "id", self.task))

    def _append(self, ids: Sequence[int]) -> None:
        """Append tokens that were not sampled."""
        self.ids += ids
        self.step_of_token += [None] * len(ids)
        self.logprobs += [0.0] * len(ids)
        self.allowed += [None] * len(ids)


def text_and_screen(observation: Any, *, first: bool = False) -> tuple[str, Image | None]:
    """Text and screen of an observation. Of a screen the PNG alone is kept, a fiftieth of the bytes of its pixels."""
    parts = parts_of(observation, first)
    screen = next(iter(images_of(parts)), None)
    return text_of(parts), None if screen is None else Image(screen.png)
