"""Outcomes by a threshold, and groups whose outcomes are no verifier's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_agents.feedback import (
    FeedbackConfig,
    batch_feedback,
    feedback_stats,
    outcomes_above,
    success_threshold,
)

NAN, INF = float("nan"), float("inf")
SCORE = st.one_of(st.just(NAN), st.integers(-8, 8).map(lambda k: k / 4))
EPISODES = st.lists(st.tuples(SCORE, st.sampled_from([1.0, -1.0, NAN])), max_size=12)


@pytest.mark.parametrize(
    ("scores", "outcomes", "threshold"),
    [
        ([], [], INF),
        ([0.5], [-1], INF),
        ([0.5], [1], -INF),
        ([0.1, 0.4, -0.3, 0.2], [-1, 1, -1, 1], 0.15),
        ([1, 2, 3, 4], [-1, -1, 1, 1], 2.5),
        ([1, 2, 3, 4], [-1, 1, -1, 1], 3.5),  # one error below 2 or below 4: the higher
        ([1, 2, 3, 4], [1, -1, -1, -1], INF),  # scores that say the opposite
        ([1, 2, 3, 4, 5], [1, 1, 1, 1, -1], -INF),
        ([1, 1, 1], [1, 1, -1], -INF),  # equal scores are not told apart
        ([0.1 + 0.2, 0.3], [1, -1], INF),  # equal up to rounding
        ([NAN, 1, 2, 9], [1, -1, 1, NAN], 1.5),
    ],
)
def test_the_threshold_with_the_fewest_errors(scores: list[float], outcomes: list[float], threshold: float) -> None:
    assert success_threshold(np.array(scores, float), np.array(outcomes, float)) == pytest.approx(threshold)


@given(EPISODES)
def test_no_other_threshold_has_fewer_errors(episodes: list[tuple[float, float]]) -> None:
    scores, outcomes = np.array(episodes, float).reshape(-1, 2).T
    found = success_threshold(scores, outcomes)

    known = ~np.isnan(scores) & ~np.isnan(outcomes)

    def called(threshold: float) -> list[float]:
        return list(outcomes_above(threshold, scores)[known])

    def errors(threshold: float) -> int:
        return sum(one != outcome for one, outcome in zip(called(threshold), outcomes[known], strict=True))

    for other in (-INF, INF, *np.arange(-17, 19, 2) / 8):
        higher = other > found and called(other) != called(found)
        assert errors(found) < errors(other) if higher else errors(found) <= errors(other)


@given(st.lists(SCORE, max_size=9), st.integers(-9, 9))
def test_outcomes_above(scores: list[float], threshold: int) -> None:
    found = outcomes_above(threshold / 4, np.array(scores, float))
    assert [None if np.isnan(o) else o for o in found] == [
        None if np.isnan(s) else 1.0 if s > threshold / 4 else -1.0 for s in scores
    ]


def test_stand_ins_teach_the_policy_and_not_the_judge() -> None:
    votes = [np.array([[1.0, -1.0]] * 2), np.array([[1.0, -1.0]] * 2)]
    config = FeedbackConfig(reliability="batch", policy_band=None, judge_band=None)
    groups = [([1, -1], votes), ([-1, 1], votes)]
    true, stand_in = batch_feedback(groups, config, verified=[True, False])
    assert all(a.any() for a in true.judge)
    assert not any(a.any() for a in stand_in.judge)
    assert [a.tolist() for a in stand_in.policy] == [[-1, -1], [1, 1]]
    assert (true.judge_kept, stand_in.judge_kept, true.verified, stand_in.verified) == (True, False, True, False)
    stats = feedback_stats([true, stand_in])
    assert (stats.judge_kept, stats.policy_kept, stats.p_plus, stats.accuracy) == (0.5, 1.0, 0.5, 0.5)


def test_reliability_is_measured_where_there_is_a_verifier() -> None:
    right = [np.full((2, 2), 1.0), np.full((2, 2), -1.0)]
    config = FeedbackConfig(reliability="batch", policy_band=None, judge_band=None)
    groups = [([1, -1], right), ([-1, 1], right)]  # votes agree with the first group and contradict the second
    assert [g.lam for g in batch_feedback(groups, config, verified=[True, False])] == [1.0, 1.0]
    assert [g.lam for g in batch_feedback(groups, config)] == [0.0, 0.0]
