"""The rules that decide on tried candidates."""

from itertools import product

import numpy as np
import pytest

from rlanything_envs.curriculum import Tally, Trial, acceptance, get_acceptance
from rlanything_task_pools import Outcome

BAND = (0.2, 0.8)


def decide(rule, direction, parent, candidate, n=8):
    decision = get_acceptance(rule).decide(Trial(direction, Tally(parent, n), Tally(candidate, n), BAND))
    return decision.accepted, decision.reason


# (rule, direction, parent's wins, candidate's wins, episodes, accepted, reason), worked by hand from the
# inequalities.
KNOWN = [
    ("paper", "harder", 8, 4, 8, True, "harder"),
    ("paper", "harder", 8, 8, 8, False, "not-harder"),
    ("paper", "harder", 7, 8, 8, False, "not-harder"),
    ("paper", "harder", 8, 1, 8, False, "too-hard"),
    ("paper", "harder", 8, 7, 8, True, "harder"),  # 7/8 is above the band, but below its parent: as published
    ("paper", "easier", 0, 3, 8, True, "easier"),
    ("paper", "easier", 0, 0, 8, False, "not-easier"),
    ("paper", "easier", 1, 7, 8, False, "too-easy"),
    ("paper", "easier", 0, 1, 8, True, "easier"),  # 1/8 is below the band, but above its parent
    # The edges of the band: with ten episodes 2/10 and 8/10 lie on them exactly.
    ("paper", "harder", 10, 2, 10, False, "too-hard"),
    ("paper", "easier", 0, 8, 10, False, "too-easy"),
    ("reference", "harder", 10, 2, 10, True, "harder"),
    ("reference", "easier", 0, 8, 10, True, "easier"),
    ("reference", "harder", 10, 1, 10, False, "too-hard"),
    ("reference", "easier", 0, 9, 10, False, "too-easy"),
    ("reference", "harder", 9, 9, 10, False, "not-harder"),
    ("reference", "easier", 0, 0, 10, False, "not-easier"),
]


@pytest.mark.parametrize(("rule", "direction", "parent", "candidate", "n", "accepted", "reason"), KNOWN)
def test_known_answers(rule, direction, parent, candidate, n, accepted, reason):
    assert decide(rule, direction, parent, candidate, n) == (accepted, reason)


@pytest.mark.parametrize("n", [5, 8, 10])
def test_paper_is_the_published_inequality_everywhere(n):
    low, high = BAND
    for parent, candidate in product(range(n + 1), repeat=2):
        old, new = parent / n, candidate / n
        assert decide("paper", "harder", parent, candidate, n)[0] == (low < new < old)
        assert decide("paper", "easier", parent, candidate, n)[0] == (old < new < high)


@pytest.mark.parametrize("n", [5, 8, 10])
def test_reference_differs_from_paper_on_the_edge_only(n):
    low, high = BAND
    for direction, parent, candidate in product(("harder", "easier"), range(n + 1), range(n + 1)):
        paper, reference = (decide(rule, direction, parent, candidate, n)[0] for rule in ("paper", "reference"))
        if candidate / n not in (low, high):
            assert paper == reference
        assert reference or not paper


def test_nothing_without_a_success_is_accepted():
    for rule, direction, parent in product(("paper", "reference"), ("harder", "easier"), range(9)):
        assert not decide(rule, direction, parent, 0)[0]


def test_tally_leaves_out_broken_episodes():
    outcomes = [outcome(success) for success in (True, None, False, True, None)]
    assert Tally.of(outcomes) == Tally(2, 3)
    assert Tally.of(outcomes).accuracy == pytest.approx(2 / 3)
    assert Tally.of([]).accuracy == 0


def outcome(success):
    return Outcome(success=success, score=float(bool(success)), steps=3, actor="test", role="active")


def test_rules_by_name():
    rule = get_acceptance("paper")
    assert get_acceptance(rule) is rule
    with pytest.raises(ValueError, match="choose from always, paper, recommended, reference"):
        get_acceptance("best")


def test_published_rules_first_want_the_candidate_played():
    for rule, direction in product(("paper", "reference"), ("harder", "easier")):
        decision = get_acceptance(rule).decide(Trial(direction, Tally(8, 8), Tally(0, 0), BAND))
        assert decision.verdict == "more"


