"""Votes that are real numbers, and potential-based shaping as such votes: it changes no best policy."""

import itertools
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_agents.feedback import FeedbackConfig, feedback_stats, group_feedback, potential_votes, step_credit

POTENTIAL = st.floats(-5, 5, allow_nan=False)


def test_real_votes_by_hand() -> None:
    """Mean votes .5, -.25 and 0, 0: unreadable ones count 0 in the mean, and a vote of 0 is read."""
    votes = [[[0.25, 0.75], [0.5, -1.0]], [[0.25, -0.25], [None, 0.0]]]
    group = group_feedback([1, -1], votes, FeedbackConfig(lam=2.0))
    assert [row.tolist() for row in group.rewards] == [[2.0, 0.5], [-1.0, -1.0]]
    # The judge's rewards of step 0 are 2 * .25 and 2 * .75; a vote of 0 earns what an unreadable one does.
    assert group.judge[0][0].tolist() == [-1, 1]
    assert group.judge[1][1].tolist() == [0, 0]
    stats = feedback_stats([group])
    assert stats.unparsable_rate == pytest.approx(1 / 8)
    assert (stats.p_plus, stats.p_minus) == (0.75, 0.5)  # of the votes with a sign: 3 of 4, 1 of 2
    assert stats.mixed_rate == 1.0


@given(st.lists(POTENTIAL, max_size=8), st.floats(0, 1))
def test_the_shaping_of_an_episode_telescopes(potentials: list[float], gamma: float) -> None:
    """From any step on the discounted sum is minus the potential there, where that at the end is 0."""
    credit = step_credit(potential_votes([*potentials, 0.0], gamma), credit="return", gamma=gamma)
    assert credit == pytest.approx(-np.array(potentials), abs=1e-9)


@given(st.lists(POTENTIAL, min_size=1, max_size=8), st.floats(0, 1))
def test_with_another_end_the_rest_is_what_the_end_is_worth(potentials: list[float], gamma: float) -> None:
    n = len(potentials) - 1
    credit = step_credit(potential_votes(potentials, gamma), credit="return", gamma=gamma)
    end = potentials[-1] * gamma ** (n - np.arange(n))
    assert credit == pytest.approx(end - np.array(potentials[:-1]), abs=1e-9)


# A game of four places in a row, and an end that wins: 0 - 1 - 2 - 3 - end. "left" and "right" move by one, "leap" by
# two; after HORIZON steps the game is lost.
PLACES, END, MOVES, HORIZON = 4, 4, {"left": -1, "right": 1, "leap": 2}, 4
TRAP = 2
"""Place from which a leap loses the game at once."""


def moved(place: int, move: str) -> tuple[int, bool]:
    """Next place, and whether the game is over there."""
    if place == TRAP and move == "leap":
        return place, True
    after = min(END, max(0, place + MOVES[move]))
    return after, after == END


def values(phi: np.ndarray, gamma: float) -> dict[tuple[int, str], float]:
    """Action values by value iteration, with the shaping rewards of a potential that is 0 once the game is over."""

    def potential(place: int, over: bool) -> float:
        return 0.0 if over else float(phi[place])

    worth, found = np.zeros(PLACES), {}
    for _ in range(200):
        for place, move in itertools.product(range(PLACES), MOVES):
            after, over = moved(place, move)
            reward = float(after == END) + gamma * potential(after, over) - phi[place]
            found[place, move] = float(reward + (0.0 if over else gamma * worth[after]))
        worth = np.array([max(found[place, move] for move in MOVES) for place in range(PLACES)])
    return found


def best_moves(found: dict[tuple[int, str], float]) -> dict[int, set[str]]:
    best = {place: max(found[place, move] for move in MOVES) for place in range(PLACES)}
    return {place: {m for m in MOVES if found[place, m] > best[place] - 1e-9} for place in range(PLACES)}


@given(st.lists(POTENTIAL, min_size=PLACES, max_size=PLACES), st.sampled_from([0.5, 0.9]))
def test_shaping_leaves_the_best_policy_of_a_game(phi: list[float], gamma: float) -> None:
    """Ng, Harada and Russell (1999), theorem 1 and corollary 2, by value iteration."""
    plain, shaped = values(np.zeros(PLACES), gamma), values(np.array(phi), gamma)
    assert best_moves(shaped) == best_moves(plain)
    for (place, move), worth in shaped.items():
        assert worth == pytest.approx(plain[place, move] - phi[place], abs=1e-6)


def episodes() -> Iterator[tuple[float, list[tuple[int, str]], list[int]]]:
    """Every play of the game from every place: its outcome, its steps, and the places before each step."""
    for start, moves in itertools.product(range(PLACES), itertools.product(MOVES, repeat=HORIZON)):
        place, steps, over = start, list[tuple[int, str]](), False
        for move in moves:
            steps.append((place, move))
            place, over = moved(place, move)
            if over:
                break
        yield (1.0 if place == END else -1.0), steps, [state for state, _ in steps]


def action_worth(phi: np.ndarray, config: FeedbackConfig) -> dict[tuple[int, int, str], float]:
    """Mean reward that feedback gives a move at a step index in a place, under the policy that plays by chance."""
    played = list(episodes())
    votes = [potential_votes([*phi[places], 0.0], config.gamma) for _, _, places in played]
    group = group_feedback([outcome for outcome, _, _ in played], votes, config)
    found = defaultdict[tuple[int, int, str], list[float]](list)
    for (_, steps, _), rewards in zip(played, group.rewards, strict=True):
        for i, ((place, move), reward) in enumerate(zip(steps, rewards, strict=True)):
            found[i, place, move].append(float(reward))
    return {key: float(np.mean(rewards)) for key, rewards in found.items()}


def ranked(worth: dict[tuple[int, int, str], float]) -> dict[tuple[int, int], list[str]]:
    """Moves of each step index and place, the best first."""
    places = {(i, place) for i, place, _ in worth}
    return {(i, place): sorted(MOVES, key=lambda move: (-round(worth[i, place, move], 9), move)) for i, place in places}


def test_shaping_by_feedback_leaves_the_order_of_the_moves() -> None:
    """As in the theorem, what a move earns more than another in a place is the same with the potential and without."""
    for seed in range(5):
        phi = np.random.default_rng(seed).normal(scale=3, size=PLACES)
        config = FeedbackConfig(credit="return", gamma=0.9, lam=1.0)
        plain, shaped = action_worth(np.zeros(PLACES), config), action_worth(phi, config)
        assert ranked(shaped) == ranked(plain)
        for (i, place, move), worth in shaped.items():
            assert worth == pytest.approx(plain[i, place, move] - phi[place], abs=1e-9)


def test_votes_that_count_for_their_own_step_alone_do_not() -> None:
    """The theorem is about returns: the same differences as myopic votes lure the policy to high potential."""
    phi = np.array([0.0, 5.0, 0.0, 0.0])
    config = FeedbackConfig(credit="vote", gamma=0.9, lam=1.0)
    assert ranked(action_worth(phi, config)) != ranked(action_worth(np.zeros(PLACES), config))
