"""A rollout group with the votes of a reward model on its steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from rlanything_agents.feedback import GroupFeedback
from rlanything_agents.reward_models.step_judge import StepVotes
from rlanything_agents.rollout.group import RolloutGroup
from rlanything_envs.curriculum.summary import MAX_REASON, JudgedEpisode, JudgedStep

__all__ = ["JudgedGroup", "score_matrix"]


@dataclass(frozen=True, slots=True)
class JudgedGroup(RolloutGroup):
    """A rollout group with votes on its steps.

    Attributes:
        votes: The judge's votes per trajectory and step; empty for a step that was not judged.
    """

    votes: list[list[StepVotes]]

    def scores(self) -> list[np.ndarray]:
        """Scores of the votes on each trajectory, one array of shape (steps, votes) each."""
        return [score_matrix(steps) for steps in self.votes]

    def forecasts(self) -> list[np.ndarray]:
        """Chances that the answers on each trajectory forecast, shaped as `scores`; NaN for one that is no forecast."""
        return [
            np.array(
                [[np.nan if vote.sampled is None else vote.sampled for vote in step.votes] for step in steps]
            ).reshape(len(steps), len(steps[0].votes) if steps else 0)
            for steps in self.votes
        ]

    def flipped(self) -> Self:
        """The same group with the opposite sign of every vote."""
        return replace(self, votes=[[_flipped(step) for step in steps] for steps in self.votes])

    def judged_episodes(self) -> list[JudgedEpisode]:
        """The episodes with their votes and the texts of these, as input of a critique; a forecast judges no step."""
        return [
            JudgedEpisode(
                goal=self.assignment.task.goal,
                steps=tuple(
                    JudgedStep(step.action, step.full, () if _forecast(judged) else judged.scores, _reasons(judged))
                    for step, judged in zip(trajectory.steps, steps, strict=True)
                ),
                success=trajectory.success,
                opening=trajectory.full_opening,
            )
            for trajectory, steps in zip(self.trajectories, self.votes, strict=True)
        ]

    def records(self, iteration: int, feedback: GroupFeedback) -> Iterator[dict[str, Any]]:
        """One record per episode, with the judgements, the reward and the advantage of each turn, ready for JSON."""
        for t, trajectory in enumerate(self.trajectories):
            rewards, advantages = feedback.rewards[t].tolist(), feedback.policy[t].tolist()
            yield {
                **self.header(t, iteration),
                "turns": [
                    {
                        **step.record(),
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
    """Scores of the votes on one trajectory, array of shape (steps, votes); NaN for a vote without a score."""
    votes = len(judged[0].scores) if judged else 0
    return np.array([step.scores for step in judged], dtype=np.float64).reshape(len(judged), votes)


def _forecast(judged: StepVotes) -> bool:
    return any(vote.sampled is not None for vote in judged.votes)


def _reasons(judged: StepVotes) -> tuple[str, ...]:
    """The texts of the votes that a model wrote, each from its end where its score stands."""
    return tuple(vote.text[-MAX_REASON:] for vote in judged.votes if vote.token_ids)


def _flipped(step: StepVotes) -> StepVotes:
    votes = [vote if vote.score is None else replace(vote, score=-vote.score) for vote in step.votes]
    return replace(step, votes=tuple(votes))
