"""Hook that votes with the planner in the place of a reward model: what would a perfect judge be worth?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from rlanything_agents.config import RunConfig
from rlanything_agents.domains.supervision import get_supervision
from rlanything_agents.feedback import potential_votes
from rlanything_agents.reward_models.step_judge import StepVotes
from rlanything_agents.reward_models.step_reviewer import label_votes
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.runs.hooks import Hook
from rlanything_task_pools import Task
from studies.plan import StudyError

__all__ = ["Source", "TrueVotes"]

Source = Literal["oracle", "potential"]


class TrueVotes(Hook):
    """Votes from the ground truth of a domain.

    Args:
        config: The run; ``judge.votes`` should be 0, so that no reward model is asked.
        source: ``oracle``: the planner's labels. ``potential``: differences of potentials (`potential_votes`), the
            potential of a state being minus the planner's remaining steps over those at the start; with ``credit:
            return`` and ``gamma: 1`` the return from a step on is the progress until the end.
    """

    def __init__(self, config: RunConfig, source: Source) -> None:
        self._supervision: Any = get_supervision(config.domain)
        self._source, self._gamma = source, config.feedback.gamma

    def judged(self, groups: list[Any], iteration: int) -> list[Any]:
        """The groups with one true vote on each step.

        Raises:
            StudyError: The domain has no such truth.
        """
        return [
            replace(group, votes=[self._votes(group.assignment.task, t) for t in group.trajectories])
            for group in groups
        ]

    def _votes(self, task: Task, trajectory: Trajectory) -> list[StepVotes]:
        known = self._supervision
        found = (known.true_labels if self._source == "oracle" else known.potentials)(task.payload, trajectory)
        if found is None:
            raise StudyError(f"votes {self._source!r}: the domain {task.domain} has no such truth; leave the key out")
        if self._source == "oracle":
            return label_votes(found)
        return label_votes(potential_votes(found, self._gamma).ravel().tolist())
