"""Episodes of scripted experts, as a judge reads them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import gymnasium as gym

from rlanything_agents.domains.lessons import Expert
from rlanything_agents.reward_models.step_reviewer import stored_trajectory
from rlanything_agents.rollout.trajectory import Step, Trajectory, outcome_of
from rlanything_task_pools import Task

__all__ = ["played"]


def played(expert: Expert, env: gym.Env[Any, Any], task: Task, max_steps: int) -> Trajectory:
    """Episode of an expert in the short view, without tokens."""
    opening, info = env.reset(options={"task": task})
    observation, first, steps = opening, info, list[Step]()
    for _ in range(max_steps):
        move = expert.act(observation, info)
        observation, reward, terminated, truncated, info = env.step(move.action)
        steps.append(Step(move.thought, move.action, observation, message=str(info.get("message", ""))))
        if terminated or truncated:
            break
    outcome, error = outcome_of(info)
    return stored_trajectory(
        {
            "task_id": task.id,
            "tag": "",
            "opening": opening,
            "message": str(first.get("message", "")),
            "steps": [asdict(step) for step in steps],
            "outcome": outcome or -1,
            "error": error,
            "score": float(reward),
        }
    )
