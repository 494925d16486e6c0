"""Reported numbers against hand-worked and published values."""

import numpy as np
import pytest

from rlanything_agents.feedback.metrics import action_shares, judge_quality, success_rate


def test_wilson_interval_of_a_textbook_case() -> None:
    # Wilson (1927), 95 %: 10 of 20 gives 0.299 to 0.701; 0 of 10 gives 0 to 0.278.
    half, none = success_rate([1] * 10 + [-1] * 10), success_rate([-1] * 10)
    assert (half.low, half.high) == pytest.approx((0.2993, 0.7007), abs=5e-4)
    assert (none.low, none.high) == pytest.approx((0.0, 0.2775), abs=5e-4)


def test_shares_of_actions_by_hand() -> None:
    turns = ["ok", "impossible", "", "unreadable", "ok", ""]
    assert action_shares(turns) == {"readable": 0.75, "admissible": 0.5}
    assert action_shares(["", ""]) == {"readable": None, "admissible": None}


def test_infrastructure_errors_are_no_losses() -> None:
    rate = success_rate([1, None, -1, None, 1])
    assert (rate.successes, rate.episodes, rate.errors) == (2, 3, 2)
    with pytest.raises(ValueError, match="no episode ended"):
        success_rate([None, None])


def test_intervals_apart() -> None:
    low, high = success_rate([1] * 30 + [-1] * 70), success_rate([1] * 60 + [-1] * 40)
    assert high.above(low)
    assert not low.above(high)
    assert not low.above(low)


def test_judge_quality_by_hand() -> None:
    scores = [np.array([[1, 1], [1, -1], [-1, np.nan]], dtype=float), np.array([[-1, -1]], dtype=float)]
    labels = [np.array([1, 1, -1]), np.array([1])]
    quality = judge_quality(scores, labels, [1, -1])
    # Right steps: six votes, three of them +1. Wrong steps: two votes, one -1, one unparsable, which is no verdict.
    assert quality.p_plus == pytest.approx(3 / 6)
    assert quality.p_minus == 1.0
    assert quality.process == pytest.approx(4 / 7)
    assert quality.process_balanced == pytest.approx(0.75)
    assert quality.unparsable == pytest.approx(1 / 8)
    assert quality.right == pytest.approx(6 / 7)
    assert quality.outcome == 1.0
    assert quality.outcome_auc == 1.0


def test_a_judge_that_cannot_be_read_has_no_quality() -> None:
    silent = judge_quality(
        [np.full((3, 2), np.nan), np.full((1, 2), np.nan)], [np.array([1, -1, -1]), np.array([1])], [-1, 1]
    )
    numbers = silent.to_dict()
    assert (numbers.pop("unparsable"), numbers.pop("steps"), numbers.pop("trajectories")) == (1.0, 4, 2)
    assert set(numbers.values()) == {None}
    # One trajectory cannot be read, the other has one vote of two: the outcome is called once, and right.
    partly = judge_quality(
        [np.full((3, 2), np.nan), np.array([[1.0, np.nan]])], [np.array([1, -1, -1]), np.array([1])], [-1, 1]
    )
    assert (partly.unparsable, partly.process, partly.outcome, partly.outcome_auc) == (7 / 8, 1.0, 1.0, None)


def test_steps_that_are_neither_right_nor_wrong_measure_no_judge() -> None:
    """Right: three of four votes; wrong: one of two; whatever is voted on the step of label 0."""
    labels = [np.array([1, 0, -1, 1])]
    for neither in (1.0, -1.0):
        scores = [np.array([[1, 1], [neither, neither], [-1, 1], [1, -1]], dtype=float)]
        quality = judge_quality(scores, labels, [1])
        assert (quality.p_plus, quality.p_minus, quality.process_balanced) == (0.75, 0.5, 0.625)
        assert quality.process == pytest.approx(4 / 6)
        assert quality.right == pytest.approx(4 / 6)
        assert quality.steps == 4


def test_always_saying_wrong_is_no_skill() -> None:
    scores = [np.full((10, 3), -1.0)]
    labels = [np.array([1] * 2 + [-1] * 8)]
    quality = judge_quality(scores, labels, [-1])
    assert quality.process == pytest.approx(0.8)
    assert quality.process_balanced == pytest.approx(0.5)
    assert quality.outcome_auc is None


def test_what_cannot_be_measured_is_none_and_not_nan() -> None:
    quality = judge_quality([np.ones((4, 2))], [np.array([1, 1, 1, 1])], [1])
    assert (quality.p_plus, quality.p_minus, quality.mu, quality.process_balanced) == (1.0, None, None, None)
    assert quality.outcome_auc is None
    with pytest.raises(ValueError, match="nothing to measure"):
        judge_quality([], [], [])
