"""Lessons of the supervised warm start: an expert's episodes for the policy, noisy heuristic labels for the judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from rlanything_agents.config import RunConfig
from rlanything_agents.reward_models.judge_model import JudgeModel
from rlanything_agents.reward_models.step_prompts import Judgement, StepPrompts
from rlanything_agents.rollout.episode import text_and_screen
from rlanything_agents.rollout.renderer import Renderer, Turn
from rlanything_agents.rollout.rollout import Policy
from rlanything_agents.rollout.trajectory import Step, Trajectory, outcome_of
from rlanything_agents.training.imitation import Row, row_of
from rlanything_envs.llm.generator import SeenPrompt
from rlanything_envs.verdict import command_of
from rlanything_task_pools import Task

__all__ = ["Expert", "Lessons", "Move", "School", "demonstrate", "judge_rows"]


@dataclass(frozen=True, slots=True)
class Move:
    """One turn of an expert.

    Attributes:
        thought: Thought, in the words of the short view.
        action: Action for the environment.
        exemplary: False for a deliberate mistake, after which the demonstration shows the recovery.
        plain: The same thought as an English sentence, for the full view.
    """

    thought: str
    action: str
    exemplary: bool = True
    plain: str = ""


class Expert(Protocol):
    """A scripted agent that gets the agent's observations and nothing more."""

    def act(self, observation: str, info: Mapping[str, Any]) -> Move:
        """The next move after a message; the first message opens the episode."""
        ...


class School(Protocol):
    """Parts that lessons are made with; `rlanything_agents.runs.parts.RunParts` has them."""

    @property
    def config(self) -> RunConfig:
        """All settings."""
        ...

    @property
    def reporter(self) -> Any:
        """Shows progress."""
        ...

    @property
    def envs(self) -> Sequence[gym.Env[Any, Any]]:
        """Environments for the episodes."""
        ...

    @property
    def actor(self) -> Policy:
        """The policy, with its current weights."""
        ...

    @property
    def judge_model(self) -> JudgeModel:
        """The language model of the reward model."""
        ...

    def seed(self, *path: str | int) -> int:
        """The run's seed for a purpose."""
        ...

    def train_tasks(self, purpose: str, count: int) -> list[Task]:
        """Training tasks for a purpose."""
        ...


class Lessons(Protocol):
    """Training data for the supervised warm start of both models."""

    def policy(self, school: School) -> list[Row]:
        """Demonstrations for the policy."""
        ...

    def judge(self, school: School) -> list[Row]:
        """Demonstrations for the reward model; made after the policy is warmed up."""
        ...


def demonstrate(
    expert: Callable[[int, Any], Expert],
    renderer: Renderer,
    env: gym.Env[Any, Any],
    tasks: Sequence[Any],
    *,
    max_steps: int,
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> list[Row]:
    """Roll out the domain's expert, and keep the episodes that it solved.

    Args:
        expert: Makes the expert of an episode from its seed and its task.
        renderer: Renders the episodes for the model that imitates them.
        env: Environment of all episodes, one after the other.
        tasks: Values for ``reset(options={"task": ...})``, one per episode.
        max_steps: Maximum steps of an episode; one that has not ended by then has failed.
        seed: Seed of the expert.
        progress: Called with 1 after each episode.

    Returns:
        For each solved episode a row for turns whose prompts continue each other: one row where the transcript only
        grows, a row for each turn where prompts have screens. Answers are learnt; messages and deliberate mistakes are
        context only.
    """
    rows = []
    for number, task in enumerate(tasks):
        own = int(np.random.SeedSequence((seed, number)).generate_state(1)[0])
        rows += _demonstration(expert(own, task), renderer, env, task, max_steps)
        if progress is not None:
            progress(1)
    return rows


def _demonstration(expert: Expert, renderer: Renderer, env: gym.Env[Any, Any], task: Any, max_steps: int) -> list[Row]:
    seen, info = env.reset(options={"task": task})
    opening, screen = text_and_screen(seen, first=True)
    observation, turns, rows = opening, list[Turn](), list[Row]()
    for _ in range(max_steps):
        move = expert.act(observation, info)
        plain = renderer.view.name == "full" and move.plain
        answer = renderer.answer(plain or move.thought, move.action)
        prompt = renderer.prompt(opening, turns, screen)
        images = prompt.images if isinstance(prompt, SeenPrompt) else ()
        ids = list(prompt)
        continues = rows and not images and ids[: len(rows[-1].ids)] == rows[-1].ids
        read = rows.pop() if continues else Row([], [])
        context = ids[len(read.ids) :]
        learnt = [False] * len(context) + [move.exemplary] * len(answer)
        rows.append(Row([*read.ids, *context, *answer], read.learnt + learnt, images))
        seen, _, terminated, truncated, info = env.step(move.action)
        if terminated or truncated:
            return [row for row in rows if any(row.learnt)] if outcome_of(info)[0] == 1 else []
        observation, after = text_and_screen(seen)
        turns.append((answer, Step(move.thought, move.action, observation, command_of(info), screen=after)))
    return []


def judge_rows(
    labels: Callable[[Trajectory], Sequence[Judgement]],
    prompts: StepPrompts,
    model: JudgeModel,
    trajectories: Sequence[Trajectory],
    *,
    steps: int,
    label_noise: float,
    seed: int,
) -> list[Row]:
    """Demonstrations for a judge: random steps of these trajectories with their heuristic labels.

    Args:
        labels: Makes the heuristic labels of every step of an episode.
        prompts: Prompts and answers of the judge.
        model: The judge.
        trajectories: Episodes of the warm-started policy.
        steps: Maximum steps to sample.
        label_noise: Share of scores that are flipped, 0 to 1, so that the judge starts with room to learn.
        seed: Seed of the sampling and of the noise.
    """
    rng = np.random.default_rng(seed)
    places = [(t, i) for t, trajectory in enumerate(trajectories) for i in range(len(trajectory.steps))]
    chosen = rng.permutation(len(places))[:steps]
    flipped = rng.random(len(chosen)) < label_noise
    read = [prompts.prompts(trajectory) for trajectory in trajectories]
    judged = [labels(trajectory) for trajectory in trajectories]
    rows = []
    for place, flip in zip(chosen, flipped, strict=True):
        t, i = places[place]
        label = judged[t][i]
        judgement = Judgement(label.reason, -label.score if flip else label.score)
        rows.append(row_of(read[t][i], model.template.answer(prompts.judgement(judgement))))
    return rows
