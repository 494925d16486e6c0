"""What is imitated: an expert's episodes, and a rule of thumb's judgements with noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import gymnasium as gym
import numpy as np

from rlanything_agents.rollout.dialect import Judgement, StepDialect
from rlanything_agents.rollout.rollout import rollout
from rlanything_agents.rollout.trajectory import Trajectory, outcome_of
from rlanything_agents.training.imitation import Row

if TYPE_CHECKING:
    from rlanything_agents.runs.parts import RunParts

__all__ = ["ExpertLessons", "Lessons", "demonstrate", "judge_rows"]


class Lessons(Protocol):
    """What the models of a domain are warmed up with."""

    def policy(self, parts: RunParts) -> list[Row]:
        """What the policy imitates."""
        ...

    def judge(self, parts: RunParts) -> list[Row]:
        """What the reward model imitates; asked for when the policy is warm."""
        ...


class ExpertLessons:
    """An exploring expert's episodes for the policy, a rule of thumb's judgements with noise for the judge.

    Args:
        dialect: Has both.
    """

    def __init__(self, dialect: StepDialect) -> None:
        self.dialect = dialect

    def policy(self, parts: RunParts) -> list[Row]:
        """Episodes that the expert won."""
        settings = parts.config.warm_start
        tasks = parts.train_tasks("demonstrations", settings.demonstrations)
        with parts.reporter.stage("Demonstrations", len(tasks)) as stage:
            return demonstrate(
                self.dialect,
                parts.envs[0],
                tasks,
                max_steps=settings.max_steps,
                seed=parts.seed("expert"),
                progress=stage.add,
            )

    def judge(self, parts: RunParts) -> list[Row]:
        """Steps of the warm-started policy, labelled by the rule of thumb with noise."""
        settings, played = parts.config.warm_start, parts.config.rollout
        tasks = parts.train_tasks("judge", -(-settings.judge_steps // max(1, played.max_steps // 2)))
        trajectories = rollout(
            parts.learners.player,
            parts.dialect,
            parts.envs,
            tasks,
            max_steps=played.max_steps,
            seed=parts.seed("judge", "rollout"),
            temperature=played.temperature,
            constrained=played.constrained,
        )
        return judge_rows(
            self.dialect,
            trajectories,
            steps=settings.judge_steps,
            label_noise=settings.label_noise,
            seed=parts.seed("judge", "labels"),
        )


def demonstrate(
    dialect: StepDialect,
    env: gym.Env[Any, Any],
    tasks: Sequence[Any],
    *,
    max_steps: int,
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> list[Row]:
    """Let the domain's expert play, and keep what it won.

    Args:
        dialect: Has the expert and the tokens.
        env: Where it plays, one episode after the other.
        tasks: What ``reset(options={"task": ...})`` takes.
        max_steps: An episode that has not ended by then is lost.
        seed: Seed of the expert.
        progress: Called with 1 after each episode.

    Returns:
        One row per episode won: thoughts and commands are learnt, messages and deliberate mistakes are read.
    """
    rows = []
    for number, task in enumerate(tasks):
        row = _demonstration(
            dialect, env, task, max_steps, int(np.random.SeedSequence((seed, number)).generate_state(1)[0])
        )
        if row is not None:
            rows.append(row)
        if progress is not None:
            progress(1)
    return rows


def _demonstration(dialect: StepDialect, env: gym.Env[Any, Any], task: Any, max_steps: int, seed: int) -> Row | None:
    expert = dialect.expert(seed)
    observation, info = env.reset(options={"task": task})
    ids = dialect.opening(observation)
    learnt = [False] * len(ids)
    for _ in range(max_steps):
        move = expert.act(observation, info.get("admissible_commands", ()))
        turn = [*dialect.thought(move.thought), *dialect.command(move.action)]
        ids += turn
        learnt += [move.exemplary] * len(turn)
        observation, _, terminated, truncated, info = env.step(move.action)
        if terminated or truncated:
            return Row(ids, learnt) if outcome_of(info)[0] == 1 else None
        message = dialect.message(observation)
        ids += message
        learnt += [False] * len(message)
    return None


def judge_rows(
    dialect: StepDialect, trajectories: Sequence[Trajectory], *, steps: int, label_noise: float, seed: int
) -> list[Row]:
    """What a judge is warmed up with: steps of these trajectories under the dialect's rule of thumb.

    Args:
        dialect: Has the rule of thumb and the tokens.
        trajectories: Episodes of the policy that is going to be judged.
        steps: How many steps to take, at random.
        label_noise: Share of scores that are turned round, so that the judge starts with room to learn.
        seed: Seed of the choice and of the noise.
    """
    rng = np.random.default_rng(seed)
    places = [(t, i) for t, trajectory in enumerate(trajectories) for i in range(len(trajectory.steps))]
    chosen = rng.permutation(len(places))[:steps]
    flipped = rng.random(len(chosen)) < label_noise
    prompts = [dialect.judge_prompts(trajectory.opening, trajectory.steps) for trajectory in trajectories]
    opinions = [dialect.opinions(trajectory.opening, trajectory.steps) for trajectory in trajectories]
    rows = []
    for place, flip in zip(chosen, flipped, strict=True):
        t, i = places[place]
        opinion = opinions[t][i]
        judgement = Judgement(opinion.reason, -opinion.score if flip else opinion.score)
        prompt = prompts[t][i]
        response = dialect.judgement(judgement)
        rows.append(Row([*prompt, *response], [False] * len(prompt) + [True] * len(response)))
    return rows
