"""The simulation of acceptance rules, against exact answers and against what is promised of them."""

from math import comb

import pytest

from rlanything_envs.curriculum import DefaultAcceptance, Tally, Trial, get_acceptance
from rlanything_envs.curriculum.power import CANDIDATES, PARENTS, EndlessTrial, Figures, grid, simulate
from rlanything_envs.errors import CurriculumError

BAND = (0.2, 0.8)


def binomial(k, p, n=8):
    return comb(n, k) * p**k * (1 - p) ** (n - k)


def exact(parent, candidate):
    """Probability that the published rule accepts, given that a group of 8 of the parent left the band."""
    rule = get_acceptance("paper")
    outside = [k for k in range(9) if not BAND[0] < k / 8 < BAND[1]]
    both = sum(
        binomial(k, parent) * binomial(new, candidate)
        for k in outside
        for new in range(9)
        if rule.decide(Trial("harder" if k > 4 else "easier", Tally(k, 8), Tally(new, 8), BAND)).accepted
    )
    return both / sum(binomial(k, parent) for k in outside)


@pytest.mark.parametrize(("parent", "candidate"), [(0.9, 0.9), (0.85, 0.85), (0.95, 0.95), (0.1, 0.5), (0.9, 0.05)])
def test_the_simulation_gives_the_exact_probabilities(parent, candidate):
    cell = simulate(get_acceptance("paper"), parent, candidate, trials=40_000)
    assert cell.accepted == pytest.approx(exact(parent, candidate), abs=0.01)
    outside = [k for k in range(9) if not BAND[0] < k / 8 < BAND[1]]
    assert cell.triggered == pytest.approx(sum(binomial(k, parent) for k in outside))
    assert (cell.rollouts, cell.parent_rollouts, cell.max_rollouts) == (8, 0, 8)


def test_what_is_promised_of_the_default_rule():
    (cells, figures) = grid([DefaultAcceptance()], trials=4000, seed=1), None
    figures = Figures.of(cells)
    assert figures.unchanged <= 0.05
    assert figures.down_to_middle >= 0.80
    assert figures.up_to_middle >= 0.80
    assert figures.out_of_band <= 0.05
    assert figures.rollouts <= 32
    needed = [c for c in cells if c.parent == c.candidate or (c.parent, c.candidate) in {(0.9, 0.5), (0.1, 0.5)}]
    assert max(cell.rollouts for cell in needed) <= 32
    assert max(cell.max_rollouts for cell in cells) <= 48


@pytest.mark.parametrize("rule", ["paper", "reference"])
def test_the_published_rules_take_unchanged_tasks_for_changed_ones(rule):
    cells = [simulate(get_acceptance(rule), p, p, trials=4000) for p in (0.05, 0.1, 0.15, 0.85, 0.9, 0.95)]
    assert all(0.2 < cell.accepted < 0.55 for cell in cells)
    assert all(cell.wrong == cell.accepted for cell in cells)


def test_wrong_are_the_candidates_that_are_useless():
    rule = get_acceptance("paper")
    assert simulate(rule, 0.9, 0.5, trials=500).wrong == 0
    assert simulate(rule, 0.9, 0.2, trials=500).wrong == simulate(rule, 0.9, 0.2, trials=500).accepted > 0
    both_ways = simulate(rule, 0.5, 0.6, trials=4000)  # right as an easier task, wrong as a harder one
    assert 0 < both_ways.wrong < both_ways.accepted


def test_the_same_seed_gives_the_same_grid():
    one, two = (grid([get_acceptance("default")], (0.9,), (0.5, 0.9), trials=200, seed=4) for _ in range(2))
    assert one == two
    assert grid([get_acceptance("default")], (0.9,), (0.5, 0.9), trials=200, seed=5) != one
    assert len(grid([get_acceptance("paper")], trials=2)) == len(PARENTS) * len(CANDIDATES)


class Insatiable:
    name = "insatiable"

    def decide(self, trial):
        from rlanything_envs.curriculum import Decision

        return Decision("more", "never", "active")


def test_what_cannot_be_simulated_is_said():
    with pytest.raises(EndlessTrial, match="insatiable"):
        simulate(Insatiable(), 0.5, 0.5, trials=2)
    for arguments in ({"parent": 0.0}, {"candidate": 1.5}, {"trials": 0}, {"rollouts": 0}, {"band": (0.8, 0.2)}):
        with pytest.raises(CurriculumError, match="simulate"):
            simulate(get_acceptance("paper"), **{"parent": 0.5, "candidate": 0.5, "trials": 2, **arguments})
    with pytest.raises(CurriculumError, match="Figures"):
        Figures.of([simulate(get_acceptance("paper"), 0.5, 0.5, trials=2)])
