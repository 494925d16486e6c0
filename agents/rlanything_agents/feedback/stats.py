"""Diagnostics of the feedback of an iteration, and the reliability of votes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlanything_agents.feedback.arrays import Floats, flat, mean_of
from rlanything_agents.feedback.batch import GroupFeedback


class Reliability(NamedTuple):
    """Quantities of Theorem 1, with the outcome of a trajectory in place of the true label of each step.

    Attributes:
        p_plus: P(S > 0) over the votes with a sign on solved trajectories; ``None`` without one. Unparsable votes and
            those of 0 have none.
        p_minus: P(S < 0) over the votes with a sign on failed trajectories; ``None`` without one.
    """

    p_plus: float | None
    p_minus: float | None

    @property
    def mu(self) -> float | None:
        """``p_plus + p_minus``: above 1 the votes carry information about the outcome; ``None`` if unknown."""
        return None if self.p_plus is None or self.p_minus is None else self.p_plus + self.p_minus


def reliability(judged: Iterable[tuple[float, Floats]]) -> Reliability:
    """Measure the agreement of votes with outcomes.

    Args:
        judged: Outcome and votes (steps, m) of each trajectory; trajectories with a NaN outcome do not count.
    """
    sides: dict[bool, list[Floats]] = {True: [], False: []}
    for outcome, votes in judged:
        if not np.isnan(outcome):
            sides[outcome > 0].append(np.sign(votes[(votes != 0) & ~np.isnan(votes)]))
    return Reliability(mean_of(flat(sides[True]) == 1), mean_of(flat(sides[False]) == -1))


@dataclass(frozen=True, slots=True)
class FeedbackStats:
    """Diagnostics of one iteration; ``None`` where a value has no data. The first three and the accuracy are those of
    groups whose outcomes a verifier gave.

    Attributes:
        p_plus: P(S > 0) over the votes with a sign on solved trajectories (p_+ of Theorem 1).
        p_minus: P(S < 0) over the votes with a sign on failed trajectories (p_- of Theorem 1).
        mu: ``p_plus + p_minus``; above 1 the votes carry information about the outcome.
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
