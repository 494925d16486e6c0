"""The reward model's half: consistency rewards of votes, and their advantages over other votes."""

from __future__ import annotations

import numpy as np

from rlanything_agents.feedback.arrays import Floats, standardise_by


def judge_rewards(rewards: Floats, votes: Floats, *, unparsable_reward: float | None = None) -> Floats:
    """Raw consistency rewards ``R_i * S_ij`` of one trajectory's votes, shape (steps, m)."""
    unparsable = 0.0 * rewards if unparsable_reward is None else unparsable_reward + 0.0 * rewards
    raw: Floats = np.where(np.isnan(votes), unparsable[:, None], rewards[:, None] * votes)
    return raw


def judge_advantages(rewards: Floats, votes: Floats, *, unparsable_reward: float | None = None) -> Floats:
    """Consistency rewards standardised over the ``m`` votes of each step, shape (steps, m); all-equal rewards give 0.

    Votes of a masked trajectory, whose rewards are NaN, get 0.
    """
    if votes.size == 0 or np.isnan(rewards).any():
        return np.zeros_like(votes)
    raw = judge_rewards(rewards, votes, unparsable_reward=unparsable_reward)
    return standardise_by(raw.ravel(), np.repeat(np.arange(len(raw)), raw.shape[1])).reshape(raw.shape)
