"""Supervision of ALFWorld."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlanything_agents.domains.alfworld.expert import ExploringExpert
from rlanything_agents.domains.alfworld.heuristic import heuristic_labels
from rlanything_agents.domains.alfworld.judge_texts import judge_texts
from rlanything_agents.domains.supervision import StepSupervision
from rlanything_agents.reward_models.step_prompts import Judgement
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_envs.alfworld.words import REASONS, SCORES
from rlanything_envs.llm.choices import OneOf, Then

__all__ = ["SUPERVISION", "AlfWorldSupervision"]


class AlfWorldSupervision(StepSupervision):
    """An exploring expert, heuristic labels, true labels from the planner, and short judge texts."""

    form = Then((OneOf(REASONS), OneOf(tuple(f" {score}" for score in SCORES))))

    def expert(self, seed: int) -> ExploringExpert:
        """A fresh exploring expert."""
        return ExploringExpert(seed)

    def judge_texts(self, trajectory: Trajectory) -> list[str]:
        """See `judge_texts.judge_texts`."""
        return judge_texts(trajectory)

    def heuristic_labels(self, trajectory: Trajectory) -> list[Judgement]:
        """See `heuristic.heuristic_labels`."""
        return heuristic_labels(trajectory)

    def true_labels(self, payload: Mapping[str, Any], trajectory: Trajectory) -> list[int]:
        """See `labels.step_labels`."""
        from rlanything_agents.domains.alfworld.labels import step_labels

        return step_labels(payload, [step.action for step in trajectory.steps])

    def potentials(self, payload: Mapping[str, Any], trajectory: Trajectory) -> list[float]:
        """See `labels.potentials`."""
        from rlanything_agents.domains.alfworld.labels import potentials

        return potentials(payload, [step.action for step in trajectory.steps])


SUPERVISION = AlfWorldSupervision()
"""The one instance; it has no state."""
