"""Groups of tasks without a verifier: their outcomes are hidden, and a threshold on their scores stands in for them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from rlanything_agents.config import VerifierConfig
from rlanything_agents.feedback import mean_votes, outcomes_above, success_threshold
from rlanything_agents.feedback.arrays import Floats
from rlanything_agents.rollout.group import RolloutGroup
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_task_pools import Outcome

__all__ = ["hidden", "pool_outcomes", "stand_in"]

G = TypeVar("G", bound=RolloutGroup)
CALIBRATION = 128
"""Latest episodes with a verifier that the threshold is set on. More are surer, and older: of another policy, and of
another reward model where it is trained."""


def hidden(episodes: Sequence[Trajectory]) -> list[Trajectory]:
    """The episodes without their results: each has failed with a score of 0, or was ended by the infrastructure."""
    return [e if e.outcome is None else dataclasses.replace(e, outcome=-1, score=0.0) for e in episodes]


def stand_in(
    groups: Sequence[G],
    played: Sequence[Sequence[Trajectory]],
    config: VerifierConfig,
    before: Sequence[Mapping[str, Any]],
) -> tuple[list[G], list[G], dict[str, Any]]:
    """Put successes by a threshold in the place of hidden outcomes.

    Args:
        groups: Groups that models learn from, with hidden outcomes where there is no verifier.
        played: Their episodes as they were played.
        config: Says which slots are hidden, and what the score of an episode is.
        before: Metrics of all earlier iterations; the threshold is set on the scores in them, too.

    Returns:
        The groups that models learn from; the same with the true outcomes, for the curves; and metrics: the
        scores of episodes with a verifier, and how well the stand-ins agree with what is hidden. Nothing changes, and
        there are no metrics, where nothing is hidden.
    """
    if not config.hides_any:
        return list(groups), list(groups), {}
    verified = [group for group in groups if not config.hides(group.assignment.slot)]
    scored = [
        [float(score), outcome]
        for group in verified
        for score, outcome in zip(_scores(group, config), group.outcomes, strict=True)
        if outcome is not None and not np.isnan(score)
    ]
    known = [*(pair for row in before for pair in row["verifier"]["scored"]), *scored][-CALIBRATION:]
    pairs = np.array(known, dtype=np.float64).reshape(-1, 2)
    threshold = success_threshold(pairs[:, 0], pairs[:, 1])
    called = [_called(g, config, threshold) if config.hides(g.assignment.slot) else g for g in groups]
    true = _with_outcomes(groups, played)
    return called, true, {"verifier": {**_agreement(called, true, config), "scored": scored}}


def pool_outcomes(group: RolloutGroup, actor: str, config: VerifierConfig) -> list[Outcome]:
    """Records of the episodes for the task pool; without success where outcomes are hidden."""
    outcomes = group.pool_outcomes(actor)
    if not config.hides(group.assignment.slot):
        return outcomes
    return [outcome.model_copy(update={"success": None}) for outcome in outcomes]


def _with_outcomes(groups: Sequence[G], played: Sequence[Sequence[Trajectory]]) -> list[G]:
    """Groups with the outcomes of the same episodes as they were played; what was masked since stays so."""
    return [
        dataclasses.replace(
            group, trajectories=[_with_result(t, true) for t, true in zip(group.trajectories, episodes, strict=True)]
        )
        for group, episodes in zip(groups, played, strict=True)
    ]


def _with_result(trajectory: Trajectory, true: Trajectory) -> Trajectory:
    if trajectory.outcome is None:
        return trajectory
    return dataclasses.replace(trajectory, outcome=true.outcome, score=true.score)


def _called(group: G, config: VerifierConfig, threshold: float) -> G:
    outcomes = outcomes_above(threshold, _scores(group, config))
    return dataclasses.replace(
        group,
        trajectories=[
            dataclasses.replace(t, outcome=None if np.isnan(outcome) else int(outcome))
            for t, outcome in zip(group.trajectories, outcomes, strict=True)
        ],
    )


def _scores(group: RolloutGroup, config: VerifierConfig) -> Floats:
    """Score of each episode, shape (n,); NaN for one that is masked, or without votes."""
    if config.others == "shorter":
        scores = [-float(len(t.steps)) for t in group.trajectories]
    else:
        scores = [float(mean_votes(votes).mean()) if votes.size else np.nan for votes in group.scores()]
    return np.array([np.nan if t.outcome is None else s for t, s in zip(group.trajectories, scores, strict=True)])


def _agreement(
    groups: Sequence[RolloutGroup], true: Sequence[RolloutGroup], config: VerifierConfig
) -> dict[str, int | float | None]:
    """How well the stand-ins agree with what is hidden, for the curves alone.

    Args:
        groups: Groups with stand-ins.
        true: The same groups with their outcomes.
        config: Says which slots are hidden.

    Returns:
        ``hidden``: number of episodes without a verifier. ``precision``: share of those called solved that were.
        ``recall``: share of the solved ones that are called so. None without any.
    """
    pairs = [
        (called == 1, outcome == 1)
        for group, known in zip(groups, true, strict=True)
        if config.hides(group.assignment.slot)
        for called, outcome in zip(group.outcomes, known.outcomes, strict=True)
        if called is not None and outcome is not None
    ]
    called, solved = sum(c for c, _ in pairs), sum(s for _, s in pairs)
    right = sum(c and s for c, s in pairs)
    return {
        "hidden": len(pairs),
        "precision": right / called if called else None,
        "recall": right / solved if solved else None,
    }
