"""Hooks: what somebody wants to see or change between two steps of an iteration.

A hook is passed to `train` or `Loop`. Interventions of studies are hooks; the loop knows none of them by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlanything_agents.reward_models.reviewer import Review
from rlanything_agents.rollout.group import RolloutGroup

__all__ = ["Hook"]


class Hook:
    """Base class of hooks, which changes nothing; override what you need.

    What a hook returns must depend on its arguments and its own settings alone: an iteration that was interrupted is
    run again.
    """

    def judged(self, groups: list[Any], iteration: int) -> list[Any]:
        """Called when the reward model has voted.

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

    def iterated(self, row: Mapping[str, Any]) -> None:
        """Called when an iteration is stored, with its row of ``metrics.jsonl``."""
