"""Corrupts outcomes and votes before anything is learnt from them, to measure how much noise the loop tolerates."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from rlanything_agents.config import CorruptConfig
from rlanything_agents.config.seeds import rng_of
from rlanything_agents.rollout.group import RolloutGroup
from rlanything_agents.rollout.trajectory import Trajectory

__all__ = ["corrupt_groups"]


def corrupt_groups(
    groups: Sequence[RolloutGroup], config: CorruptConfig, seed: int, iteration: int
) -> tuple[list[RolloutGroup], dict[str, int]]:
    """Flip a share of the outcomes and of the votes, each independently.

    Both draws have RNG streams of their own, so nothing else of a run changes with them, and a larger share flips a
    superset of what a smaller one flips.

    Args:
        groups: Judged groups with the true outcomes.
        config: The two shares, 0 to 1.
        seed: Seed of the run.
        iteration: Number of the iteration.

    Returns:
        The groups that the models learn from, and the numbers of flipped ``outcomes`` and ``votes``. Episodes without
        an outcome and votes without a score stay as they are.
    """
    episodes, votes = rng_of(seed, "corrupt", "outcomes", iteration), rng_of(seed, "corrupt", "votes", iteration)
    corrupted = [
        dataclasses.replace(
            group, trajectories=[_outcome(t, episodes.random() < config.outcomes) for t in group.trajectories]
        ).flipped(votes, config.votes)
        for group in groups
    ]
    return corrupted, _count(groups, corrupted)


def _outcome(trajectory: Trajectory, flip: bool) -> Trajectory:
    if not flip or trajectory.outcome is None:
        return trajectory
    return dataclasses.replace(trajectory, outcome=-trajectory.outcome)


def _count(groups: Sequence[RolloutGroup], corrupted: Sequence[RolloutGroup]) -> dict[str, int]:
    outcomes = votes = 0
    for true, false in zip(groups, corrupted, strict=True):
        outcomes += sum(a != b for a, b in zip(true.outcomes, false.outcomes, strict=True))
        for one, other in zip(true.scores(), false.scores(), strict=True):
            votes += int(np.count_nonzero(np.nan_to_num(one) != np.nan_to_num(other)))
    return {"outcomes": outcomes, "votes": votes}
