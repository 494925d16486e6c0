"""Fixed panels: the policy's success on games it never trained on, and the judge's agreement with the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from transformers import PreTrainedModel

from rlanything_agents.config import EvaluationConfig
from rlanything_agents.dialect import Dialect
from rlanything_agents.metrics import JudgeQuality, judge_quality
from rlanything_agents.reward_model import GenerativeRewardModel, StepVotes
from rlanything_agents.rollout import rollout
from rlanything_agents.seeds import seed_of
from rlanything_agents.trajectory import Trajectory
from rlanything_task_pools import Domain, Task

__all__ = ["measure_judge", "panel_tasks", "play_panel", "score_matrix"]

PANEL_SEED = 20_000_000
"""First generator seed of the panels: the same games for every run, whatever the run's seed."""


def panel_tasks(domain: Domain, split: str, episodes: int) -> list[Task]:
    """The games of a panel, one per episode."""
    return [domain.generate(PANEL_SEED + number, split=split) for number in range(episodes)]


def play_panel(
    policy: PreTrainedModel,
    dialect: Dialect,
    envs: Sequence[gym.Env[Any, Any]],
    tasks: Sequence[Task],
    config: EvaluationConfig,
    *,
    constrained: bool,
    progress: Callable[[int], None] | None = None,
) -> list[Trajectory]:
    """Play every game of a panel once; the sampling seed is fixed, so two policies meet the same luck."""
    return rollout(
        policy,
        dialect,
        envs,
        tasks,
        max_steps=config.max_steps,
        seed=seed_of(PANEL_SEED, "sampling"),
        temperature=config.temperature,
        constrained=constrained,
        progress=progress,
    )


def score_matrix(judged: Sequence[StepVotes]) -> np.ndarray:
    """Votes of one trajectory, shape (steps, votes)."""
    return np.array([step.scores for step in judged], dtype=np.float64)


def measure_judge(
    reward_model: GenerativeRewardModel,
    trajectories: Sequence[Trajectory],
    payloads: Mapping[str, Mapping[str, Any]],
    *,
    votes: int,
    temperature: float,
    seed: int,
) -> JudgeQuality:
    """Compare the judge's votes with the true step labels of the domain.

    Args:
        reward_model: The judge.
        trajectories: What it judges; those without an outcome (infrastructure errors) are left out.
        payloads: World of each task by task id, from which the truth is computed.
        votes: Samples per step.
        temperature: Of the sampling.
        seed: Of the sampling.
    """
    whole = [trajectory for trajectory in trajectories if trajectory.outcome is not None and trajectory.steps]
    judged = reward_model.judge(whole, votes=votes, seed=seed, temperature=temperature)
    dialect = reward_model.dialect
    return judge_quality(
        [score_matrix(steps) for steps in judged],
        [np.array(dialect.true_labels(payloads[t.task_id], t.steps)) for t in whole],
        [int(t.outcome or 0) for t in whole],
    )
