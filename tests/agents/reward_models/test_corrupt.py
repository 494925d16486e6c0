"""What the learners are told when outcomes or votes are flipped."""

import dataclasses

import pytest

from rlanything_agents.config import CorruptConfig
from rlanything_agents.reward_models.corrupt import corrupt_groups
from rlanything_agents.reward_models.judged_group import JudgedGroup
from rlanything_agents.reward_models.step_judge import StepVotes, Vote
from rlanything_agents.rollout.trajectory import Step, Trajectory
from rlanything_envs.curriculum import Assignment
from rlanything_task_pools.alfworld import DOMAIN

STEPS = tuple(Step("find cup", f"go to shelf {k}", "Nothing.") for k in range(5))


def group(slot: int, outcomes: list[int | None], scores: tuple[float | None, ...] = (1, -1, None)) -> JudgedGroup:
    trajectories = [
        Trajectory("task", "", "A room.", STEPS, outcome, "", 0.0, [1], [2], [0], [-0.1], [None])
        for outcome in outcomes
    ]
    votes = StepVotes([1], tuple(Vote(str(score), score, [3], [-0.2]) for score in scores))
    return JudgedGroup(Assignment(slot, DOMAIN.generate(0), "active"), trajectories, [[votes] * 5 for _ in outcomes])


GROUPS = [group(0, [1, -1, None, 1]), group(1, [-1, -1, -1, -1])]


def test_everything_turned_round() -> None:
    told, counts = corrupt_groups(GROUPS, CorruptConfig(outcomes=1, votes=1), seed=0, iteration=1)
    assert [g.outcomes for g in told] == [[-1, 1, None, -1], [1, 1, 1, 1]]
    assert all(step.scores == (-1, 1, None) for g in told for steps in g.votes for step in steps)
    # Seven episodes with an outcome; eight of five steps with two votes that have a score.
    assert counts == {"outcomes": 7, "votes": 80}
    (vote, *_), (true, *_) = told[0].votes[0][0].votes, GROUPS[0].votes[0][0].votes
    assert vote == dataclasses.replace(true, score=-1)  # its text and tokens are what was sampled
    assert [g.outcomes for g in GROUPS] == [[1, -1, None, 1], [-1] * 4]


def test_outcomes_and_votes_are_turned_round_by_themselves() -> None:
    told, counts = corrupt_groups(GROUPS, CorruptConfig(votes=1), seed=0, iteration=1)
    assert [g.outcomes for g in told] == [g.outcomes for g in GROUPS]
    assert counts == {"outcomes": 0, "votes": 80}
    told, counts = corrupt_groups(GROUPS, CorruptConfig(outcomes=1), seed=0, iteration=1)
    assert [g.votes for g in told] == [g.votes for g in GROUPS]
    assert counts == {"outcomes": 7, "votes": 0}


def test_a_share_is_that_share_and_part_of_a_larger_one() -> None:
    groups = [group(slot, [1, -1] * 100) for slot in range(4)]
    turned = {}
    for share in (0.1, 0.3):
        told, counts = corrupt_groups(groups, CorruptConfig(outcomes=share, votes=share), seed=7, iteration=3)
        # 800 episodes and 8000 scored votes: within four standard errors.
        assert counts["outcomes"] == pytest.approx(800 * share, abs=4 * (800 * share * (1 - share)) ** 0.5)
        assert counts["votes"] == pytest.approx(8000 * share, abs=4 * (8000 * share * (1 - share)) ** 0.5)
        turned[share] = {
            (g, t)
            for g, (true, false) in enumerate(zip(groups, told, strict=True))
            for t, (a, b) in enumerate(zip(true.outcomes, false.outcomes, strict=True))
            if a != b
        }
    assert turned[0.1] < turned[0.3]


def test_every_iteration_and_seed_is_told_something_else() -> None:
    groups, config = [group(0, [1] * 64)], CorruptConfig(outcomes=0.5)
    told = {
        tuple(corrupt_groups(groups, config, seed, iteration)[0][0].outcomes)
        for seed, iteration in ((0, 1), (0, 2), (1, 1), (0, 1))
    }
    assert len(told) == 3
