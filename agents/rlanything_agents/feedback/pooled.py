"""Baseline of outcomes without a spread: the other episodes of a group, shrunk towards the other groups.

A group of four or eight knows its own success rate badly, and an iteration has many groups. So the mean of the other
episodes of the group is drawn towards the mean of the other groups, the further the less the group knows and the more
alike the groups are (James and Stein; for policy gradients arXiv 2511.03710). An episode's own outcome has no part in
its baseline, nor in how far that is drawn, so the mean gradient stays that of success.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rlanything_agents.feedback.arrays import Floats

__all__ = ["pooled_baselines"]


def pooled_baselines(groups: Sequence[Floats]) -> list[Floats]:
    """Baseline of each episode's outcome.

    With ``n`` the number of the other episodes of its group, ``noise`` the mean variance within the other groups and
    ``between`` the variance of their true means, the weight of the pool is ``(noise / n) / (noise / n + between)``.

    Args:
        groups: Outcomes of each group, shape (episodes,); NaN masks an episode.

    Returns:
        Arrays of the same shapes; NaN for a masked episode, the own outcome where there is nothing to compare with.
    """
    known = [outcomes[~np.isnan(outcomes)] for outcomes in groups]
    return [
        _baselines(outcomes, [other for h, other in enumerate(known) if h != g and other.size])
        for g, outcomes in enumerate(groups)
    ]


def _baselines(outcomes: Floats, others: Sequence[Floats]) -> Floats:
    valid = ~np.isnan(outcomes)
    rest = int(valid.sum()) - 1
    if rest < 1 and not others:
        return outcomes.copy()
    pool = float(np.mean([other.mean() for other in others])) if others else 0.0
    share = _share(rest, others)
    own = (outcomes[valid].sum() - outcomes) / rest if rest > 0 else np.zeros(len(outcomes))
    return np.where(valid, (1 - share) * own + share * pool, np.nan)


def _share(rest: int, others: Sequence[Floats]) -> float:
    """Weight of the pool; 0 where two other groups with a variance are missing."""
    if rest < 1:
        return 1.0
    inside = [(other.mean(), other.var(ddof=1), len(other)) for other in others if len(other) > 1]
    if len(inside) < 2:
        return 0.0
    means, variances, sizes = (np.array(column) for column in zip(*inside, strict=True))
    noise = float(variances.mean()) / rest
    between = max(0.0, float(means.var(ddof=1)) - float((variances / sizes).mean()))
    return noise / (noise + between) if noise else 0.0
