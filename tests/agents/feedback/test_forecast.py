"""Forecasts: the Brier score by hand, and where a judge that is paid by it ends."""

import numpy as np
import pytest

from rlanything_agents.feedback import judge_advantages
from rlanything_agents.feedback.forecast import BINS, brier_advantages, mean_chance


def test_by_hand() -> None:
    """Chance .4: in a solved episode a forecast of .9 is worth .36 - .01, and one of .1 is worth .36 - .81."""
    chances, sampled = np.array([[0.4, 0.4]]), np.array([[0.9, 0.1]])
    assert brier_advantages(chances, sampled, 1.0) == pytest.approx(np.array([[0.35, -0.45]]))
    assert brier_advantages(chances, sampled, -1.0) == pytest.approx(np.array([[0.16 - 0.81, 0.16 - 0.01]]))
    assert brier_advantages(chances, sampled, np.nan).tolist() == [[0, 0]]
    assert brier_advantages(np.zeros((0, 2)), np.zeros((0, 2)), 1.0).shape == (0, 2)


def test_an_answer_that_cannot_be_read() -> None:
    chances, sampled = np.array([[0.5, np.nan]]), np.array([[0.5, np.nan]])
    assert brier_advantages(chances, sampled, 1.0).tolist() == [[0, 0]]
    assert brier_advantages(chances, sampled, 1.0, unparsable_reward=-2).tolist() == [[0, -2]]


def test_the_chance_is_read_from_all_bins() -> None:
    assert BINS.tolist() == pytest.approx([0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95])
    assert mean_chance(np.eye(10)[9]) == pytest.approx(0.95)
    assert mean_chance(np.array([3.0, *[0] * 8, 1.0])) == pytest.approx((3 * 0.05 + 0.95) / 4)


CHANCES = (0.1, 0.3, 0.45, 0.55, 0.7, 0.9)


def learnt(chance: float) -> float:
    """Forecast of a table of ten bins after gradient steps on the expected advantage, over bins and outcomes."""
    logits = np.zeros(10)
    for _ in range(4000):
        probabilities = np.exp(logits - logits.max())
        probabilities /= probabilities.sum()
        mean = np.full((1, 10), mean_chance(probabilities))
        worth = sum(
            share * brier_advantages(mean, BINS[None], outcome)[0]
            for share, outcome in ((chance, 1.0), (1 - chance, -1.0))
        )
        logits += 5 * probabilities * (worth - probabilities @ worth)
    return mean_chance(probabilities)


@pytest.mark.parametrize("chance", CHANCES)
def test_a_judge_paid_by_it_ends_at_the_chance(chance: float) -> None:
    assert learnt(chance) == pytest.approx(chance, abs=0.051), "within a bin"


@pytest.mark.parametrize("chance", CHANCES)
def test_a_judge_paid_by_consistency_ends_at_one_side(chance: float) -> None:
    """The same with the paper's votes: three votes of +1 with probability p, in exact expectation over the ballots."""
    logit = 0.0
    ballots = np.array([[int(b) * 2 - 1 for b in f"{n:03b}"] for n in range(8)], dtype=float)
    for _ in range(2000):
        p = 1 / (1 + np.exp(-logit))
        weight = np.where(ballots > 0, p, 1 - p).prod(axis=1)
        gradient = 0.0
        for share, outcome in ((chance, 1.0), (1 - chance, -1.0)):
            worth = judge_advantages(outcome + ballots.mean(axis=1), ballots)
            gradient += share * float(weight @ (worth * ((ballots > 0) - p)).sum(axis=1))
        logit += 0.5 * gradient
    assert 1 / (1 + np.exp(-logit)) == pytest.approx(float(chance > 0.5), abs=0.03)


def test_dividing_by_the_spread_would_not_be_proper() -> None:
    """At a chance of .2 forecasts of .1 and .3 are equally good; standardised, the lower one would win."""
    sampled = np.array([[0.1, 0.3]])
    centred = [brier_advantages(np.full((1, 2), 0.2), sampled, outcome)[0] for outcome in (1.0, -1.0)]
    expected = 0.2 * centred[0] + 0.8 * centred[1]
    assert expected[0] == pytest.approx(expected[1])
    standard = [np.sign(row - row.mean()) for row in centred]
    assert 0.2 * standard[0][0] + 0.8 * standard[1][0] == pytest.approx(0.6)
