"""Hooks: what somebody wants to see or change between two steps of an iteration.

A hook is passed to `train` or to a `Loop`. Records, monitors, trackers and the interventions of studies are hooks; the
loop knows none of them by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rlanything_agents.reward_models.reviewer import Review
from rlanything_agents.rollout.group import RolloutGroup
from rlanything_envs.curriculum import Curriculum

__all__ = ["DropRejected", "Hook", "Iteration"]


@dataclass(frozen=True, slots=True)
class Iteration:
    """Result of an iteration.

    Attributes:
        row: One row of ``metrics.jsonl``; hooks may add keys.
        episodes: One record per episode, with the judgements of its turns, ready for JSON.
    """

    row: dict[str, Any]
    episodes: list[dict[str, Any]]


class Hook:
    """Base class of hooks, which changes nothing; override what you need.

    What a hook returns must depend on its arguments and its own settings alone: an iteration that was interrupted is
    run again.
    """

    def judged(self, groups: list[Any], iteration: int) -> list[Any]:
        """Called when the reward model has answered.

        Args:
            groups: A `RolloutGroup` with votes or written tests for each task.
            iteration: Number of the iteration, from 1.

        Returns:
            The groups that models and curriculum learn from. Curves show the given ones.
        """
        return groups

    def reviewed(self, review: Review, groups: list[RolloutGroup], iteration: int) -> Review:
        """Called before the models are updated; returns the review that they learn from."""
        return review

    def iterated(self, iteration: Iteration) -> None:
        """Called when an iteration has ended. The hooks of a caller come before those that store it."""


class DropRejected(Hook):
    """Models learn nothing from a group with which the curriculum rejects its candidate, as published.

    Args:
        curriculum: Decides.
    """

    def __init__(self, curriculum: Curriculum) -> None:
        self._curriculum = curriculum

    def reviewed(self, review: Review, groups: list[RolloutGroup], iteration: int) -> Review:
        """The review without the groups of rejected candidates; nothing is reported to the curriculum yet."""
        rejects = self._curriculum.rejects
        return review.without(
            {number for number, group in enumerate(groups) if rejects(group.assignment, group.pool_outcomes(""))}
        )
