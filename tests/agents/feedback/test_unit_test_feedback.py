"""Feedback of unit tests: numbers worked out by hand, and what holds for any programs and tests."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_agents.feedback import FeedbackConfig, FeedbackError
from rlanything_agents.feedback.unit_tests import (
    UnitTestQuality,
    program_rewards,
    unit_test_feedback,
    unit_test_quality,
    unit_test_rewards,
)

NAN = math.nan
OPEN = FeedbackConfig(lam=0.0, policy_band=None, judge_band=None)

# Two correct programs and three wrong ones; four tests: good and sharp, good and blunt, wrong and harmful, nonsense.
CORRECT = [1, 1, 0, 0, 0]
PASSES = [[1, 1, 1, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0], [0, 1, 0, 0]]

results = st.sampled_from((0.0, 1.0, NAN))


@st.composite
def groups(draw):
    programs, tests = draw(st.integers(0, 6)), draw(st.integers(0, 5))
    correct = draw(st.lists(results, min_size=programs, max_size=programs))
    passes = draw(st.lists(st.lists(results, min_size=tests, max_size=tests), min_size=programs, max_size=programs))
    return np.array(correct), np.array(passes, dtype=float).reshape(programs, tests)


def test_rewards_by_hand():
    """+3 wrong caught, +1 caught, one correct fails it and 2 wrong pass: -2, no one passes: -0."""
    assert unit_test_rewards(CORRECT, PASSES).tolist() == [3, 1, -2, 0]


def test_without_a_wrong_program_a_test_is_right_or_not():
    assert unit_test_rewards([1, 1], [[1, 1, 0], [1, 0, 0]]).tolist() == [1, -1, -1]


def test_without_a_correct_program_there_is_no_reward():
    assert np.isnan(unit_test_rewards([0, 0], [[1, 0], [1, 1]])).all()
    assert np.isnan(unit_test_rewards([NAN, 0], [[1, 0], [1, 1]])).all()


def test_an_infrastructure_failure_masks_a_program_or_a_test():
    """The masked program's results count for nothing; a test unknown on a program that counts has no reward."""
    assert unit_test_rewards([1, NAN, 0], [[1, 1], [0, NAN], [0, 1]]).tolist() == [1, 0]
    rewards = unit_test_rewards([1, 0, 0], [[1, 1], [0, NAN], [0, 0]])
    assert rewards[0] == 2
    assert np.isnan(rewards[1])


def test_advantages_by_hand():
    """Test rewards 3, 1, -2, 0: mean .5, population variance 13/4; fractions 1, 1, .5, .25, 0: mean .55."""
    found = unit_test_feedback([1, 1, 0.5, 0.25, 0], CORRECT, PASSES, OPEN)
    assert found.judge == pytest.approx((np.array([3, 1, -2, 0]) - 0.5) / math.sqrt(13 / 4))
    shares = np.array([1, 1, 0.5, 0.25, 0])
    assert found.policy == pytest.approx((shares - 0.55) / shares.std())
    assert found.rewards.tolist() == shares.tolist()
    assert found.accuracy == 0.4


def test_the_step_wise_term_is_the_share_of_written_tests_passed():
    """Of the four tests the programs pass 3, 2, 2, 1, 1."""
    rewards = unit_test_feedback([1, 1, 0, 0, 0], CORRECT, PASSES, OPEN.model_copy(update={"lam": 0.4})).rewards
    assert rewards.tolist() == pytest.approx([1.3, 1.2, 0.2, 0.1, 0.1])
    unknown = program_rewards(np.array([1.0]), np.array([1.0]), np.array([[NAN, 1.0]]), lam=0.5)
    assert unknown.tolist() == [1.5]
    assert program_rewards(np.array([1.0]), np.array([1.0]), np.array([[NAN]]), lam=0.5).tolist() == [1.0]


def test_an_unreadable_answer_has_the_reward_of_the_configuration():
    said = [True, True, True, False]
    free = unit_test_feedback([1, 1, 0, 0, 0], CORRECT, PASSES, OPEN, readable=said)
    assert free.test_rewards.tolist() == [3, 1, -2, 0]
    fined = OPEN.model_copy(update={"unparsable_reward": -2.0})
    assert unit_test_feedback([1, 1, 0, 0, 0], CORRECT, PASSES, fined, readable=said).test_rewards[3] == -2
    nobody = unit_test_feedback([0, 0], [0, 0], [[0], [0]], fined, readable=[False])
    assert np.isnan(nobody.test_rewards[0])


