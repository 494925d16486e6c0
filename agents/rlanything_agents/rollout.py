"""Many episodes at once: all live ones share every forward pass.

The episodes move in lock step. In each turn all live lanes write a thought and a command token by token, then
their environments step, and the new messages are read together. A lane that has finished its command waits
for the others; a lane that has finished its episode is dropped from the cache.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
from transformers import PreTrainedModel

from rlanything_agents.backends.decoder import Decoder, open_decoder
from rlanything_agents.backends.sampling import LaneNoise, sample_tokens
from rlanything_agents.constraint import Constraint
from rlanything_agents.dialect import Dialect, Step
from rlanything_agents.trajectory import Trajectory, outcome_of
from rlanything_envs.errors import InfrastructureError

__all__ = ["rollout"]

INFRASTRUCTURE = (InfrastructureError, OSError)
"""What ends one episode without an outcome. Time-outs and broken connections are OSErrors; a task that cannot
be played, or a misuse of an environment, is a mistake of the caller and is raised."""

_log = logging.getLogger(__name__)


def rollout(
    model: PreTrainedModel,
    dialect: Dialect,
    envs: Sequence[gym.Env[Any, Any]],
    tasks: Sequence[Any],
    *,
    max_steps: int,
    seed: int,
    temperature: float = 1.0,
    constrained: bool = True,
    tags: Sequence[str] | None = None,
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
) -> list[Trajectory]:
    """Play one episode per task.

    Only text, and what `Dialect.constraint` reads of ``info``, reach the agent. What lane i plays depends on the
    weights, its task, ``seed`` and i alone, up to rounding; not on the other lanes or on the number of environments.

    Args:
        model: The policy, a causal language model over the dialect's vocabulary.
        dialect: Translates between text and tokens.
        envs: Environments to play in, reused when there are more tasks than environments.
        tasks: What ``reset(options={"task": ...})`` takes, one per episode.
        max_steps: An episode that has not ended by then is lost.
        seed: Seed of the sampling.
        temperature: Divides the logits before sampling; the recorded log-probabilities are those at
            temperature 1.
        constrained: Sample only what `Dialect.constraint` allows. Otherwise the model writes freely, and
            whatever it wrote goes to the environment.
        tags: One per task, handed through to its trajectory.
        threads: How many environments step at once; more than one pays where a step waits for another process.
        progress: Called with the number of episodes that have just ended.

    Returns:
        Trajectories in the order of the tasks. An environment whose infrastructure fails (see
        `INFRASTRUCTURE`), or that reports ``outcome == "error"``, ends its own lane with ``outcome`` None and
        leaves the others alone.

    Raises:
        ValueError: No environments, or not one tag per task, or a temperature that is not positive.
    """
    if not envs:
        raise ValueError("rollout needs at least one environment")
    if tags is not None and len(tags) != len(tasks):
        raise ValueError(f"rollout needs one tag per task, got {len(tags)} for {len(tasks)}")
    if not temperature > 0:
        raise ValueError(f"temperature must be positive, got {temperature}; use a small value for greedy play")
    trajectories: list[Trajectory] = []
    for first in range(0, len(tasks), len(envs)):
        lanes = [
            _Lane(env, task, "" if tags is None else tags[first + i], dialect)
            for i, (env, task) in enumerate(zip(envs, tasks[first : first + len(envs)], strict=False))
        ]
        noise = LaneNoise(seed, range(first, first + len(lanes)))
        with open_decoder(model, len(lanes)) as decoder, _pool(threads) as pool:
            _play(decoder, dialect, lanes, noise, max_steps, temperature, constrained, pool, progress)
        trajectories += [lane.trajectory() for lane in lanes]
    return trajectories


@dataclass(eq=False)
class _Lane:
    """One episode while it is played."""

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

    def reset(self) -> None:
        try:
            self.opening, self.info = self.env.reset(options={"task": self.task})
        except INFRASTRUCTURE as error:
            self._fail(error)
            return
        self.prompt_ids = self.dialect.opening(self.opening)
        self.unread = list(self.prompt_ids)

    def begin_turn(self, constrained: bool) -> None:
        self.turn = []
        if constrained:
            self.constraint = self.dialect.constraint(self.info)
        self._force()

    @property
    def writing(self) -> bool:
        return not self.turn or self.turn[-1] != self.dialect.end_id

    def write(self, token: int, logprob: float, choices: tuple[int, ...] | None) -> None:
        """Take a sampled token, and those that can only follow it."""
        self._append(token, len(self.steps), logprob, choices)
        if self.constraint is not None:
            self.constraint.advance(token)
        self._force()

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
            self._fail(error)
            return
        self.steps.append(Step(thought, action, observation))
        self.score = float(reward)
        self.done = terminated or truncated
        if not self.done:
            message = self.dialect.message(observation)
            self.unread += message
            self.ids += message
            self.step_of_token += [None] * len(message)
            self.logprobs += [0.0] * len(message)
            self.allowed += [None] * len(message)

    def _fail(self, error: Exception) -> None:
        _log.warning("episode on %s ended by %s: %s", self.task_id, type(error).__name__, error)
        self.done, self.error = True, f"{type(error).__name__}: {error}"

    @property
    def task_id(self) -> str:
        return str(self.info.get("task_id") or getattr(self.task, "id", self.task))

    def trajectory(self) -> Trajectory:
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
        )


def _pool(threads: int) -> AbstractContextManager[ThreadPoolExecutor | None]:
    return ThreadPoolExecutor(threads, "environment") if threads > 1 else nullcontext()


def _play(
    decoder: Decoder,
    dialect: Dialect,
    lanes: list[_Lane],
    noise: LaneNoise,
    max_steps: int,
    temperature: float,
    constrained: bool,
    pool: ThreadPoolExecutor | None,
    progress: Callable[[int], None] | None,
) -> None:
    for lane in lanes:
        lane.reset()
    live = np.array([i for i, lane in enumerate(lanes) if not lane.done], dtype=np.int64)
    decoder.keep(live)  # from here on live[row] is the episode behind a lane of the decoder
    for _ in range(max_steps):
        for i in live:
            lanes[i].begin_turn(constrained)
        rows = np.array([row for row, i in enumerate(live) if lanes[i].writing], dtype=np.int64)
        while len(rows):
            writers = [lanes[i] for i in live[rows]]
            logits = decoder.append(rows, [lane.unread for lane in writers])
            choices = [lane.choices for lane in writers]
            tokens, logprobs = sample_tokens(logits, choices, noise.draw(live[rows]), temperature)
            for lane, token, logprob, choice in zip(writers, tokens, logprobs, choices, strict=True):
                lane.unread = []
                lane.write(token, logprob, choice)
            rows = rows[[lane.writing for lane in writers]]
        if pool is None:
            for i in live:
                lanes[i].step()
        else:
            list(pool.map(_Lane.step, [lanes[i] for i in live]))  # the list waits, and raises what a thread raised
        going = np.array([not lanes[i].done for i in live], dtype=bool)
        if progress is not None and not going.all():
            progress(int((~going).sum()))
        if not going.all():
            decoder.keep(np.flatnonzero(going))
            live = live[going]
        if not len(live):
            return
    if progress is not None:
        progress(len(live))
