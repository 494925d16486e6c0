"""Outcomes by rank, and groups whose outcomes are no verifier's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_agents.feedback import FeedbackConfig, batch_feedback, feedback_stats, ranked_outcomes

WORTH = st.lists(st.one_of(st.just(float("nan")), st.integers(-8, 8).map(lambda k: k / 4)), max_size=9)


@pytest.mark.parametrize(
    ("worth", "outcomes"),
    [
        ([], []),
        ([0.5], [-1]),
        ([0.1, 0.4, -0.3, 0.2], [-1, 1, -1, 1]),
        ([1, 2, 3], [-1, -1, 1]),
        ([1, 1, 1, 1], [-1] * 4),  # no spread
        ([0, 0, 0, 1], [-1, -1, -1, 1]),  # what ties with the median has failed
        ([0, 1, 1, 1], [-1] * 4),
        ([float("nan"), 2, 1], [np.nan, 1, -1]),
        ([float("nan")] * 2, [np.nan] * 2),
        ([0.1 + 0.2, 0.3], [-1, -1]),  # equal up to rounding
    ],
)
def test_above_the_median_is_success(worth: list[float], outcomes: list[float]) -> None:
    np.testing.assert_array_equal(ranked_outcomes(np.array(worth, dtype=float)), np.array(outcomes, dtype=float))


@given(WORTH, st.integers(-5, 5), st.integers(1, 5))
def test_the_order_alone_counts(worth: list[float], shift: int, scale: int) -> None:
    values = np.array(worth, dtype=float)
    found = ranked_outcomes(values)
    np.testing.assert_array_equal(found, ranked_outcomes(scale * values + shift))
    valid = ~np.isnan(values)
    np.testing.assert_array_equal(np.isnan(found), ~valid)
    assert (found[valid] > 0).sum() <= valid.sum() / 2
    if (found[valid] > 0).any():
        assert values[valid][found[valid] > 0].min() > values[valid][found[valid] < 0].max()


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
