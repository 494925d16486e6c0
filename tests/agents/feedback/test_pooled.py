"""The pooled baseline: numbers worked out by hand, and an episode's own outcome has no part in its baseline."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rlanything_agents.feedback import PRESETS, FeedbackConfig, batch_feedback, pooled_baselines, votes_count

POOLED = PRESETS["pooled"]
GROUPS = [np.array([1.0, -1, -1, -1]), np.array([1.0, 1, -1, -1]), np.array([-1.0, -1, -1, -1])]


def votes(outcomes: np.ndarray, steps: int = 2) -> list[np.ndarray]:
    return [np.zeros((steps, 0)) for _ in outcomes]


def test_by_hand() -> None:
    """The other groups have means 0 and -1 and variances 4/3 and 0: noise 2/3 an episode, 2/9 for three.

    Their true means vary by 1/2 - 1/6 = 1/3, so the pool, whose mean is -1/2, weighs (2/9) / (2/9 + 1/3) = .4. The
    solved episode's group has a mean of -1 without it, and a failed one's -1/3.
    """
    (first, *_) = pooled_baselines(GROUPS)
    assert first == pytest.approx([0.6 * -1 + 0.4 * -0.5, *[0.6 * -1 / 3 + 0.4 * -0.5] * 3])
    found = batch_feedback([(group, votes(group)) for group in GROUPS], POOLED)
    assert found[0].policy[0] == pytest.approx([1.8, 1.8])
    assert found[0].policy[3] == pytest.approx([-0.6, -0.6])
    assert [row.tolist() for row in found[0].rewards] == [[1, 1], [-1, -1], [-1, -1], [-1, -1]]


def test_no_group_is_dropped() -> None:
    """The paper's band leaves out the third group, which failed as a whole; the other two differ by no more than their
    noise, so here it is compared with their mean of -1/4."""
    found = batch_feedback([(group, votes(group)) for group in GROUPS], POOLED)
    assert all(group.policy_kept for group in found)
    assert found[2].policy[0].tolist() == [-0.75, -0.75]
    assert not batch_feedback([(group, votes(group)) for group in GROUPS], PRESETS["outcome"])[2].policy_kept


def test_groups_that_know_nothing_of_each_other() -> None:
    """One group, or one other: the mean of its other episodes. A lone episode: the pool. Nothing: no advantage."""
    assert pooled_baselines([np.array([1.0, -1, -1])])[0] == pytest.approx([-1, 0, 0])
    assert pooled_baselines([np.array([1.0, -1, -1]), np.array([1.0, 1])])[0] == pytest.approx([-1, 0, 0])
    alone, *_ = pooled_baselines([np.array([1.0]), np.array([1.0, -1]), np.array([-1.0, -1])])
    assert alone == pytest.approx([-0.5])
    assert pooled_baselines([np.array([-1.0])])[0].tolist() == [-1]
    assert pooled_baselines([]) == []


def test_groups_that_are_all_alike_leave_the_group_to_itself() -> None:
    """Eight groups failed as a whole: nothing says how far success rates differ, so nothing is drawn together."""
    first, *_ = pooled_baselines([np.array([1.0, -1]), *[np.array([-1.0, -1])] * 8])
    assert first.tolist() == [-1, 1]


def test_a_masked_episode_is_in_no_mean() -> None:
    masked = [np.array([1.0, -1, -1, -1, np.nan]), *GROUPS[1:]]
    clean, found = pooled_baselines(GROUPS), pooled_baselines(masked)
    assert found[0][:4] == pytest.approx(clean[0])
    assert np.isnan(found[0][4])
    assert found[1] == pytest.approx(clean[1])
    group, *_ = batch_feedback([(one, votes(one)) for one in masked], POOLED)
    assert group.policy[4].tolist() == [0, 0]


OUTCOMES = st.lists(st.sampled_from([1.0, -1.0, np.nan]), min_size=1, max_size=6).map(np.array)


@given(st.lists(OUTCOMES, min_size=1, max_size=6))
def test_its_own_outcome_has_no_part_in_it(groups: list[np.ndarray]) -> None:
    """So the expected gradient is that of success, whatever the baseline is."""
    found = pooled_baselines(groups)
    for g, group in enumerate(groups):
        valid = np.flatnonzero(~np.isnan(group))
        assert np.isnan(found[g]).tolist() == np.isnan(group).tolist()
        if len(valid) < 2:
            continue
        other = [one.copy() for one in groups]
        other[g][valid[0]] *= -1
        assert pooled_baselines(other)[g][valid[0]] == pytest.approx(found[g][valid[0]])


def test_where_nobody_succeeds_the_format_is_taught() -> None:
    groups = [(group, votes(group)) for group in [np.array([-1.0, -1]), np.array([-1.0, -1])]]
    readable = [[np.array([1.0, 0.0]), np.array([1.0, 1.0])]] * 2
    found = batch_feedback(groups, POOLED.model_copy(update={"teach_format": True}), readable=readable)
    assert all(group.policy_format and not group.policy_kept for group in found)
    assert found[0].policy[0][0] > 0 > found[0].policy[0][1]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"baseline": "pooled"}, "it is a baseline of outcomes; set lam to 0, or credit to critic"),
        ({"baseline": "pooled", "lam": 1, "credit": "return"}, "lam=1.0"),
        ({"baseline": "pooled", "lam": 0, "credit": "gigpo"}, "credit='gigpo'"),
        ({"credit": "critic"}, "set baseline='pooled' too"),
    ],
)
def test_it_is_a_baseline_of_outcomes(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        FeedbackConfig.model_validate(settings)


def test_outcomes_alone_need_no_votes() -> None:
    assert not votes_count([-1, -1], POOLED)
    assert votes_count([-1, -1], PRESETS["critic"]), "a critic knows more of a failed group than its outcome"
    assert not votes_count([None, None], PRESETS["critic"])