def test_bands_keep_groups_out():
    config = FeedbackConfig(lam=0.0, policy_band=(0.5, 0.8), judge_band=(0.2, 0.8))
    found = unit_test_feedback([1, 1, 0.5, 0.25, 0], CORRECT, PASSES, config)
    assert (found.policy_kept, found.judge_kept) == (False, True)
    assert not found.policy.any()
    assert found.judge.any()


def test_quality_by_hand():
    """Four tests of a contested task: two agree, one also catches all; a task all programs solve counts for ut only."""
    quality = unit_test_quality([(CORRECT, PASSES), ([1, 1], [[1, 0], [1, 1]]), ([0], [[1, 1]])])
    assert quality == UnitTestQuality(tests=6, agree=3, contested=4, detect=1)
    assert (quality.ut_rate, quality.detect_rate) == (0.5, 0.25)
    assert unit_test_quality([]).ut_rate is None
    assert unit_test_quality([([1], [[1]])]).detect_rate is None


@pytest.mark.parametrize(
    ("fractions", "correct", "passes", "said"),
    [
        ([1], [1, 0], [[1], [1]], "fractions"),
        ([1, 2], [1, 0], [[1], [1]], "fractions"),
        ([1, NAN], [1, 0], [[1], [1]], "fractions"),
        ([1, 1], [1, 2], [[1], [1]], "correct: every value"),
        ([1, 1], [1, 0], [[1], [0.5]], "passes: every value"),
        ([1, 1], [1, 0], [1, 0], r"shape \(2,\)"),
        ([1, 1], [1, 0], [[1]], "shape"),
        ([1, 1], ["a", 0], [[1], [1]], "must be numbers"),
    ],
)
def test_bad_numbers_are_refused(fractions, correct, passes, said):
    with pytest.raises(FeedbackError, match=said):
        unit_test_feedback(fractions, correct, passes, OPEN)


@given(groups())
def test_rewards_are_bounded_by_the_wrong_programs(group):
    correct, passes = group
    rewards = unit_test_rewards(correct, passes)
    wrong = int((correct == 0).sum())
    known = rewards[~np.isnan(rewards)]
    assert (np.abs(known) <= max(1, wrong)).all()
    if not (correct == 1).any():
        assert not known.size


@given(groups(), st.randoms(use_true_random=False))
def test_the_order_of_programs_does_not_matter(group, random):
    correct, passes = group
    order = list(range(len(correct)))
    random.shuffle(order)
    assert np.array_equal(unit_test_rewards(correct, passes), unit_test_rewards(correct[order], passes[order]), True)
    assert unit_test_quality([group]) == unit_test_quality([(correct[order], passes[order])])


@given(groups())
def test_what_is_masked_never_learns_and_advantages_sum_to_nothing(group):
    correct, passes = group
    found = unit_test_feedback(np.where(correct == 1, 1.0, 0.3), correct, passes, OPEN)
    assert not found.policy[np.isnan(correct)].any()
    assert not found.judge[np.isnan(found.test_rewards)].any()
    for advantages in (found.policy, found.judge):
        assert abs(advantages.sum()) < 1e-9


@given(groups())
def test_detect_is_a_part_of_ut(group):
    quality = unit_test_quality([group])
    assert quality.detect <= quality.agree <= quality.tests
    assert quality.contested in (0, quality.tests)


@given(groups())
def test_a_better_test_never_earns_less(group):
    """Letting a test catch one more wrong program cannot lower its reward."""
    correct, passes = group
    for i in np.flatnonzero(correct == 0):
        sharper = passes.copy()
        sharper[i] = np.where(np.isnan(passes[i]), NAN, 0.0)
        before, after = unit_test_rewards(correct, passes), unit_test_rewards(correct, sharper)
        known = ~np.isnan(before)
        assert (after[known] >= before[known]).all()


def test_unreadable_tests_are_below_readable_ones_where_no_program_is_correct():
    """Three of four can be read: sqrt(1/3) and -sqrt(3); one more test was lost with the generator."""
    passes = [[0, 0, 0, 0, np.nan]] * 2
    readable = [True, True, False, True, False]
    for band in ((0.2, 0.8), None):
        options = FeedbackConfig(judge_band=band, teach_format=True)
        found = unit_test_feedback([0.5, 0.0], [0, 0], passes, options, readable=readable)
        assert found.judge == pytest.approx([3**-0.5, 3**-0.5, -(3**0.5), 3**-0.5, 0])
        assert found.judge_format
        assert np.isnan(found.test_rewards).all()
    plain = unit_test_feedback([0.5, 0.0], [0, 0], passes, FeedbackConfig(), readable=readable)
    assert not plain.judge.any()
    assert not plain.judge_format
