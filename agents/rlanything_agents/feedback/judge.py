"""The reward model's half: consistency rewards of votes, and their advantages over other votes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rlanything_agents.config.feedback import FeedbackConfig
from rlanything_agents.feedback.arrays import FeedbackError, Floats, Indices, standardise_by
from rlanything_agents.feedback.policy import integrated_rewards

Kinds = Sequence[Sequence[Sequence[str]]]
"""``kinds[g][t][i]``: kind of step ``i`` of trajectory ``t`` of group ``g``."""


def judge_rewards(rewards: Floats, votes: Floats, *, unparsable_reward: float | None = None) -> Floats:
    """Raw consistency rewards ``R_i * S_ij`` of one trajectory's votes, shape (steps, m)."""
    unparsable = 0.0 * rewards if unparsable_reward is None else unparsable_reward + 0.0 * rewards
    raw: Floats = np.where(np.isnan(votes), unparsable[:, None], rewards[:, None] * votes)
    return raw


def judge_advantages(rewards: Floats, votes: Floats, *, unparsable_reward: float | None = None) -> Floats:
    """Consistency rewards standardised over the ``m`` votes of each step; all-equal rewards give 0."""
    if votes.size == 0 or np.isnan(rewards).any():
        return np.zeros_like(votes)
    raw = judge_rewards(rewards, votes, unparsable_reward=unparsable_reward)
    return standardise_by(raw.ravel(), np.repeat(np.arange(len(raw)), raw.shape[1])).reshape(raw.shape)


def batch_judge_advantages(
    groups: Sequence[tuple[Floats, Sequence[Floats]]],
    kept: Sequence[bool],
    config: FeedbackConfig,
    kinds: Kinds | None = None,
) -> list[list[Floats]]:
    """Compute the advantages of all votes of a batch.

    Args:
        groups: Outcomes of shape (n,) and votes, one array (steps, m) per trajectory, of each group.
        kept: Whether each group passes the filter; votes on other groups get 0 and enter no mean.
        config: Settings; uses ``lam``, ``unparsable_reward`` and ``judge_baseline``.
        kinds: Kinds of the steps, for ``judge_baseline="kind"``.

    Returns:
        ``advantages[g][t]`` of shape (steps, m).

    Raises:
        FeedbackError: Kinds are missing, or there is not one for each step.
    """
    places = [
        (g, t)
        for g, (outcomes, _) in enumerate(groups)
        if kept[g]
        for t in range(len(outcomes))
        if not np.isnan(outcomes[t])
    ]
    names = [_labels(config, kinds, g, t, len(groups[g][1][t])) for g, t in places]
    advantages = [[np.zeros_like(scores) for scores in votes] for _, votes in groups]
    if not places:
        return advantages
    raws = []
    for g, t in places:
        outcomes, votes = groups[g]
        (rewards,) = integrated_rewards(outcomes[t : t + 1], [votes[t]], lam=config.lam)
        raws.append(judge_rewards(rewards, votes[t], unparsable_reward=config.unparsable_reward))
    number = {name: n for n, name in enumerate(dict.fromkeys(name for row in names for name in row))}
    labels: list[Indices] = [
        np.repeat(np.array([number[name] for name in row], dtype=np.intp), raw.shape[1])
        for row, raw in zip(names, raws, strict=True)
    ]
    standard = standardise_by(np.concatenate([raw.ravel() for raw in raws]), np.concatenate(labels))
    ends = np.cumsum([raw.size for raw in raws])
    for (g, t), values in zip(places, np.split(standard, ends[:-1]), strict=True):
        advantages[g][t] = values.reshape(advantages[g][t].shape)
    return advantages


def _labels(config: FeedbackConfig, kinds: Kinds | None, g: int, t: int, steps: int) -> Sequence[object]:
    """Label of each step of a trajectory; votes on steps with the same label are standardised together."""
    if config.judge_baseline == "step":
        return [(g, t, i) for i in range(steps)]
    if config.judge_baseline == "batch":
        return [None] * steps
    if kinds is None:
        raise FeedbackError("judge_baseline 'kind' needs the kind of each step: pass kinds=")
    try:
        row = kinds[g][t]
    except IndexError:
        row = ()
    if len(row) != steps:
        raise FeedbackError(f"kinds of group {g}, trajectory {t}: {len(row)} for {steps} steps; give one for each")
    return row
