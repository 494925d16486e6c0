"""Diagnostics of the feedback of an iteration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlanything_agents.feedback.arrays import Floats, flat, mean_of
from rlanything_agents.feedback.batch import GroupFeedback
from rlanything_agents.feedback.reliability import reliability


@dataclass(frozen=True, slots=True)
class FeedbackStats:
    """Diagnostics of one iteration; ``None`` where a value has no data. The first three and the accuracy are those of
    groups whose outcomes a verifier gave.

    Attributes:
        p_plus: P(S > 0) over the votes with a sign on solved trajectories (p_+ of Theorem 1).
        p_minus: P(S < 0) over the votes with a sign on failed trajectories (p_- of Theorem 1).
        mu: ``p_plus + p_minus``; above 1 the votes carry information about the outcome.
        lam: Weight of the reward model in the policy's rewards, after `FeedbackConfig.reliability`.
        mixed_rate: Share of judged steps with differing votes; near 0 the reward model has nothing to learn
            from.
        unparsable_rate: Share of votes that could not be parsed.
        accuracy: Share of solved trajectories.
        masked: Number of trajectories without a reward: infrastructure errors, and overlong ones where they are masked.
        policy_kept: Share of groups that pass the policy's filter.
        silent_kept: Share of groups from which the policy learns by the reward model's credit alone.
        judge_kept: Share of groups that pass the reward model's filter.
        policy_format: Share of groups that teach the policy the format alone.
        judge_format: Share of groups that teach the reward model the format alone.
        policy_samples: Step samples with a non-zero policy advantage.
        judge_samples: Votes with a non-zero advantage.
    """

    p_plus: float | None
    p_minus: float | None
    mu: float | None
    lam: float | None
    mixed_rate: float | None
    unparsable_rate: float | None
    accuracy: float | None
    masked: int
    policy_kept: float | None
    silent_kept: float | None
    judge_kept: float | None
    policy_format: float | None
    judge_format: float | None
    policy_samples: int
    judge_samples: int


def feedback_stats(groups: Sequence[GroupFeedback]) -> FeedbackStats:
    """Compute the diagnostics of the groups of one iteration; masked trajectories count only in ``masked``."""
    pairs = [(o, s) for g in groups for o, s in zip(g.outcomes, g.votes, strict=True) if not np.isnan(o)]
    measured = reliability(pairs)
    return FeedbackStats(
        p_plus=measured.p_plus,
        p_minus=measured.p_minus,
        mu=measured.mu,
        lam=mean_of(np.array([g.lam for g in groups])),
        mixed_rate=mean_of(flat([_mixed(s) for _, s in pairs if s.shape[1]])),
        unparsable_rate=mean_of(flat([np.isnan(s) for _, s in pairs])),
        accuracy=mean_of(np.array([o > 0 for o, _ in pairs])),
        masked=sum(int(np.isnan(g.outcomes).sum()) for g in groups),
        policy_kept=mean_of(np.array([g.policy_kept for g in groups])),
        silent_kept=mean_of(np.array([g.silent_kept for g in groups])),
        judge_kept=mean_of(np.array([g.judge_kept for g in groups])),
        policy_format=mean_of(np.array([g.policy_format for g in groups])),
        judge_format=mean_of(np.array([g.judge_format for g in groups])),
        policy_samples=sum(int(np.count_nonzero(a)) for g in groups for a in g.policy),
        judge_samples=sum(int(np.count_nonzero(a)) for g in groups for a in g.judge),
    )


def _mixed(votes: Floats) -> NDArray[np.bool_]:
    """Whether the votes on each step differ, shape (steps,); unparsable votes are equal among themselves."""
    mixed: NDArray[np.bool_] = (np.nan_to_num(votes, nan=np.inf) != np.nan_to_num(votes[:, :1], nan=np.inf)).any(axis=1)
    return mixed
