"""Selection of the judged steps that train the reward model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rlanything_agents.feedback.arrays import FeedbackError
from rlanything_agents.feedback.batch import GroupFeedback


class StepIndex(NamedTuple):
    """Indices of a judged step: group, trajectory in the group, step in the trajectory."""

    group: int
    trajectory: int
    step: int


def judged_steps(
    groups: Sequence[GroupFeedback], rng: np.random.Generator, *, balance: bool = True, limit: int | None = None
) -> list[StepIndex]:
    """Select steps with a non-zero advantage of the reward model, in ascending order.

    Failed trajectories are longer than solved ones, so without balancing most training targets are -1, and the
    reward model collapses to that answer. With balancing the larger side is thinned at random to the size of the
    smaller one; if one side is empty, no steps are left. Steps of groups that teach the format alone are on neither
    side, since what a vote says does not matter there; they fill what the limit leaves.

    Args:
        groups: Feedback on the groups.
        rng: Random generator of the selection; the same state gives the same steps.
        balance: Whether to keep equal numbers of steps from solved and from failed trajectories.
        limit: Maximum steps altogether.

    Raises:
        FeedbackError: ``limit`` is negative.
    """
    if limit is not None and limit < 0:
        raise FeedbackError(f"limit {limit}: the number of judged steps cannot be negative")
    sides: tuple[list[StepIndex], list[StepIndex]] = ([], [])
    formats: list[StepIndex] = []
    for g, group in enumerate(groups):
        for t, advantages in enumerate(group.judge):
            for i in np.flatnonzero(np.any(advantages != 0, axis=1)):
                side = formats if group.judge_format else sides[int(group.outcomes[t] > 0)]
                side.append(StepIndex(g, t, int(i)))
    if not balance:
        return sorted(_thin(sides[0] + sides[1] + formats, limit, rng))
    size = min(len(sides[0]), len(sides[1]))
    if limit is not None:
        size = min(size, limit // 2)
    steps = _thin(sides[0], size, rng) + _thin(sides[1], size, rng)
    return sorted(steps + _thin(formats, None if limit is None else limit - len(steps), rng))


def _thin(steps: list[StepIndex], size: int | None, rng: np.random.Generator) -> list[StepIndex]:
    if size is None or size >= len(steps):
        return steps
    return [steps[k] for k in rng.choice(len(steps), size=size, replace=False)]
