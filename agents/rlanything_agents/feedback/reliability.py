"""Reliability of the reward model's votes, measured on trajectories with a known outcome."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from rlanything_agents.feedback.arrays import Floats, flat, mean_of


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


def trust(mu: float | None) -> float:
    """Share of lambda for votes of this reliability, ``clip(mu - 1, 0, 1)``; 0 where mu is unknown."""
    return 0.0 if mu is None else float(np.clip(mu - 1.0, 0.0, 1.0))
