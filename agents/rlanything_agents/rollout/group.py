"""What one iteration played and what was said about it, and how that is written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_envs.curriculum import Assignment
from rlanything_task_pools import Outcome

__all__ = ["RolloutGroup", "success_by_role"]


@dataclass(frozen=True, slots=True)
class RolloutGroup:
    """All episodes of one task in one iteration.

    A reward model of some kind adds what it said of them.

    Attributes:
        assignment: The task, and why it was played.
        trajectories: Its episodes.
    """

    assignment: Assignment
    trajectories: list[Trajectory]

    @property
    def outcomes(self) -> list[int | None]:
        """Outcome of each episode."""
        return [trajectory.outcome for trajectory in self.trajectories]

    def pool_outcomes(self, actor: str) -> list[Outcome]:
        """The episodes as the pool records them."""
        return [
            Outcome(success=t.success, score=t.score, steps=len(t.steps), actor=actor, role=self.assignment.role)
            for t in self.trajectories
        ]

    def scores(self) -> list[np.ndarray]:
        """What the reward model said of each trajectory, one array each of 1, -1 and 0 (nothing)."""
        return [np.zeros((len(trajectory.steps), 0)) for trajectory in self.trajectories]

    def flipped(self, rng: np.random.Generator, share: float) -> Self:
        """The same group with a share of what the reward model said flipped."""
        return self

    def header(self, t: int, iteration: int) -> dict[str, Any]:
        """Record of an episode besides its turns; messages are the environment's own, whatever the view."""
        trajectory = self.trajectories[t]
        return {
            "iteration": iteration,
            "slot": self.assignment.slot,
            "role": self.assignment.role,
            "goal": self.assignment.task.goal,
            **{k: v for k, v in trajectory.to_dict().items() if k not in ("tag", "message", "steps")},
            "opening": trajectory.full_opening,
        }


def success_by_role(groups: Sequence[RolloutGroup]) -> Mapping[str, float | None]:
    """Share of episodes won on active tasks, on candidates and on roots beside them; None where there was none."""
    rates: dict[str, float | None] = {}
    for role in ("active", "candidate", "root"):
        played = [group for group in groups if group.assignment.role == role]
        ended = [outcome == 1 for group in played for outcome in group.outcomes if outcome is not None]
        rates[role] = sum(ended) / len(ended) if ended else None
    return rates