# -- posteriors


@pytest.mark.parametrize(("a", "b"), [((0, 0), (0, 0)), ((4, 8), (7, 8)), ((1, 24), (3, 16)), ((40, 48), (8, 8))])
def test_posteriors_agree_with_chance(a, b):
    rng = np.random.default_rng(0)
    one, two = (rng.beta(1 + s, 1 + n - s, 400_000) for s, n in (a, b))
    first, second = acceptance.posterior(*a), acceptance.posterior(*b)
    assert first.sum() == pytest.approx(1)
    assert acceptance.inside(first, 0.2, 0.8) == pytest.approx(((one > 0.2) & (one < 0.8)).mean(), abs=4e-3)
    assert acceptance.below(first, second) == pytest.approx((one < two).mean(), abs=4e-3)
    inside = (one > 0.2) & (one < 0.8)
    assert acceptance.below(first, second, 0.2, 0.8) == pytest.approx(((one < two) & inside).mean(), abs=4e-3)
    assert acceptance.above(first, second, 0.2, 0.8) == pytest.approx(((one > two) & inside).mean(), abs=4e-3)
    assert acceptance.below(first, second) + acceptance.above(first, second) == pytest.approx(1)


# -- the recommended rule


def recommended(direction, trigger, candidate):
    return get_acceptance("recommended").decide(Trial(direction, Tally(*trigger), Tally(*candidate), BAND))


# (direction, group of the parent, candidate, verdict, reason). P is by Monte Carlo of the two Beta posteriors,
# independently of the code.
SEQUENCES = [
    ("harder", (8, 8), (0, 0), "more", "untried"),
    ("harder", (8, 8), (8, 8), "reject", "not-harder"),  # as easy as its parent seemed: no second look
    ("harder", (8, 8), (0, 8), "reject", "too-hard"),
    ("harder", (8, 8), (4, 8), "accept", "harder"),  # P = .95
    ("harder", (7, 8), (4, 8), "more", "unclear"),  # P = .88
    ("harder", (7, 8), (8, 16), "accept", "harder"),  # P = .93
    ("harder", (7, 8), (6, 8), "more", "unclear"),  # P = .44
    ("easier", (0, 8), (4, 8), "accept", "easier"),
    ("easier", (0, 8), (8, 8), "reject", "too-easy"),
    ("easier", (0, 8), (0, 8), "reject", "not-easier"),
    ("harder", (7, 8), (21, 32), "reject", "unclear"),  # the budget of 32 is spent, P = .87
]


@pytest.mark.parametrize(("direction", "parent", "candidate", "verdict", "reason"), SEQUENCES)
def test_the_recommended_rule_step_by_step(direction, parent, candidate, verdict, reason):
    decision = recommended(direction, parent, candidate)
    assert (decision.verdict, decision.reason) == (verdict, reason)
    if candidate[1]:
        draws = np.random.default_rng(0)
        old, new = (draws.beta(1 + wins, 1 + n - wins, 200_000) for wins, n in (parent, candidate))
        right = (new < old) if direction == "harder" else (new > old)
        known = (right & (new > BAND[0]) & (new < BAND[1])).mean()
        assert decision.probability == pytest.approx(known, abs=5e-3)


def test_the_recommended_rule_accepts_only_when_sure():
    for new_n, won in product((8, 16, 24, 32), range(9)):
        for new in range(new_n + 1):
            decision = recommended("harder", (won, 8), (new, new_n))
            assert decision.verdict != "more" or new_n < 32
            if decision.accepted:
                assert decision.probability >= 0.91
                assert new / new_n < won / 8
                assert BAND[0] < new / new_n < BAND[1]


def test_the_recommended_rule_is_the_same_in_a_mirror():
    """Harder with wins is easier with losses."""
    for new, won in product(range(17), range(9)):
        one = recommended("harder", (won, 8), (new, 16))
        two = recommended("easier", (8 - won, 8), (16 - new, 16))
        assert one.verdict == two.verdict
        assert one.probability == pytest.approx(two.probability, abs=1e-9)


def test_some_tasks_need_no_trial():
    assert get_acceptance("always").decide(Trial("harder", Tally(8, 8), Tally(0, 0), BAND)).accepted
