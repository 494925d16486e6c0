"""What one iteration played and what was said about it, and how that is written down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from rlanything_agents.feedback import GroupFeedback
from rlanything_agents.feedback.arrays import Floats
from rlanything_agents.reward_models.step_judge import StepVotes
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.training.samples import Sample
from rlanything_envs.curriculum import Assignment
from rlanything_envs.curriculum.critique import JudgedEpisode, JudgedStep
from rlanything_task_pools import Outcome

__all__ = ["JudgedGroup", "PlayedGroup", "policy_samples", "score_matrix", "success_by_role"]


@dataclass(frozen=True, slots=True)
class PlayedGroup:
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

    def turned(self, rng: np.random.Generator, share: float) -> Self:
        """The same group with a share of what the reward model said turned round."""
        return self

    def header(self, t: int, iteration: int) -> dict[str, Any]:
        """What is written down of an episode besides its turns."""
        return {
            "iteration": iteration,
            "slot": self.assignment.slot,
            "role": self.assignment.role,
            "goal": self.assignment.task.goal,
            **{k: v for k, v in self.trajectories[t].to_dict().items() if k not in ("tag", "steps")},
        }


@dataclass(frozen=True, slots=True)
class JudgedGroup(PlayedGroup):
    """A group whose steps were judged.

    Attributes:
        votes: Per trajectory and step, the judge's votes; empty ones where none was asked.
    """

    votes: list[list[StepVotes]]

    def scores(self) -> list[np.ndarray]:
        """Votes of each trajectory, shape (steps, votes)."""
        return [score_matrix(steps) for steps in self.votes]

    def step_kinds(self) -> list[list[str]]:
        """The kind of each step of each trajectory: the first word of its action."""
        return [[step.action.partition(" ")[0] for step in trajectory.steps] for trajectory in self.trajectories]

    def turned(self, rng: np.random.Generator, share: float) -> Self:
        """The same group with a share of its single votes turned round."""
        return replace(self, votes=[[_turned(step, rng, share) for step in steps] for steps in self.votes])

    def judged_episodes(self) -> list[JudgedEpisode]:
        """The episodes as whoever rewrites their task is told of them."""
        return [
            JudgedEpisode(
                goal=self.assignment.task.goal,
                steps=tuple(
                    JudgedStep(step.action, step.observation, judged.scores)
                    for step, judged in zip(trajectory.steps, steps, strict=True)
                ),
                success=trajectory.success,
                opening=trajectory.opening,
            )
            for trajectory, steps in zip(self.trajectories, self.votes, strict=True)
        ]

    def records(self, iteration: int, feedback: GroupFeedback) -> Iterator[dict[str, Any]]:
        """Every episode, with what was said about each turn and what came of it."""
        for t, trajectory in enumerate(self.trajectories):
            rewards, advantages = feedback.rewards[t].tolist(), feedback.policy[t].tolist()
            yield {
                **self.header(t, iteration),
                "turns": [
                    {
                        "thought": step.thought,
                        "action": step.action,
                        "observation": step.observation,
                        "command": step.command,
                        "judgements": [vote.text for vote in judged.votes],
                        "votes": list(judged.scores),
                        "reward": None if reward != reward else round(reward, 4),
                        "advantage": round(advantage, 4),
                    }
                    for step, judged, reward, advantage in zip(
                        trajectory.steps, self.votes[t], rewards, advantages, strict=True
                    )
                ],
            }


def score_matrix(judged: Sequence[StepVotes]) -> np.ndarray:
    """Votes of one trajectory, shape (steps, votes)."""
    votes = len(judged[0].scores) if judged else 0
    return np.array([step.scores for step in judged], dtype=np.float64).reshape(len(judged), votes)


def _turned(step: StepVotes, rng: np.random.Generator, share: float) -> StepVotes:
    turned = rng.random(len(step.votes)) < share
    if not turned.any():
        return step
    scores = [-vote.score if turn else vote.score for vote, turn in zip(step.votes, turned, strict=True)]
    return replace(step, votes=tuple(replace(v, score=score) for v, score in zip(step.votes, scores, strict=True)))


def policy_samples(groups: Sequence[PlayedGroup], advantages: Sequence[Sequence[Floats]]) -> list[Sample]:
    """What the policy learns from: the rows of each episode, one unless its turns have prompts of their own.

    Args:
        groups: The episodes.
        advantages: Of each group and trajectory one per step; an episode without any is left out.
    """
    return [
        sample
        for group, rows in zip(groups, advantages, strict=True)
        for trajectory, values in zip(group.trajectories, rows, strict=True)
        if values.any()
        for sample in trajectory.samples(values.tolist())
    ]


def success_by_role(groups: Sequence[PlayedGroup]) -> Mapping[str, float | None]:
    """Share of episodes won on active tasks, on candidates and on roots beside them; None where there was none."""
    rates: dict[str, float | None] = {}
    for role in ("active", "candidate", "root"):
        played = [group for group in groups if group.assignment.role == role]
        ended = [outcome == 1 for group in played for outcome in group.outcomes if outcome is not None]
        rates[role] = sum(ended) / len(ended) if ended else None
    return rates
