"""Credit from outcomes alone, each number worked out by hand."""

import math

import numpy as np
import pytest
from pydantic import ValidationError

from rlanything_agents.feedback import FeedbackConfig, FeedbackError, group_feedback, votes_count

NAN = float("nan")

# One episode solved in two steps, one failed in three, no votes. Both begin in a and come to c, the second by way of b.
OUTCOMES = [1, -1]
VOTES = [np.zeros((2, 0)), np.zeros((3, 0))]
STATES = [["a", "c"], ["a", "b", "c"]]


def config(**changes: object) -> FeedbackConfig:
    return FeedbackConfig.model_validate({"policy_band": None, "judge_band": None, "gamma": 0.5, **changes})


def test_gigpo_by_hand() -> None:
    """Episode advantages 1 and -1. Returns .5, 1 and 0, 0, 0: in a .5 is compared with 0, in c 1 with 0."""
    group = group_feedback(OUTCOMES, VOTES, config(credit="gigpo"), states=STATES)
    assert [row.tolist() for row in group.policy] == [[2.0, 2.0], [-2.0, -1.0, -2.0]]
    half = group_feedback(OUTCOMES, VOTES, config(credit="gigpo", lam=0.5), states=STATES)
    assert [row.tolist() for row in half.policy] == [[1.5, 1.5], [-1.5, -1.0, -1.5]]
    steps_only = group_feedback(OUTCOMES, VOTES, config(credit="gigpo", outcome_weight=0.0), states=STATES)
    assert [row.tolist() for row in steps_only.policy] == [[1.0, 1.0], [-1.0, 0.0, -1.0]]
    assert [row.tolist() for row in group.rewards] == [[1.5, 2.0], [-1.0, -1.0, -1.0]]


def test_gigpo_counts_every_visit_of_a_state() -> None:
    """The solved episode comes to a twice, with returns .25 and 1, the failed ones once with 0: mean .3125.

    Episodes: outcomes 1, -1, -1 have mean -1/3 and deviation sqrt(8)/3, so sqrt(2) and -1/sqrt(2) twice.
    """
    states = [["a", "b", "a"], ["a"], ["a"]]
    votes = [np.zeros((len(row), 0)) for row in states]
    group = group_feedback([1, -1, -1], votes, config(credit="gigpo"), states=states)
    returns = np.array([0.25, 1.0, 0.0, 0.0])
    assert returns.mean() == 0.3125
    spread = math.sqrt((0.0625**2 + 0.6875**2 + 2 * 0.3125**2) / 4)
    first, last = -0.0625 / spread, 0.6875 / spread
    assert group.policy[0] == pytest.approx(np.array([first, 0.0, last]) + math.sqrt(2))
    assert [row.tolist() for row in group.policy[1:]] == [[pytest.approx(-0.3125 / spread - math.sqrt(0.5))]] * 2


def test_gigpo_knows_no_masked_episode_and_no_empty_one() -> None:
    states = [*STATES, ["a", "c"], []]
    votes = [*VOTES, np.zeros((2, 0)), np.zeros((0, 0))]
    group = group_feedback([1, -1, None, -1], votes, config(credit="gigpo"), states=states)
    a, b = math.sqrt(2), math.sqrt(0.5)  # outcomes 1, -1, -1
    assert group.policy[0] == pytest.approx([a + 1, a + 1])
    assert group.policy[1] == pytest.approx([-b - 1, -b, -b - 1])
    assert [row.tolist() for row in group.policy[2:]] == [[0.0, 0.0], []]
    masked = group_feedback([None, None], VOTES, config(credit="gigpo"), states=STATES)
    assert not np.concatenate(masked.policy).any()


def test_a_filtered_group_has_no_credit() -> None:
    group = group_feedback([1, 1], VOTES, config(credit="gigpo", policy_band=(0.1, 0.9)), states=STATES)
    assert not np.concatenate(group.policy).any()


@pytest.mark.parametrize(
    ("states", "said"), [(None, "pass states="), ([["a"], ["a", "b", "c"]], "one for each"), ([], "one for each")]
)
def test_states_must_fit(states: list[list[str]] | None, said: str) -> None:
    with pytest.raises(FeedbackError, match=said):
        group_feedback(OUTCOMES, VOTES, config(credit="gigpo"), states=states)


@pytest.mark.parametrize("changes", [{"silent": "return"}])
def test_what_only_votes_can_do_is_refused(changes: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="with credit='gigpo'"):
        config(credit="gigpo", **changes)


def test_votes_are_wanted_only_where_they_are_read() -> None:
    """Of ten episodes one is solved: inside the policy's band alone."""
    outcomes = [1] + [-1] * 9
    bands = {"policy_band": (0.1, 0.9), "judge_band": (0.2, 0.8)}
    assert votes_count(outcomes, config(**bands))
    assert not votes_count(outcomes, config(**bands, credit="gigpo"))
    assert not votes_count(outcomes, config(**bands, lam=0.0))
    assert votes_count([1, -1], config(**bands, credit="gigpo")), "the reward model learns from them"
