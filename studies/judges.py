"""Judges with one interface: reward models of runs, heuristic labels and true labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rlanything_agents.domains.supervision import StepSupervision, get_step_supervision
from rlanything_agents.reward_models.judged_group import score_matrix
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.parts import RunParts
from studies.jobs import weights_of
from studies.plan import StudyError

__all__ = ["Judge", "Votes", "heuristic_judge", "model_judge", "true_judge", "true_labels"]

Votes = list[NDArray[np.float64]]
"""Votes on each trajectory, shape (steps, votes)."""
Payloads = Mapping[str, Mapping[str, Any]]
"""Id of a task -> its payload."""


class Judge(Protocol):
    """Source of votes on steps. The votes on a step depend on nothing that comes after it."""

    def __call__(self, shown: Sequence[Trajectory], seed: int) -> Votes:
        """Votes on the steps of each trajectory.

        Args:
            shown: Trajectories, whose outcomes are not read.
            seed: Seed of the sampling.
        """
        ...


def model_judge(parts: RunParts, run: Path, votes: int) -> Judge:
    """Judge of the reward model of a run; the models of ``parts`` get its weights whenever it is called.

    Args:
        parts: Of a run with the same models.
        run: Folder of the run whose reward model judges.
        votes: Samples on each step.

    Raises:
        StudyError: The run has no final weights.
        ConfigError: The reward model does not judge steps.
    """
    weights = weights_of(RunFolder(run)) / "judge"
    reward_model = get_step_supervision(parts.config.domain).reviewer(parts.config, parts.judge_model).judge

    def judge(shown: Sequence[Trajectory], seed: int) -> Votes:
        parts.learners.judge.load_weights(weights)
        judged = reward_model.judge(shown, votes=votes, seed=seed, temperature=parts.config.judge.temperature)
        return [score_matrix(steps) for steps in judged]

    return judge


def heuristic_judge(supervision: StepSupervision) -> Judge:
    """One vote on each step: the heuristic label that warm starts teach."""

    def judge(shown: Sequence[Trajectory], seed: int) -> Votes:
        return [_column([label.score for label in supervision.heuristic_labels(t)]) for t in shown]

    return judge


def true_judge(supervision: StepSupervision, payloads: Payloads) -> Judge:
    """One vote on each step: the true label."""

    def judge(shown: Sequence[Trajectory], seed: int) -> Votes:
        return [_column(true_labels(supervision, payloads, t)) for t in shown]

    return judge


def true_labels(supervision: StepSupervision, payloads: Payloads, trajectory: Trajectory) -> list[int]:
    """True labels of the steps of a trajectory.

    Raises:
        StudyError: The domain has none.
    """
    labels = supervision.true_labels(payloads[trajectory.task_id], trajectory)
    if labels is None:
        raise StudyError(f"nobody knows the true labels of {trajectory.task_id}: take a domain that has them")
    return labels


def _column(labels: Sequence[float]) -> NDArray[np.float64]:
    return np.array(labels, dtype=np.float64)[:, None]
