"""Reported numbers against hand-worked and published values."""

import numpy as np
import pytest

from rlanything_agents.feedback.metrics import action_shares, judge_quality, quality_intervals, success_rate


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


def test_an_interval_holds_its_share_and_narrows_with_more_trajectories() -> None:
    def limits(number: int) -> list[float]:
        scores = [np.array([[1.0, -1.0], [1.0, 1.0]]), np.array([[-1.0, -1.0], [-1.0, -1.0]])] * number
        found = quality_intervals(scores, [np.array([1, 1]), np.array([-1, -1])] * number, [1, -1] * number, 0)
        assert "steps" not in found
        return found["process"]

    few, many = limits(8), limits(64)
    assert 0.75 <= few[0] < many[0] < 0.875 < many[1] < few[1] <= 1
    flat = quality_intervals([-np.ones((2, 1))] * 20, [np.array([1, -1])] * 20, [1, -1] * 10, 0)
    assert (flat["mu"], flat["process_balanced"]) == ([1.0, 1.0], [0.5, 0.5]), "mu is no share"
    sure = quality_intervals([np.ones((2, 1))] * 20, [np.ones(2, dtype=int)] * 20, [1] * 20, 0)
    assert sure["process"] == pytest.approx([0.839, 1.0], abs=1e-3), "Wilson's interval of 20 of 20"
    assert quality_intervals([np.ones((2, 1))] * 8, [np.ones(2, dtype=int)] * 8, [1] * 8, 0) == {}


def test_a_forecast_by_hand() -> None:
    """Chances .9, .6 and .95 of a solved episode, .3 and .2 of one that failed after two steps, .6 and .4 of another.

    In mid-episode, first steps: .9 against .3 and .6, all right; the second step of the solved one has nobody left
    beside it. Bins of ten: .9 and .95 are solved (.15 off together), .6 twice, once solved (.2 off), and .3, .2 and .4
    never (.9 off): 1.25 over seven steps.
    """
    chances = [[0.9, 0.6, 0.95], [0.3, 0.2], [0.6, 0.4]]
    scores = [2 * np.array(row)[:, None] - 1 for row in chances]
    quality = judge_quality(scores, [np.zeros(len(row), dtype=int) for row in chances], [1, -1, -1])
    assert quality.mid_auc == 1.0
    assert quality.calibration == pytest.approx(1.25 / 7)
    turned = judge_quality([-row for row in scores], [np.zeros(len(row), dtype=int) for row in chances], [1, -1, -1])
    assert turned.mid_auc == 0.0


def test_a_constant_judge_is_visible() -> None:
    """Calibrated as it may be, it knows nothing in mid-episode; that a longer episode failed is no knowledge."""
    scores = [np.full((2, 1), -0.5), np.full((4, 1), -0.5), np.full((4, 1), -0.5), np.full((4, 1), -0.5)]
    labels = [np.zeros(len(row), dtype=int) for row in scores]
    quality = judge_quality(scores, labels, [1, -1, -1, -1])
    assert quality.mid_auc == 0.5
    assert quality.calibration == pytest.approx(abs(14 * 0.25 - 2) / 14)
    alone = judge_quality(scores[:1], labels[:1], [1])
    assert alone.mid_auc is None, "nothing to compare with"


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
