"""Episodes that were cut off at the context, as a failure and as no reward at all."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from rlanything_agents.config import RunConfig
from rlanything_agents.reward_models.judged_group import JudgedGroup
from rlanything_agents.reward_models.step_judge import StepVotes, Vote
from rlanything_agents.reward_models.step_reviewer import StepReviewer
from rlanything_agents.rollout.group import has_spread, rewarded_outcomes
from rlanything_agents.rollout.trajectory import Step, Trajectory
from rlanything_envs.curriculum import Assignment
from rlanything_task_pools.alfworld import DOMAIN


def episode(outcome: int | None, *, overlong: bool = False) -> Trajectory:
    steps = (Step("", "go to shelf 1", "Nothing."),)
    return Trajectory("task", "", "A room.", steps, outcome, "", 0.0, [1], [2], [0], [-0.1], [None], overlong=overlong)


def vote(*scores: int) -> list[StepVotes]:
    return [StepVotes([1], tuple(Vote(str(score), score, [3], [-0.2]) for score in scores))]


# One step each with two votes that differ: solved, failed, and cut off.
EPISODES = [episode(1), episode(-1), episode(-1, overlong=True)]
GROUP = JudgedGroup(Assignment(0, DOMAIN.generate(0), "active"), EPISODES, [vote(1, -1), vote(1, -1), vote(1, -1)])


def review(overlong: str) -> Any:
    feedback = {"overlong": overlong, "policy_band": None, "judge_band": None}
    config = RunConfig.model_validate({"name": "a", "feedback": feedback})
    return StepReviewer(config, None, lambda *_: None).review([GROUP])  # type: ignore[arg-type]


def test_as_a_failure_it_counts_in_every_mean() -> None:
    """Rewards 1, -1, -1: mean -1/3, deviation sqrt(8)/3."""
    found = review("fail")
    (group,) = found.feedback
    assert np.concatenate(group.policy) == pytest.approx([math.sqrt(2), -math.sqrt(0.5), -math.sqrt(0.5)])
    assert [a.tolist() for a in group.judge] == [[[1.0, -1.0]], [[-1.0, 1.0]], [[-1.0, 1.0]]]
    assert group.accuracy == pytest.approx(1 / 3)
    assert (found.stats()["masked"], found.stats()["policy_samples"], found.stats()["judge_samples"]) == (0, 3, 6)


def test_masked_it_is_no_reward_for_either_model_and_not_in_their_means() -> None:
    """Rewards 1 and -1 are left: mean 0, deviation 1."""
    found = review("mask")
    (group,) = found.feedback
    assert np.concatenate(group.policy).tolist() == [1.0, -1.0, 0.0]
    assert [a.tolist() for a in group.judge] == [[[1.0, -1.0]], [[-1.0, 1.0]], [[0.0, 0.0]]]
    assert group.accuracy == 0.5
    assert (found.stats()["masked"], found.stats()["policy_samples"], found.stats()["judge_samples"]) == (1, 2, 4)
    records = found.records(0, iteration=1)
    assert [record.get("overlong", False) for record in records] == [False, False, True]
    assert records[2]["turns"][0]["reward"] is None


def test_in_the_pool_it_is_a_failure_in_any_case() -> None:
    assert [outcome.success for outcome in GROUP.pool_outcomes("policy")] == [True, False, False]


def test_a_masked_episode_is_no_spread() -> None:
    mask, fail = (
        RunConfig.model_validate({"name": "a", "feedback": {"overlong": o}}).feedback for o in ("mask", "fail")
    )
    solved = [episode(1), episode(1), episode(-1, overlong=True)]
    assert rewarded_outcomes(solved, mask) == [1, 1, None]
    assert (has_spread(rewarded_outcomes(solved, mask)), has_spread(rewarded_outcomes(solved, fail))) == (False, True)
    assert not has_spread([None, None])
    lost = dataclasses.replace(solved[2], outcome=None)
    assert rewarded_outcomes([lost], fail) == [None]
