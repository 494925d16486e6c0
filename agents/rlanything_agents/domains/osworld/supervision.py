"""Supervision of desktops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlanything_agents.domains.osworld.expert import DesktopExpert
from rlanything_agents.domains.osworld.heuristic import heuristic_labels
from rlanything_agents.domains.osworld.judge_texts import judge_texts
from rlanything_agents.domains.supervision import StepSupervision
from rlanything_agents.reward_models.step_prompts import Judgement
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_envs.llm.choices import OneOf, Then
from rlanything_envs.osworld.short.words import REASONS, SCORES

__all__ = ["SUPERVISION", "OSWorldSupervision"]


class OSWorldSupervision(StepSupervision):
    """An expert on the programs, heuristic labels, true labels from the evaluator, and short judge texts."""

    form = Then((OneOf(REASONS), OneOf(tuple(f" {score}" for score in SCORES))))
    taught = ("short",)

    def expert(self, seed: int) -> DesktopExpert:
        """A fresh expert, for the short view."""
        return DesktopExpert(seed)

    def judge_texts(self, trajectory: Trajectory) -> list[str]:
        """See `judge_texts.judge_texts`."""
        return judge_texts(trajectory)

    def heuristic_labels(self, trajectory: Trajectory) -> list[Judgement]:
        """See `heuristic.heuristic_labels`."""
        return heuristic_labels(trajectory)

    def true_labels(self, payload: Mapping[str, Any], trajectory: Trajectory) -> list[int]:
        """See `labels.step_labels`."""
        from rlanything_agents.domains.osworld.labels import step_labels

        return step_labels(payload, [step.action for step in trajectory.steps])


SUPERVISION = OSWorldSupervision()
"""The one instance; it has no state."""
