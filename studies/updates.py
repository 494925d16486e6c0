"""Kinds of updates that the alignment study compares: the weight of each step's gradient in a small batch.

At its first optimizer step an update is linear in the advantages: the sum over the steps of a batch of advantage times
the gradient of the mean log-probability of the step's tokens, over the number of steps with an advantage (the loss
``grpo``). So one pass over the episodes gives the gradients of steps, and each kind of update is a list of factors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlanything_agents.feedback import FeedbackConfig, batch_feedback

__all__ = ["Group", "Kind", "factors", "kinds_of", "success_factors"]

Floats = NDArray[np.float64]

CREDIT = {"potential": "return", "trained judge, return": "return"}
"""Sources of step rewards with another credit rule than ``vote``, the step's own vote."""
VOTES = {"trained judge, return": "trained judge"}
"""Sources that share the votes of another."""
GROUPS: Mapping[str, Mapping[str, object]] = {
    "dropped": {},
    "included": {"policy_band": None},
    "masked": {"shared_weight": 0.0},
}
"""What becomes of groups, and step indices, that share one outcome: the paper's filter drops such groups; without it
they teach by step rewards alone; the preset ``masked`` leaves out such step indices of the other groups too."""
PLAIN, OUTCOME = "plain policy gradient", "outcome"


@dataclass(frozen=True, slots=True)
class Group:
    """Episodes of one task in a small batch.

    Attributes:
        outcomes: 1 or -1 for each episode.
        votes: By source, votes of shape (steps, votes) on each episode.
        tokens: Number of sampled tokens of each step of each episode.
    """

    outcomes: Sequence[int]
    votes: Mapping[str, Sequence[Floats]]
    tokens: Sequence[Floats]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of update.

    Attributes:
        source: Of the step rewards, `OUTCOME` (there are none), or `PLAIN` (the estimator of the reference).
        lam: Weight of the step rewards; 0 without.
        silent: A key of `GROUPS`; empty without step rewards.
    """

    source: str
    lam: float = 0.0
    silent: str = ""

    @property
    def feedback(self) -> FeedbackConfig:
        """Formulas of the advantages: the paper's, but for what this kind says."""
        changes = {"lam": self.lam, "credit": CREDIT.get(self.source, "vote"), **GROUPS.get(self.silent, {})}
        return FeedbackConfig.preset("paper").model_copy(update=changes)


def kinds_of(sources: Sequence[str], lams: Sequence[float]) -> list[Kind]:
    """Every kind of update: without step rewards, then each source with each weight and treatment of silent groups."""
    rewarded = [Kind(source, lam, silent) for source in sources for lam in lams for silent in GROUPS]
    return [Kind(PLAIN), Kind(OUTCOME), *rewarded]


def factors(kind: Kind, batch: Sequence[Group]) -> list[list[Floats]]:
    """Factor of each step's gradient in the update of a small batch: per group and episode, shape (steps,)."""
    if kind.source == PLAIN:
        return success_factors(batch)
    source = VOTES.get(kind.source, kind.source)
    groups = [(g.outcomes, g.votes[source] if kind.lam else [np.zeros((len(t), 0)) for t in g.tokens]) for g in batch]
    found = [group.policy for group in batch_feedback(groups, kind.feedback)]
    answers = sum(int(np.count_nonzero(steps)) for group in found for steps in group)
    return [[steps / max(1, answers) for steps in group] for group in found]


def success_factors(batch: Sequence[Group]) -> list[list[Floats]]:
    """Factors of the plain policy gradient of success, an unbiased estimate of it.

    The success of an episode, 1 or 0, less the mean of the other episodes of its task, times the gradient of the
    log-probability of all its tokens, and the mean of that over the episodes. The baseline does not depend on the
    episode, so it leaves the expectation alone; no spread is divided by, no group dropped, and no step or episode
    weighted by its length.
    """
    episodes = sum(len(group.outcomes) for group in batch)
    found = []
    for group in batch:
        solved = (np.asarray(group.outcomes) > 0).astype(np.float64)
        others = (solved.sum() - solved) / (len(solved) - 1)
        advantages = (solved - others) / episodes
        found.append([value * tokens for value, tokens in zip(advantages, group.tokens, strict=True)])
    return found
