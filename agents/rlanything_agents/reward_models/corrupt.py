"""Falsifies what was played before anything learns from it: how much does the loop bear?"""

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
    """Turn a share of outcomes and votes round, each on its own.

    What is drawn has streams of its own: nothing else of a run changes with it, and with a larger share the same
    episodes and votes are flipped and more besides.

    Args:
        groups: As they were played and judged.
        config: The shares.
        seed: Of the run.
        iteration: Number of the iteration.

    Returns:
        The groups as the learners get to see them, and how many outcomes and votes were flipped. Episodes
        without an outcome and votes without a score stay as they are.
    """
    episodes, votes = rng_of(seed, "corrupt", "outcomes", iteration), rng_of(seed, "corrupt", "votes", iteration)
    told = [
        dataclasses.replace(
            group, trajectories=[_outcome(t, episodes.random() < config.outcomes) for t in group.trajectories]
        ).flipped(votes, config.votes)
        for group in groups
    ]
    return told, _count(groups, told)


def _outcome(trajectory: Trajectory, turned: bool) -> Trajectory:
    if not turned or trajectory.outcome is None:
        return trajectory
    return dataclasses.replace(trajectory, outcome=-trajectory.outcome)


def _count(groups: Sequence[RolloutGroup], told: Sequence[RolloutGroup]) -> dict[str, int]:
    outcomes = votes = 0
    for true, false in zip(groups, told, strict=True):
        outcomes += sum(a != b for a, b in zip(true.outcomes, false.outcomes, strict=True))
        for one, other in zip(true.scores(), false.scores(), strict=True):
            votes += int(np.count_nonzero(one != other))
    return {"outcomes": outcomes, "votes": votes}
