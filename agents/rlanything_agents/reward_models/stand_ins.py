"""Groups of tasks without a verifier: their outcomes are hidden, and what stands in for them is a rank in the group."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import product
from typing import Any, TypeVar

import numpy as np

from rlanything_agents.config import VerifierConfig
from rlanything_agents.feedback import mean_votes, ranked_outcomes
from rlanything_agents.feedback.arrays import Floats
from rlanything_agents.rollout.group import RolloutGroup
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_task_pools import Outcome

__all__ = ["hidden", "pool_outcomes", "stand_in"]

G = TypeVar("G", bound=RolloutGroup)


def hidden(episodes: Sequence[Trajectory]) -> list[Trajectory]:
    """The episodes without their results: each has failed with a score of 0, or was ended by the infrastructure."""
    return [e if e.outcome is None else dataclasses.replace(e, outcome=-1, score=0.0) for e in episodes]


def stand_in(
    groups: Sequence[G], judged: Sequence[G], played: Sequence[Sequence[Trajectory]], config: VerifierConfig
) -> tuple[list[G], list[G], dict[str, Any]]:
    """Put ranks in the place of hidden outcomes.

    Args:
        groups: Groups that models learn from, with hidden outcomes where there is no verifier.
        judged: The same groups as they were judged, before any deliberate noise.
        played: Their episodes as they were played.
        config: Says which slots are hidden, and what stands in for them.

    Returns:
        The groups that models learn from; the judged ones with the true outcomes, for the curves; and how well the
        first stand for the second, as metrics. Nothing changes, and there are no metrics, where nothing is hidden.
    """
    if not config.hides_any:
        return list(groups), list(judged), {}
    ranked = [_ranked(group, config) if config.hides(group.assignment.slot) else group for group in groups]
    true = _with_outcomes(judged, played)
    return ranked, true, {"verifier": _order_of_hidden(ranked, true, config)}


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


def _ranked(group: G, config: VerifierConfig) -> G:
    outcomes = ranked_outcomes(_worth(group, config))
    return dataclasses.replace(
        group,
        trajectories=[
            dataclasses.replace(t, outcome=None if np.isnan(outcome) else int(outcome))
            for t, outcome in zip(group.trajectories, outcomes, strict=True)
        ],
    )


def _worth(group: RolloutGroup, config: VerifierConfig) -> Floats:
    """Worth of each episode, shape (n,); NaN for one that is masked or has no steps."""
    if config.others == "shorter":
        worth = [-float(len(t.steps)) for t in group.trajectories]
    else:
        worth = [float(mean_votes(scores).mean()) if len(scores) else np.nan for scores in group.scores()]
    return np.array([np.nan if t.outcome is None else w for t, w in zip(group.trajectories, worth, strict=True)])


def _order_of_hidden(
    groups: Sequence[RolloutGroup], true: Sequence[RolloutGroup], config: VerifierConfig
) -> dict[str, Any]:
    """How well the stand-ins order what is hidden, for the curves alone.

    Args:
        groups: Groups with stand-ins.
        true: The same groups with their outcomes.
        config: Says which slots are hidden.

    Returns:
        ``hidden``: number of episodes without a verifier. ``ordered``: of the pairs of a solved and a failed one of the
        same group, the share that the stand-ins put in this order, pairs with equal stand-ins counting half (.5 is
        chance); None without such a pair.
    """
    pairs: list[float] = []
    episodes = 0
    for group, known in zip(groups, true, strict=True):
        if not config.hides(group.assignment.slot):
            continue
        both = [(s, o) for s, o in zip(group.outcomes, known.outcomes, strict=True) if s is not None and o is not None]
        episodes += len(both)
        solved, failed = [s for s, o in both if o == 1], [s for s, o in both if o == -1]
        pairs += [0.5 + 0.25 * (one - other) for one, other in product(solved, failed)]
    return {"hidden": episodes, "ordered": float(np.mean(pairs)) if pairs else None}
