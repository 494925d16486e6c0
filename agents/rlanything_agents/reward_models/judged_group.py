"""A rollout group with the votes of a reward model on its steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from rlanything_agents.feedback import GroupFeedback
from rlanything_agents.reward_models.step_judge import StepVotes
from rlanything_agents.rollout.group import RolloutGroup
from rlanything_envs.curriculum.critique import JudgedEpisode, JudgedStep

__all__ = ["JudgedGroup", "score_matrix"]


@dataclass(frozen=True, slots=True)
class JudgedGroup(RolloutGroup):
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

    def flipped(self, rng: np.random.Generator, share: float) -> Self:
        """The same group with a share of its single votes flipped."""
        return replace(self, votes=[[_flipped(step, rng, share) for step in steps] for steps in self.votes])

    def judged_episodes(self) -> list[JudgedEpisode]:
        """The episodes as whoever rewrites their task is told of them."""
        return [
            JudgedEpisode(
                goal=self.assignment.task.goal,
                steps=tuple(
                    JudgedStep(step.action, step.full, judged.scores)
                    for step, judged in zip(trajectory.steps, steps, strict=True)
                ),
                success=trajectory.success,
                opening=trajectory.full_opening,
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


def _flipped(step: StepVotes, rng: np.random.Generator, share: float) -> StepVotes:
    turned = rng.random(len(step.votes)) < share
    if not turned.any():
        return step
    scores = [-vote.score if turn else vote.score for vote, turn in zip(step.votes, turned, strict=True)]
    return replace(step, votes=tuple(replace(v, score=score) for v, score in zip(step.votes, scores, strict=True)))
