"""The rules that decide on tried candidates."""

from itertools import product

import pytest

from rlanything_envs.curriculum import Tally, Trial, get_acceptance
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
    with pytest.raises(ValueError, match="choose from paper, reference"):
        get_acceptance("best")
