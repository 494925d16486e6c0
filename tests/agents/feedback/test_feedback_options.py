"""The options beyond the paper's formulas, each with numbers worked out by hand."""

import math

import numpy as np
import pytest
from pydantic import ValidationError

from rlanything_agents.feedback import (
    PRESETS,
    FeedbackConfig,
    batch_feedback,
    feedback_stats,
    group_feedback,
    judged_steps,
    reliability,
    step_credit,
    votes_count,
)


def config(**changes):
    return FeedbackConfig(**{"policy_band": None, "judge_band": None, **changes})


def single(*scores):
    """Votes of a trajectory with one vote a step."""
    return np.array(scores, dtype=float)[:, None]


# Won in two steps, lost in three; m = 2 votes (one unparsable). Mean votes: 1, 0 and 0, -1, -.5.
OUTCOMES = [1, -1]
VOTES = [[[1, 1], [1, -1]], [[1, -1], [-1, -1], [None, -1]]]


def test_outcome_weight():
    half = group_feedback(OUTCOMES, VOTES, config(outcome_weight=0.5))
    assert [r.tolist() for r in half.rewards] == [[1.5, 0.5], [-0.5, -1.5, -1]]
    steps_only = group_feedback(OUTCOMES, VOTES, config(outcome_weight=0.0))
    assert [r.tolist() for r in steps_only.rewards] == [[1, 0], [0, -1, -0.5]]
    # the reward model is held to the outcome all the same
    paper = group_feedback(OUTCOMES, VOTES, config())
    assert [a.tolist() for a in steps_only.judge] == [a.tolist() for a in paper.judge]


def test_returns_cancel_going_to_and_fro() -> None:
    """A step forth, back, forth, back, forth, forth: at gamma 1 the return is the progress still to come."""
    votes = single(1, -1, 1, -1, 1, 1)
    assert step_credit(votes).tolist() == [1, -1, 1, -1, 1, 1]
    assert step_credit(votes, credit="return", gamma=1.0).tolist() == [2, 1, 2, 1, 2, 1]
    assert step_credit(votes, credit="return", gamma=0.5).tolist() == [
        1 - 1 / 2 + 1 / 4 - 1 / 8 + 1 / 16 + 1 / 32,
        -1 + 1 / 2 - 1 / 4 + 1 / 8 + 1 / 16,
        1 - 1 / 2 + 1 / 4 + 1 / 8,
        -1 + 1 / 2 + 1 / 4,
        1 + 1 / 2,
        1,
    ]


def test_credit_in_the_rewards():
    votes = [single(1, -1, 1), single(-1, 1)]
    group = group_feedback([1, -1], votes, config(credit="return", gamma=0.5, lam=2.0))
    assert [r.tolist() for r in group.rewards] == [[2.5, 0, 3], [-2, 1]]


LOST = [single(1, -1, 1, -1), single(-1, -1), single(1, 1)]


def test_groups_that_all_failed():
    """Sums 0 -1 0 -1, -2 -1 and 2 1. Step 0: mean 0, std sqrt(8/3). Step 1: mean -1/3, std sqrt(8/9)."""
    options = {"policy_band": (1 / 8, 7 / 8), "credit": "return", "gamma": 1.0, "lam": 0.2}
    dropped = group_feedback([-1] * 3, LOST, config(**options))
    assert not dropped.policy_kept
    assert not np.concatenate(dropped.policy).any()
    kept = group_feedback([-1] * 3, LOST, config(**options, silent="return", shared_weight=0.0))
    assert kept.silent_kept
    assert not kept.policy_kept
    r, s = math.sqrt(3 / 8), math.sqrt(0.5)
    assert kept.policy[0] == pytest.approx(np.array([0, -s, 0, 0]))
    assert kept.policy[1] == pytest.approx(np.array([-2 * r, -s]))
    assert kept.policy[2] == pytest.approx(np.array([2 * r, 2 * s]))
    assert feedback_stats([kept, dropped]).silent_kept == 0.5
    # nothing of the outcome is left in it, not even where the reward itself is the advantage
    raw = group_feedback([-1] * 3, LOST, config(**options, silent="return", lone="raw"))
    assert raw.policy[0][2:] == pytest.approx([0, -0.2])
    # without a reward model there is nothing to learn
    mute = group_feedback([-1] * 3, LOST, config(**options | {"lam": 0.0}, silent="return"))
    assert not np.concatenate(mute.policy).any()


def test_silence_is_only_that_of_valid_failures():
    options = config(policy_band=(1 / 8, 7 / 8), credit="return", silent="return")
    assert group_feedback([-1, -1, None], LOST, options).silent_kept
    for outcomes in ([1, 1, 1], [-1, -1, 1], [None, None, None]):
        assert not group_feedback(outcomes, LOST, options).silent_kept


def test_silent_groups_are_never_judged_myopically():
    with pytest.raises(ValidationError, match="farmed by going to and fro; choose credit 'return'"):
        FeedbackConfig(silent="return")
    FeedbackConfig(silent="return", credit="return")


# Won: votes 1, 1, 1, -1 (p+ = 3/4). Lost: -1, -1, 1, 1, 1, 0 (p- = 2/5 of the readable) and -1 three times (p- = 5/8).
BATCH = [([1, -1], [single(1, 1, 1, -1), single(-1, -1, 1, 1, 1, 0)]), ([-1, None], [single(-1, -1, -1), single(1)])]


def test_reliability_by_hand():
    pairs = [pair for group in BATCH for pair in zip(*group, strict=True) if pair[0] is not None]
    measured = reliability(pairs)
    assert (measured.p_plus, measured.p_minus, measured.mu) == (0.75, 0.625, 1.375)
    assert reliability([]).mu is None


