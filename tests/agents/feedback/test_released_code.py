"""The preset `reference` against the rules of the released code (Open-AgentRL, ``reward/alfworld_rl_reward.py`` at
1fe5dbd), written down again from what it does: plain Python, one number after the other.

An episode's outcome is 1 or -1, a vote 1, -1, or None where it cannot be read.
"""

from __future__ import annotations

from math import sqrt
from statistics import fmean

import numpy as np
import pytest

from rlanything_agents.feedback import PRESETS, group_feedback

Votes = list[list[list[int | None]]]


def deviations(values: list[float], least: float) -> list[float]:
    """Distances from the mean in population deviations; zeros where they are all alike."""
    mean = fmean(values)
    spread = sqrt(fmean([(value - mean) ** 2 for value in values]))
    return [(value - mean) / spread if spread > least else 0.0 for value in values]


def policy_of(outcomes: list[int], votes: Votes) -> list[list[float]]:
    """Outcome plus mean vote, one that cannot be read being 0; compared with the episodes that come as far.

    A step that one episode alone comes to keeps its reward as it is. Groups below 1/8 and above 7/8 teach nothing.
    """
    rewards = [
        [end + fmean(vote or 0 for vote in step) for step in steps] for end, steps in zip(outcomes, votes, strict=True)
    ]
    if not 1 / 8 <= outcomes.count(1) / len(outcomes) <= 7 / 8:
        return [[0.0] * len(row) for row in rewards]
    for number in range(max(map(len, rewards))):
        there = [row for row in rewards if len(row) > number]
        if len(there) > 1:
            for row, value in zip(there, deviations([row[number] for row in there], 1e-8), strict=True):
                row[number] = value
    return rewards


def judge_of(outcomes: list[int], votes: Votes) -> list[list[list[float]]]:
    """The step's reward times the vote, -2 for one that cannot be read; compared with the other votes on the step.

    Groups below .2 and above .8 teach nothing.
    """
    if not 0.2 <= outcomes.count(1) / len(outcomes) <= 0.8:
        return [[[0.0] * len(step) for step in steps] for steps in votes]
    return [
        [
            deviations([-2.0 if vote is None else (end + fmean(v or 0 for v in step)) * vote for vote in step], 0.0)
            for step in steps
        ]
        for end, steps in zip(outcomes, votes, strict=True)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_random_groups_agree(seed: int) -> None:
    """Groups of 2 to 10 episodes of 1 to 8 steps, 1 to 5 votes, one in ten of which cannot be read."""
    rng = np.random.default_rng(seed)
    taught = judged = 0
    for _ in range(250):
        size, m, rate = int(rng.integers(2, 11)), int(rng.integers(1, 6)), rng.random()
        outcomes = [1 if rng.random() < rate else -1 for _ in range(size)]
        votes: Votes = [
            [
                [None if rng.random() < 0.1 else int(rng.choice((-1, 1))) for _ in range(m)]
                for _ in range(rng.integers(1, 9))
            ]
            for _ in range(size)
        ]
        group = group_feedback(outcomes, votes, PRESETS["reference"])
        for ours, theirs in zip(group.policy, policy_of(outcomes, votes), strict=True):
            assert ours == pytest.approx(theirs, rel=0, abs=1e-12)
        for mine, released in zip(group.judge, judge_of(outcomes, votes), strict=True):
            assert mine == pytest.approx(np.array(released), rel=0, abs=1e-12)
        taught += any(row.any() for row in group.policy)
        judged += any(row.any() for row in group.judge)
    assert taught > judged > 50


def test_it_tells_the_preset_from_the_paper() -> None:
    """A lone step and a vote that cannot be read: the formulas of the paper say nothing of them."""
    outcomes, votes = [1, -1], [[[1, -1]], [[None, 1], [1, 1]]]
    paper = group_feedback(outcomes, votes, PRESETS["paper"])
    assert policy_of(outcomes, votes)[1][1] == 0.0 == paper.policy[1][1], "-1 and 1 cancel"
    votes[1][1] = [1, None]
    assert policy_of(outcomes, votes)[1][1] == -0.5
    assert group_feedback(outcomes, votes, PRESETS["paper"]).policy[1][1] == 0
    assert judge_of(outcomes, votes)[1][0] == [-1, 1]
    assert group_feedback(outcomes, votes, PRESETS["paper"]).judge[1][0].tolist() == [1, -1]
