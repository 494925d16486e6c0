"""Feedback: numbers worked out by hand, the paper's identities, and what the options change."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rlanything_agents.feedback import (
    PRESETS,
    FeedbackConfig,
    FeedbackError,
    StepIndex,
    feedback_stats,
    group_feedback,
    integrated_rewards,
    judge_advantages,
    judge_rewards,
    judged_steps,
)
from rlanything_task_pools import UnknownName

PAPER, REFERENCE = PRESETS["paper"], PRESETS["reference"]
NO_FILTER = {"policy_band": None, "judge_band": None}


def config(base=PAPER, **changes):
    return base.model_copy(update=NO_FILTER | changes)


# Two trajectories: won in two steps, lost in three; m = 2 votes (one unparsable).
OUTCOMES = [1, -1]
VOTES = [[[1, 1], [1, -1]], [[1, -1], [-1, -1], [None, -1]]]


def test_integrated_rewards_by_hand():
    won = group_feedback(OUTCOMES, VOTES, config())
    assert won.rewards[0].tolist() == [1 + 1, 1 + 0]
    assert won.rewards[1].tolist() == [-1 + 0, -1 - 1, -1 - 0.5]  # the unparsable vote counts 0 of 2
    half = group_feedback(OUTCOMES, VOTES, config(lam=0.5))
    assert half.rewards[1].tolist() == [-1, -1.5, -1.25]


def test_policy_advantages_by_hand():
    """Step 0: 2 and -1, mean .5, std 1.5; step 1: 1 and -2, the same; step 2: one trajectory is left."""
    paper = group_feedback(OUTCOMES, VOTES, config())
    assert [a.tolist() for a in paper.policy] == [[1, 1], [-1, -1, 0]]
    reference = group_feedback(OUTCOMES, VOTES, config(REFERENCE))
    assert [a.tolist() for a in reference.policy] == [[1, 1], [-1, -1, -1.5]]


def test_population_standard_deviation():
    """Rewards 1, 1, -1, -1, -1: mean -.2, population variance .96."""
    group = group_feedback([1, 1, -1, -1, -1], [np.zeros((1, 0))] * 5, config())
    assert np.concatenate(group.policy) == pytest.approx(np.array([1.2, 1.2, -0.8, -0.8, -0.8]) / math.sqrt(0.96))


def test_judge_advantages_by_hand():
    paper = group_feedback(OUTCOMES, VOTES, config())
    # won, step 0: votes agree, nothing to learn; step 1: R = 1, rewards 1 and -1
    assert paper.judge[0].tolist() == [[0, 0], [1, -1]]
    # lost, step 0: R = -1, rewards -1 and 1; step 2: R = -1.5, rewards 0 and 1.5
    assert paper.judge[1].tolist() == [[-1, 1], [0, 0], [-1, 1]]


def test_unparsable_vote():
    """Lost, votes None, -1, -1: R = -1 - 2/3; raw 0 (paper) or -2 (reference) against +5/3 twice."""
    rewards, votes = np.array([-5 / 3]), np.array([[np.nan, -1.0, -1.0]])
    assert judge_rewards(rewards, votes).tolist() == [[0, 5 / 3, 5 / 3]]
    assert judge_rewards(rewards, votes, unparsable_reward=-2).tolist() == [[-2, 5 / 3, 5 / 3]]
    expected = [[-math.sqrt(2), math.sqrt(0.5), math.sqrt(0.5)]]
    assert judge_advantages(rewards, votes) == pytest.approx(np.array(expected))
    # a won step whose votes are all unparsable or wrong shows the difference between the two modes
    rewards, votes = np.array([1 - 2 / 3]), np.array([[np.nan, -1.0, -1.0]])
    assert judge_advantages(rewards, votes)[0, 0] > 0
    assert judge_advantages(rewards, votes, unparsable_reward=-2)[0, 0] < 0


def test_single_vote_teaches_nothing():
    group = group_feedback([1, -1], [[[1]], [[1]]], config())
    assert [a.tolist() for a in group.judge] == [[[0]], [[0]]]


def test_zero_spread_is_zero():
    group = group_feedback([1, 1, 1], [[[1, 1, -1]]] * 3, config())
    assert not np.concatenate(group.policy).any()


def test_infrastructure_errors_are_masked():
    """A failed trajectory changes nothing for the others, whatever its votes."""
    clean = group_feedback(OUTCOMES, VOTES, config())
    for failed in (None, math.nan):
        group = group_feedback([*OUTCOMES, failed], [*VOTES, [[1, 1], [-1, 1], [1, 1], [1, 1]]], config())
        assert group.accuracy == clean.accuracy
        for k in range(2):
            assert group.policy[k].tolist() == clean.policy[k].tolist()
            assert group.judge[k].tolist() == clean.judge[k].tolist()
        assert not group.policy[2].any()
        assert not group.judge[2].any()
        assert np.isnan(group.rewards[2]).all()
        assert feedback_stats([group]).masked == 1
        assert feedback_stats([group]).p_plus == feedback_stats([clean]).p_plus


def test_a_wholly_masked_group_is_dropped():
    group = group_feedback([None, None], [[[1, 1]], [[1, -1]]], config())
    assert group.accuracy is None
    assert not group.policy_kept
    assert not np.concatenate(group.policy).any()
    assert judged_steps([group], np.random.default_rng(0), balance=False) == []


@pytest.mark.parametrize(
    ("won", "policy_kept", "judge_kept"), [(0, 0, 0), (1, 1, 0), (2, 1, 1), (6, 1, 1), (7, 1, 0), (8, 0, 0)]
)
def test_accuracy_filters(won, policy_kept, judge_kept):
    """Of 8: the policy learns from 1/8 to 7/8, the reward model from 0.2 to 0.8."""
    outcomes = [1] * won + [-1] * (8 - won)
    votes = [[[1, -1, 1]], [[1, -1, -1]]] * 4
    for base in (PAPER, REFERENCE):
        group = group_feedback(outcomes, votes, base)
        assert (group.policy_kept, group.judge_kept) == (bool(policy_kept), bool(judge_kept))
        assert bool(np.concatenate(group.policy).any()) == bool(policy_kept)
        assert bool(np.concatenate(group.judge).any()) == bool(judge_kept)
    assert group_feedback(outcomes, votes, config()).policy_kept


def test_the_filter_counts_only_valid_trajectories():
    """1 of 8 won, but four of them failed: 1 of 4."""
    votes = [[[1, -1]]] * 8
    assert group_feedback([1, *[-1] * 3, *[None] * 4], votes, PAPER).accuracy == 0.25


def test_shared_weight():
    """Three trajectories; from step 1 on only lost ones are alive, and the votes differ: noise."""
    outcomes = [1, -1, -1]
    votes = [[[1, 1]], [[-1, -1], [1, 1], [1, 1]], [[-1, -1], [-1, -1]]]
    plain = group_feedback(outcomes, votes, config())
    assert plain.policy[1].tolist()[1:] == [1, 0]
    shrunk = group_feedback(outcomes, votes, config(shared_weight=0.25))
    assert shrunk.policy[1].tolist() == [plain.policy[1][0], 0.25, 0]
    masked = group_feedback(outcomes, votes, config(shared_weight=0.0))
    assert masked.policy[1].tolist()[1:] == [0, 0]
    assert masked.policy[2].tolist()[1:] == [0]
    assert [a[0] for a in masked.policy] == [a[0] for a in plain.policy]
    # it also silences the lone survivor that the released code would keep
    raw = config(REFERENCE, shared_weight=0.0)
    assert group_feedback(outcomes, votes, raw).policy[1].tolist()[2] == 0


def test_outcome_only_ignores_the_votes():
    silent = [np.zeros((2, 0)), np.zeros((3, 0))]
    with_votes = group_feedback(OUTCOMES, VOTES, config(PRESETS["outcome"]))
    without = group_feedback(OUTCOMES, silent, config())
    for a, b in zip(with_votes.policy, without.policy, strict=True):
        assert a.tolist() == b.tolist()


def test_return_to_go():
    """Mean votes 0, -1, -.5 at gamma .5: -.625, -1.25, -.5."""
    group = group_feedback(OUTCOMES, VOTES, config(credit="return", gamma=0.5))
    assert group.rewards[1].tolist() == [-1.625, -2.25, -1.5]
    assert group.rewards[0].tolist() == [2, 1]
    # the reward model is still scored by its own step
    assert [a.tolist() for a in group.judge] == [a.tolist() for a in group_feedback(OUTCOMES, VOTES, config()).judge]
    myopic = group_feedback(OUTCOMES, VOTES, config(credit="return", gamma=0.0))
    assert [r.tolist() for r in myopic.rewards] == [[2, 1], [-1, -2, -1.5]]


@given(st.data())
def test_advantages_are_standardised(data):
    n, m = data.draw(st.integers(2, 6)), data.draw(st.integers(1, 4))
    outcomes = data.draw(st.lists(st.sampled_from([1, -1, None]), min_size=n, max_size=n))
    lengths = data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    votes = [
        np.array(
            data.draw(st.lists(st.sampled_from([-1, 0, 1, 0.25, np.nan]), min_size=k * m, max_size=k * m))
        ).reshape(k, m)
        for k in lengths
    ]
    group = group_feedback(outcomes, votes, config())
    valid = [t for t in range(n) if outcomes[t] is not None]
    for i in range(max(lengths)):
        column = np.array([group.policy[t][i] for t in valid if lengths[t] > i])
        if column.any():
            assert column.mean() == pytest.approx(0, abs=1e-9)
            assert column.std() == pytest.approx(1)
    for t in range(n):
        assert group.judge[t].shape == (lengths[t], m)
        for row in group.judge[t]:
            assert row.sum() == pytest.approx(0, abs=1e-9)
            assert not row.any() or row.std() == pytest.approx(1)


@pytest.mark.parametrize("outcome", [1.0, -1.0])
@pytest.mark.parametrize("m", [1, 2, 3, 5])
@pytest.mark.parametrize(("p", "lam"), [(0.5, 1.0), (0.8, 1.0), (0.1, 0.3), (1.0, 2.0)])
def test_expected_consistency_reward(outcome, m, p, lam):
    """E[R_S] = O(2p - 1) + lam/m + lam (m-1)/m (2p - 1)^2 with P(S = 1) = p, enumerated over all votes."""
    expected = 0.0
    for votes in itertools.product((1.0, -1.0), repeat=m):
        s = np.array([votes])
        rewards = integrated_rewards(np.array([outcome]), [s], lam=lam)[0]
        probability = math.prod(p if v > 0 else 1 - p for v in votes)
        expected += probability * judge_rewards(rewards, s).mean()
    q = 2 * p - 1
    assert expected == pytest.approx(outcome * q + lam / m + lam * (m - 1) / m * q * q)


@pytest.mark.parametrize(
    ("m", "lam", "differing", "groups"),
    [
        (3, 0.5, 0, 12), (3, 1.0, 0, 12), (3, 2.0, 0, 12),
        (5, 1.0, 0, 60), (5, 1.5, 0, 60), (5, 2.0, 10, 60),
        (8, 1.0, 0, 508), (8, 1.5, 16, 508),
    ],
)  # fmt: skip
def test_where_the_consistency_term_is_inert(m, lam, differing, groups):
    """While |lam * mean S| < 1 on mixed votes, sign(R) = O: the reward model sees plain outcome labels."""
    seen = changed = 0
    for outcome in (1.0, -1.0):
        for votes in itertools.product((1.0, -1.0), repeat=m):
            s = np.array([votes])
            if abs(s.sum()) == m:
                continue
            labels, integrated = (
                judge_advantages(integrated_rewards(np.array([outcome]), [s], lam=weight)[0], s)
                for weight in (0.0, lam)
            )
            seen += 1
            changed += not np.allclose(labels, integrated)
    assert (changed, seen) == (differing, groups)


@pytest.mark.parametrize(("p_plus", "p_minus"), [(0.6, 0.6), (0.9, 0.3), (0.8, 0.8), (0.55, 0.5)])
@pytest.mark.parametrize("m", [1, 3, 9, 33])
def test_theorem_1(p_plus, p_minus, m):
    """P(mean S+ > mean S-) >= 1 - exp(-m (mu - 1)^2 / 4) for mu = p+ + p- > 1, by Monte Carlo."""
    rng, draws = np.random.default_rng(0), 20_000
    won = np.where(rng.random((draws, m)) < p_plus, 1.0, -1.0)
    lost = np.where(rng.random((draws, m)) < p_minus, -1.0, 1.0)
    means = integrated_rewards(np.zeros(2), [won, lost], lam=1.0)
    precision = (means[0] > means[1]).mean()
    bound = 1 - math.exp(-m * (p_plus + p_minus - 1) ** 2 / 4)
    assert precision >= bound - 3 * math.sqrt(0.25 / draws)
    if m == 33 and p_plus + p_minus > 1.5:
        assert precision > 0.99


def test_precision_grows_only_above_mu_1():
    """Theorem 1, the other half: at mu < 1 more votes make it worse."""
    rng, precision = np.random.default_rng(1), []
    for m in (3, 61):
        won = np.where(rng.random((4000, m)) < 0.4, 1.0, -1.0)
        lost = np.where(rng.random((4000, m)) < 0.4, -1.0, 1.0)
        precision.append((won.mean(axis=1) > lost.mean(axis=1)).mean())
    assert precision[1] < precision[0] < 0.5


def mixed_group(won_steps, lost_steps):
    step = [1, -1, 1]
    return group_feedback([1, -1], [[step] * won_steps, [step] * lost_steps], PAPER)


def test_balanced_steps():
    groups = [mixed_group(3, 9), mixed_group(2, 7)]
    chosen = judged_steps(groups, np.random.default_rng(0))
    assert len(chosen) == len(set(chosen)) == 10
    assert [c.trajectory for c in chosen].count(0) == 5
    assert chosen == sorted(chosen)
    assert chosen == judged_steps(groups, np.random.default_rng(0))
    assert chosen != judged_steps(groups, np.random.default_rng(1))
    limited = judged_steps(groups, np.random.default_rng(0), limit=5)
    assert [c.trajectory for c in limited].count(0) == [c.trajectory for c in limited].count(1) == 2
    everything = judged_steps(groups, np.random.default_rng(0), balance=False)
    assert len(everything) == 21
    assert StepIndex(1, 1, 6) in everything
    assert len(judged_steps(groups, np.random.default_rng(0), balance=False, limit=4)) == 4


def test_balance_needs_both_sides():
    group = group_feedback([-1, -1], [[[1, -1]], [[1, -1]]], config())
    assert judged_steps([group], np.random.default_rng(0)) == []
    assert len(judged_steps([group], np.random.default_rng(0), balance=False)) == 2


def test_stats_by_hand():
    stats = feedback_stats([group_feedback(OUTCOMES, VOTES, config()), mixed_group(1, 1)])
    assert stats.p_plus == pytest.approx((3 + 2) / (4 + 3))
    assert stats.p_minus == pytest.approx((4 + 1) / (5 + 3))  # one of nine cannot be read
    assert stats.mu == pytest.approx(5 / 7 + 5 / 8)
    assert stats.mixed_rate == pytest.approx((1 + 2 + 2) / 7)
    assert stats.unparsable_rate == pytest.approx(1 / 16)
    assert stats.accuracy == 0.5
    assert (stats.policy_kept, stats.judge_kept) == (1, 1)
    assert stats.policy_samples == 4 + 2
    assert stats.judge_samples == 2 + 4 + 6


def test_stats_of_nothing():
    stats = feedback_stats([])
    assert stats.mu is stats.accuracy is stats.policy_kept is None
    lost = feedback_stats([group_feedback([-1], [[[1, -1]]], PAPER)])
    assert lost.p_plus is lost.mu is None
    assert lost.p_minus == 0.5


@pytest.mark.parametrize(
    ("outcomes", "votes", "message"),
    [
        ([1], [], "1 outcomes but votes for 0"),
        ([0], [[[1]]], "outcome 0.0 of trajectory 0"),
        ([1], [[1, 1]], r"shape \(2,\)"),
        ([1], [[["yes"]]], "must be numbers"),
        ([1], [[[math.inf]]], "every vote must be finite"),
    ],
)
def test_bad_input(outcomes, votes, message):
    with pytest.raises(FeedbackError, match=message):
        group_feedback(outcomes, votes, PAPER)


def test_bad_config():
    with pytest.raises(ValidationError, match=r"judge_band: the lower end 0\.8 exceeds the upper end 0\.2"):
        FeedbackConfig(judge_band=(0.8, 0.2))
    for bad in ({"lam": -1}, {"lam": math.inf}, {"gamma": 1.5}, {"lambda": 1},
                {"shared_weight": 2}, {"outcome_weight": -1}, {"credit": "best"}):  # fmt: skip
        with pytest.raises(ValidationError):
            FeedbackConfig(**bad)
    with pytest.raises(
        UnknownName, match="choose one of paper, reference, outcome, pooled, critic, masked, recommended"
    ):
        FeedbackConfig.preset("papper")
    with pytest.raises(FeedbackError, match="limit -1"):
        judged_steps([], np.random.default_rng(0), limit=-1)


def test_presets():
    assert FeedbackConfig.preset("paper") == FeedbackConfig()
    assert (PAPER.lam, PAPER.outcome_weight, PAPER.credit, PAPER.balance) == (1, 1, "vote", False)
    assert REFERENCE.unparsable_reward == -2
    assert FeedbackConfig.preset("outcome").lam == 0
    for name in ("paper", "reference", "outcome"):
        options = FeedbackConfig.preset(name)
        assert (options.shared_weight, options.silent) == (1, "drop")
    masked = FeedbackConfig.preset("masked")
    assert (masked.lam, masked.shared_weight) == (0.2, 0)
    recommended = FeedbackConfig.preset("recommended")
    assert (recommended.lam, recommended.reads_votes, recommended.teach_format) == (0, False, True)