def test_the_filter_keeps_a_group_out_of_the_mean():
    """The second group has no success: its votes are 0 and change nothing for the first."""
    groups = [([1, -1], [single(1, -1), single(-1, 1)]), ([-1, -1], [single(-1, -1), single(-1, -1)])]
    options = config(judge_band=(0.2, 0.8))
    both = batch_feedback(groups, options)
    (alone,) = batch_feedback(groups[:1], options)
    assert [a.tolist() for a in both[0].judge] == [a.tolist() for a in alone.judge]
    assert not np.concatenate(both[1].judge).any()
    masked = [([*groups[0][0], None], [*groups[0][1], single(1, 1, 1)]), groups[1]]
    assert [a.tolist() for a in batch_feedback(masked, options)[0].judge[:2]] == [a.tolist() for a in alone.judge]


@pytest.mark.parametrize("base", sorted(name for name in PRESETS if PRESETS[name].baseline == "group"))
def test_a_batch_is_its_groups(base):
    """Groups have nothing to do with one another where each is its own baseline."""
    batch = batch_feedback(BATCH, PRESETS[base])
    for (outcomes, votes), group in zip(BATCH, batch, strict=True):
        alone = group_feedback(outcomes, votes, PRESETS[base])
        for a, b in zip((*alone.policy, *alone.judge), (*group.policy, *group.judge), strict=True):
            assert a.tolist() == b.tolist()
    assert batch_feedback([], PRESETS[base]) == []


def test_no_trajectory_without_steps_or_votes_is_in_the_way():
    options = config(credit="return")
    batch = batch_feedback([([1, -1], [np.zeros((0, 3)), np.zeros((2, 0))]), ([], [])], options)
    assert [a.shape for a in batch[0].judge] == [(0, 3), (2, 0)]
    assert batch[1].policy == ()
    assert feedback_stats(batch).mu is None


def test_votes_count_where_they_can_teach_somebody() -> None:
    lost, mixed, won = [-1, -1, None], [-1, 1, 1, -1], [1, 1]
    paper = FeedbackConfig()
    assert [votes_count(outcomes, paper) for outcomes in (lost, mixed, won, [None])] == [False, True, False, False]
    assert votes_count(lost, FeedbackConfig(silent="return", credit="return"))
    assert votes_count(won, FeedbackConfig(policy_band=None))


# Nothing solved. Turns: 1 0 | 1 | (masked). Votes: 1 -, -1 - | - - | (masked): 2 of 6 can be read.
FORMAT = ([-1, -1, None], [[[1, None], [-1, None]], [[None, None]], [[None, 1]]])
READABLE = [np.array([1.0, 0.0]), np.array([1.0]), np.array([0.0])]


def test_format_advantages_by_hand():
    """Policy: p = 2/3, so sqrt(1/2) and -sqrt(2). Judge: p = 1/3, so sqrt(2) and -sqrt(1/2)."""
    few, many = math.sqrt(0.5), math.sqrt(2)
    group = group_feedback(*FORMAT, FeedbackConfig(teach_format=True, unparsable_reward=-2.0), readable=READABLE)
    assert (group.policy_kept, group.judge_kept, group.policy_format, group.judge_format) == (False, False, True, True)
    assert np.concatenate(group.policy) == pytest.approx(np.array([few, -many, few, 0]))
    assert group.judge[0] == pytest.approx(np.array([[many, -few], [many, -few]]))
    assert group.judge[1] == pytest.approx(np.array([[-few, -few]]))
    assert not group.judge[2].any()
    stats = feedback_stats([group])
    assert (stats.policy_format, stats.judge_format, stats.policy_samples, stats.judge_samples) == (1, 1, 3, 6)


def test_the_format_is_taught_outside_of_the_bands_alone():
    options = FeedbackConfig(teach_format=True)
    paper = group_feedback(*FORMAT, FeedbackConfig(), readable=READABLE)
    assert not np.concatenate(paper.policy).any()
    assert not any(votes.any() for votes in paper.judge)
    inside = ([1, -1, None], FORMAT[1])
    with_format, without = (group_feedback(*inside, one, readable=READABLE) for one in (options, FeedbackConfig()))
    assert [a.tolist() for a in with_format.policy] == [a.tolist() for a in without.policy]
    assert [a.tolist() for a in with_format.judge] == [a.tolist() for a in without.judge]
    assert (with_format.policy_format, with_format.judge_format) == (False, False)
    unknown = group_feedback(*FORMAT, options)
    assert not np.concatenate(unknown.policy).any()
    alike = group_feedback([-1, -1], [[[1, -1]], [[-1, -1]]], options, readable=[np.ones(1), np.ones(1)])
    assert (alike.policy_format, alike.judge_format) == (False, False)
    lost = group_feedback([None, None], [[[1, None]], [[1, None]]], options, readable=[np.ones(1), np.zeros(1)])
    assert not np.concatenate(lost.policy).any()
    assert not any(votes.any() for votes in lost.judge)


def test_steps_that_teach_the_format_are_on_neither_side_of_the_balance():
    options = FeedbackConfig(teach_format=True, balance=True, unparsable_reward=-2.0)
    formats = group_feedback(*FORMAT, options, readable=READABLE)
    mixed = group_feedback([1, -1, -1], [[[1, -1]], [[1, -1]], [[1, -1]]], options)
    rng = np.random.default_rng
    assert len(judged_steps([formats], rng(0))) == 3
    chosen = judged_steps([formats, mixed], rng(0))
    assert [step.group for step in chosen] == [0, 0, 0, 1, 1]
    assert [step.group for step in judged_steps([formats, mixed], rng(0), limit=3)].count(0) == 1
