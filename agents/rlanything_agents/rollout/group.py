"""Rollout group: all episodes of one task in one iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from rlanything_agents.config.feedback import FeedbackConfig
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_envs.curriculum import Assignment, TrialRole
from rlanything_task_pools import Outcome

__all__ = ["RolloutGroup", "has_spread", "rewarded_outcomes", "success_by_role"]


@dataclass(frozen=True, slots=True)
class RolloutGroup:
    """All episodes of one task in one iteration; subclasses add the judgements of a reward model.

    Attributes:
        assignment: Task, slot and role.
        trajectories: Episodes of the task.
        ahead: Whether they were played with the weights before the last update.
    """

    assignment: Assignment
    trajectories: list[Trajectory]
    ahead: bool = field(default=False, kw_only=True)

    @property
    def outcomes(self) -> list[int | None]:
        """Outcome of each episode: 1, -1, or None for an infrastructure failure."""
        return [trajectory.outcome for trajectory in self.trajectories]

    def pool_outcomes(self, actor: str) -> list[Outcome]:
        """Records of the episodes for the task pool."""
        return [
            Outcome(success=t.success, score=t.score, steps=len(t.steps), actor=actor, role=self.assignment.role)
            for t in self.trajectories
        ]

    def readable(self) -> list[np.ndarray]:
        """Whether each answer held an action, one array of shape (steps,) per trajectory: 1, 0, or NaN if unknown."""
        kinds = {"": np.nan, "unreadable": 0.0}
        return [np.array([kinds.get(step.command, 1.0) for step in t.steps]) for t in self.trajectories]

    def states(self) -> list[list[str]]:
        """State of each step of each trajectory: the message that the policy answered, in its view."""
        return [[t.opening, *(step.observation for step in t.steps)][: len(t.steps)] for t in self.trajectories]

    def scores(self) -> list[np.ndarray]:
        """Votes on each trajectory, one array of shape (steps, votes) with NaN for an unparsable vote; here no
        votes."""
        return [np.zeros((len(trajectory.steps), 0)) for trajectory in self.trajectories]

    def header(self, t: int, iteration: int) -> dict[str, Any]:
        """Record of an episode besides its turns; messages are the environment's own, whatever the view."""
        place = {"iteration": iteration, "slot": self.assignment.slot, "role": self.assignment.role}
        return {**place, "goal": self.assignment.task.goal, **self.trajectories[t].record()}


def rewarded_outcomes(episodes: Sequence[Trajectory], feedback: FeedbackConfig) -> list[int | None]:
    """Outcome of each episode that models learn from: None for an infrastructure failure, and for an overlong episode
    where ``feedback.overlong`` masks it.
    """
    masks = feedback.overlong == "mask"
    return [None if masks and episode.overlong else episode.outcome for episode in episodes]


def has_spread(outcomes: Sequence[int | None]) -> bool:
    """Whether some of these outcomes are successes and others failures."""
    return {1, -1} <= set(outcomes)


def success_by_role(groups: Sequence[RolloutGroup]) -> Mapping[str, float | None]:
    """Success rate on the tasks of each role; None for a role without a valid outcome."""
    rates: dict[str, float | None] = {}
    for role in get_args(TrialRole):
        of_role = [group for group in groups if group.assignment.role == role]
        solved = [outcome == 1 for group in of_role for outcome in group.outcomes if outcome is not None]
        rates[role] = sum(solved) / len(solved) if solved else None
    return rates
