"""Lessons of the supervised warm start: an expert's episodes for the policy, noisy heuristic labels for the judge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from rlanything_agents.config import RunConfig
from rlanything_agents.domains.supervision import StepSupervision, Unsupervised
from rlanything_agents.reward_models.judge_model import JudgeModel
from rlanything_agents.reward_models.step_prompts import Judgement, StepPrompts
from rlanything_agents.rollout.renderer import Renderer
from rlanything_agents.rollout.rollout import Policy, rollout
from rlanything_agents.rollout.trajectory import Trajectory, outcome_of
from rlanything_agents.training.imitation import Row, row_of
from rlanything_task_pools import Task

__all__ = ["ExpertLessons", "Lessons", "School", "demonstrate", "judge_rows"]


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


class ExpertLessons:
    """An expert's episodes for the policy, heuristic labels with noise for the judge.

    Args:
        supervision: Makes experts and heuristic labels.

    Raises:
        Unsupervised: By both methods: there are no lessons in the run's view.
    """

    def __init__(self, supervision: StepSupervision) -> None:
        self.supervision = supervision

    def policy(self, school: School) -> list[Row]:
        """Rows of the episodes that the expert solved."""
        self._check(school)
        settings = school.config.warm_start
        tasks = school.train_tasks("demonstrations", settings.demonstrations)
        with school.reporter.stage("Demonstrations", len(tasks)) as stage:
            return demonstrate(
                self.supervision,
                school.actor.renderer,
                school.envs[0],
                tasks,
                max_steps=settings.max_steps,
                seed=school.seed("expert"),
                progress=stage.add,
            )

    def judge(self, school: School) -> list[Row]:
        """Rows of steps of the warm-started policy, with noisy heuristic labels."""
        self._check(school)
        settings, play = school.config.warm_start, school.config.rollout
        tasks = school.train_tasks("judge", -(-settings.judge_steps // max(1, play.max_steps // 2)))
        trajectories = rollout(
            school.actor,
            school.envs,
            tasks,
            max_steps=play.max_steps,
            seed=school.seed("judge", "rollout"),
            temperature=play.temperature,
            constrained=play.constrained,
        )
        return judge_rows(
            self.supervision,
            self.supervision.prompts(school.config, school.judge_model),
            school.judge_model,
            trajectories,
            steps=settings.judge_steps,
            label_noise=settings.label_noise,
            seed=school.seed("judge", "labels"),
        )

    def _check(self, school: School) -> None:
        if school.config.view not in self.supervision.taught:
            raise Unsupervised(
                f"the domain {school.config.domain!r} has no lessons in the {school.config.view} view: set "
                f"environment.view to {self.supervision.taught[0]}, or leave the models' lessons off"
            )


def demonstrate(
    supervision: StepSupervision,
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
        supervision: Makes the expert.
        renderer: Renders the episodes for the model that imitates them.
        env: Environment of all episodes, one after the other.
        tasks: Values for ``reset(options={"task": ...})``, one per episode.
        max_steps: Most steps of an episode; one that has not ended by then has failed.
        seed: Seed of the expert.
        progress: Called with 1 after each episode.

    Returns:
        One row per solved episode. Answers are learnt; messages and deliberate mistakes are context only.
    """
    rows = []
    for number, task in enumerate(tasks):
        own = int(np.random.SeedSequence((seed, number)).generate_state(1)[0])
        row = _demonstration(supervision, renderer, env, task, max_steps, own)
        if row is not None:
            rows.append(row)
        if progress is not None:
            progress(1)
    return rows


def _demonstration(
    supervision: StepSupervision, renderer: Renderer, env: gym.Env[Any, Any], task: Any, max_steps: int, seed: int
) -> Row | None:
    expert = supervision.expert(seed)
    observation, info = env.reset(options={"task": task})
    ids = renderer.opening(observation)
    learnt = [False] * len(ids)
    for _ in range(max_steps):
        move = expert.act(observation, info)
        plain = renderer.view.name == "full" and move.plain
        answer = renderer.answer(plain or move.thought, move.action)
        ids += answer
        learnt += [move.exemplary] * len(answer)
        observation, _, terminated, truncated, info = env.step(move.action)
        if terminated or truncated:
            return Row(ids, learnt) if outcome_of(info)[0] == 1 else None
        message = renderer.message(observation)
        ids += message
        learnt += [False] * len(message)
    return None


def judge_rows(
    supervision: StepSupervision,
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
        supervision: Makes the heuristic labels.
        prompts: Prompts and answers of the judge.
        model: The judge.
        trajectories: Episodes of the warm-started policy.
        steps: Most steps to sample.
        label_noise: Share of scores that are flipped, 0 to 1, so that the judge starts with room to learn.
        seed: Seed of the sampling and of the noise.
    """
    rng = np.random.default_rng(seed)
    places = [(t, i) for t, trajectory in enumerate(trajectories) for i in range(len(trajectory.steps))]
    chosen = rng.permutation(len(places))[:steps]
    flipped = rng.random(len(chosen)) < label_noise
    read = [prompts.prompts(trajectory) for trajectory in trajectories]
    labels = [supervision.heuristic_labels(trajectory) for trajectory in trajectories]
    rows = []
    for place, flip in zip(chosen, flipped, strict=True):
        t, i = places[place]
        label = labels[t][i]
        judgement = Judgement(label.reason, -label.score if flip else label.score)
        rows.append(row_of(read[t][i], model.template.answer(prompts.judgement(judgement))))
    return rows
