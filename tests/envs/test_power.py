"""The simulation of acceptance rules, against exact answers and against what is promised of them."""

from math import comb

import numpy as np
import pytest

from rlanything_envs.curriculum import RecommendedAcceptance, Tally, Trial, get_acceptance, posterior
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
    assert (cell.rollouts, cell.max_rollouts) == (8, 8)


class Measuring:
    """The rule that was recommended before: it leaves out the group that triggered the rewrite, and asks for groups of
    the parent in its place; here the parent's groups are those of `simulate`'s candidate, played by hand."""

    def __init__(self, rng, parent, candidate):
        self.rng, self.rates = rng, {"active": parent, "candidate": candidate}

    def trial(self, direction):
        """Whether the candidate is accepted, and the episodes played."""
        counts = {"active": [0, 0], "candidate": [0, 0]}
        self.play(counts, "candidate")
        side = posterior.below if direction == "harder" else posterior.above
        while True:
            new, old = (posterior.posterior(*counts[role]) for role in ("candidate", "active"))
            right = side(new, old, *BAND)
            played = counts["active"][1] + counts["candidate"][1]
            if counts["active"][1] and right >= 0.9:
                return True, played
            if right <= 0.2 or (counts["active"][1] and played >= 48):
                return False, played
            gains = {role: self.gain(*counts[role]) for role in counts}
            first = not counts["active"][1] or gains["active"] > gains["candidate"]
            self.play(counts, "active" if first else "candidate")

    def play(self, counts, role):
        counts[role][0] += int(self.rng.binomial(8, self.rates[role]))
        counts[role][1] += 8

    @staticmethod
    def gain(won, n):
        return (won + 1) * (n - won + 1) / ((n + 2) ** 2 * (n + 3) * (n + 10))


def measured_again(parent, candidate, trials=1500):
    """Share of accepted candidates and mean episodes, where the parent is measured again."""
    rng = np.random.default_rng([round(100 * parent), round(100 * candidate)])
    outside = {k: binomial(k, parent) for k in range(9) if not BAND[0] < k / 8 < BAND[1]}
    easy = sum(p for k, p in outside.items() if k > 4) / sum(outside.values())
    found = [
        Measuring(rng, parent, candidate).trial("harder" if rng.random() < easy else "easier") for _ in range(trials)
    ]
    return np.mean(found, axis=0)


def test_what_is_promised_of_the_recommended_rule():
    figures = Figures.of(cells := grid([RecommendedAcceptance()], trials=4000, seed=1))
    assert figures.unchanged <= 0.035
    assert figures.down_to_middle >= 0.93
    assert figures.up_to_middle >= 0.93
    assert figures.out_of_band <= 0.01
    assert figures.rollouts <= 17.5
    assert max(cell.max_rollouts for cell in cells) <= 32


def test_keeping_the_group_that_triggered_a_rewrite_costs_fewer_episodes_at_equal_error():
    """Against a rule that measures the parent again: as few unchanged tasks, more of the moved ones, fewer episodes."""
    kept = Figures.of(grid([RecommendedAcceptance()], PARENTS, (*PARENTS, 0.5), trials=4000, seed=1))
    before = {pair: measured_again(*pair) for pair in [*((p, p) for p in PARENTS), (0.9, 0.5), (0.1, 0.5), (0.9, 0.05)]}
    unchanged = np.mean([before[p, p][0] for p in PARENTS])
    assert unchanged == pytest.approx(0.027, abs=0.006)  # the figures that were measured for it
    episodes = np.mean([played for _, played in before.values()])
    assert episodes == pytest.approx(18.8, abs=0.6)
    assert kept.unchanged <= unchanged + 0.006
    assert kept.down_to_middle >= before[0.9, 0.5][0] - 0.01
    assert kept.up_to_middle >= before[0.1, 0.5][0] - 0.01
    assert kept.rollouts <= episodes - 1


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
    one, two = (grid([get_acceptance("recommended")], (0.9,), (0.5, 0.9), trials=200, seed=4) for _ in range(2))
    assert one == two
    assert grid([get_acceptance("recommended")], (0.9,), (0.5, 0.9), trials=200, seed=5) != one
    assert len(grid([get_acceptance("paper")], trials=2)) == len(PARENTS) * len(CANDIDATES)


class Insatiable:
    name = "insatiable"

    def decide(self, trial):
        from rlanything_envs.curriculum import Decision

        return Decision("more", "never")


def test_what_cannot_be_simulated_is_said():
    with pytest.raises(EndlessTrial, match="insatiable"):
        simulate(Insatiable(), 0.5, 0.5, trials=2)
    for arguments in ({"parent": 0.0}, {"candidate": 1.5}, {"trials": 0}, {"rollouts": 0}, {"band": (0.8, 0.2)}):
        with pytest.raises(CurriculumError, match="simulate"):
            simulate(get_acceptance("paper"), **{"parent": 0.5, "candidate": 0.5, "trials": 2, **arguments})
    with pytest.raises(CurriculumError, match="Figures"):
        Figures.of([simulate(get_acceptance("paper"), 0.5, 0.5, trials=2)])
