"""Intervals and differences over seeds, against numbers worked by hand and against their promise."""

import math

import numpy as np
import pytest
from scipy import stats

from studies.statistics import ENOUGH, Estimate, band, estimate, paired_difference, points

EIGHT = [0.31, 0.35, 0.28, 0.40, 0.33, 0.30, 0.37, 0.34]


def test_few_seeds_give_a_mean_and_no_interval() -> None:
    assert estimate([0.25]) == Estimate(0.25, None, None, 1)
    assert estimate([0.25, 0.75]) == Estimate(0.5, None, None, 2)
    with pytest.raises(ValueError, match="no seed"):
        estimate([])


def test_three_seeds_give_the_interval_of_student() -> None:
    # Mean 2, standard deviation 1, t(0.975, 2) = 4.3027: 2 -+ 4.3027 / sqrt(3).
    result = estimate([1.0, 2.0, 3.0])
    assert result.mean == 2.0
    assert result.low == pytest.approx(2 - 4.302653 / math.sqrt(3), abs=1e-5)
    assert result.high == pytest.approx(2 + 4.302653 / math.sqrt(3), abs=1e-5)


def test_equal_seeds_give_no_interval() -> None:
    """They do not show how far the next seed may be, and an interval of no length would exclude zero."""
    assert estimate([0.4] * 8) == Estimate(pytest.approx(0.4), None, None, 8)  # type: ignore[arg-type]


def test_the_bootstrap_is_the_same_every_time_and_moves_with_its_sample() -> None:
    one = estimate(EIGHT)
    assert one == estimate(EIGHT)
    moved = estimate([3 + 2 * value for value in EIGHT])
    assert (moved.low, moved.high) == pytest.approx((3 + 2 * (one.low or 0), 3 + 2 * (one.high or 0)))


def test_the_bootstrap_is_near_to_students_interval_on_an_even_sample() -> None:
    sample = stats.norm.ppf((np.arange(1, 13) - 0.5) / 12)
    result, error = estimate(list(sample)), stats.sem(sample)
    half = stats.t.ppf(0.975, 11) * error
    assert result.low == pytest.approx(-half, abs=0.15 * half)
    assert result.high == pytest.approx(half, abs=0.15 * half)


def test_the_bootstrap_reaches_further_on_the_long_side() -> None:
    result = estimate([0, 0.1, 0.1, 0.2, 0.2, 0.3, 0.4, 2.0])
    assert result.low is not None
    assert result.high is not None
    assert result.high - result.mean > result.mean - result.low


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(200):
        result = estimate(list(rng.normal(size=ENOUGH)))
        assert result.low is not None
        assert result.high is not None
        held += result.low <= 0 <= result.high
    # 95 % of 200 is 190, with a standard deviation of 3; percentile and BCa intervals come to about 181.
    assert 183 <= held <= 200


def test_a_paired_difference_uses_the_seeds_both_arms_have() -> None:
    difference = paired_difference(
        "full", "outcome", {0: 0.5, 1: 0.6, 2: 0.9, 7: 0.1}, {0: 0.4, 1: 0.4, 2: 0.6, 3: 0.9}
    )
    assert difference is not None
    # 0.1, 0.2, 0.3: mean 0.2, standard deviation 0.1.
    assert difference.estimate.seeds == 3
    assert difference.estimate.mean == pytest.approx(0.2)
    assert difference.estimate.low == pytest.approx(0.2 - 4.302653 * 0.1 / math.sqrt(3), abs=1e-6)
    assert not difference.clear
    assert paired_difference("full", "outcome", {0: 0.5}, {1: 0.5}) is None


def test_pairing_takes_out_what_the_seeds_have_in_common() -> None:
    luck = [0.1, 0.5, 0.3, 0.2, 0.6, 0.4, 0.15, 0.45]
    gains = [0.05, 0.06, 0.04, 0.05, 0.07, 0.05, 0.04, 0.06]
    before = dict(enumerate(luck))
    after = {seed: value + gains[seed] for seed, value in before.items()}
    difference = paired_difference("outcome", "before", after, before)
    assert difference is not None
    assert difference.clear


def test_a_band_is_students_interval_at_every_point() -> None:
    assert band(np.zeros((2, 4))) is None
    curves = np.array([[1.0, 10.0], [2.0, 10.0], [3.0, 10.0]])
    edges = band(curves)
    assert edges is not None
    assert edges[0] == pytest.approx([2 - 4.302653 / math.sqrt(3), 10.0], abs=1e-5)
    assert edges[1] == pytest.approx([2 + 4.302653 / math.sqrt(3), 10.0], abs=1e-5)


def test_shares_are_written_as_points() -> None:
    assert points(Estimate(0.3124, 0.28, 0.3401, 8)) == "31.2 [28.0, 34.0]"
    assert points(Estimate(0.3124, None, None, 2)) == "31.2"
    assert points(Estimate(0.05, -0.012, 0.112, 8), signed=True) == "+5.0 [-1.2, +11.2]"
    assert points(Estimate(-0.0, -0.0, 0.0, 8), signed=True) == "+0.0 [+0.0, +0.0]"


def test_seeds_that_are_mostly_equal_get_a_finite_interval() -> None:
    """Where many resamples have no spread the ends of the bootstrap are infinite, and Student's are taken."""
    found = estimate([0.0] * 7 + [0.1])
    assert found.low == pytest.approx(0.0125 - 2.364624 * 0.0125, abs=1e-6)
    assert found.high == pytest.approx(0.0125 + 2.364624 * 0.0125, abs=1e-6)
