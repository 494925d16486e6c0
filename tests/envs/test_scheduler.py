"""Which slots are played next."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_envs.curriculum import LearnabilityScheduler, Standings, Tally, get_scheduler
from rlanything_envs.errors import CurriculumError

NAMES = ("published", "uniform", "learnability")


def rng(seed=0):
    return np.random.default_rng(seed)


def standings(slots=8, pending=(), recent=None):
    recent = recent or {}
    return Standings(list(range(slots)), list(pending), lambda slot: recent.get(slot, Tally(0, 0)))


@given(
    name=st.sampled_from(NAMES),
    n=st.integers(0, 30),
    slots=st.integers(1, 12),
    seed=st.integers(0, 9),
    share=st.floats(0, 1),
)
def test_batches_are_full_even_and_repeatable(name, n, slots, seed, share):
    pending = [int(slot) for slot in rng(seed).permutation(slots)[: int(share * slots)]]
    recent = {slot: Tally(slot % 9, 8) for slot in range(slots)}
    view = standings(slots, pending, recent)
    chosen = get_scheduler(name).choose(n, view, rng(seed))
    assert chosen == get_scheduler(name).choose(n, view, rng(seed))
    assert len(chosen) == n
    assert all(type(slot) is int for slot in chosen)
    assert set(chosen) <= set(range(slots))
    if n <= slots:
        assert len(set(chosen)) == n
    if name != "uniform":
        assert chosen[: len(pending)] == pending[:n]


def share(name, view, slot, n=1, trials=3000):
    generator = rng(7)
    scheduler = get_scheduler(name)
    return sum(slot in scheduler.choose(n, view, generator) for _ in range(trials)) / trials


def test_uniform_gives_candidates_no_precedence():
    assert share("uniform", standings(8, [3]), 3) == pytest.approx(1 / 8, abs=0.03)
    assert share("published", standings(8, [3]), 3) == 1


def test_published_draws_the_active_tasks_uniformly():
    assert share("published", standings(8, [3]), 5, n=2) == pytest.approx(1 / 7, abs=0.03)


def test_learnability_draws_in_proportion_to_p_one_minus_p():
    # Beta(1,1): 1/6; 4 of 8: 5*5/(10*11) = 25/110; 8 of 8: 9*1/(10*11) = 9/110.
    scheduler = LearnabilityScheduler()
    assert scheduler.learnability(Tally(0, 0)) == pytest.approx(1 / 6)
    assert scheduler.learnability(Tally(4, 8)) == pytest.approx(25 / 110)
    assert scheduler.learnability(Tally(8, 8)) == scheduler.learnability(Tally(0, 8)) == pytest.approx(9 / 110)
    view = standings(3, recent={0: Tally(4, 8), 1: Tally(8, 8), 2: Tally(0, 8)})
    assert share("learnability", view, 0) == pytest.approx(25 / 43, abs=0.03)
    assert share("learnability", view, 1) == pytest.approx(9 / 43, abs=0.03)


def test_by_name():
    scheduler = get_scheduler("uniform")
    assert get_scheduler(scheduler) is scheduler
    with pytest.raises(CurriculumError, match="choose from learnability, published, replay, uniform"):
        get_scheduler("best")
    with pytest.raises(CurriculumError, match="prior"):
        LearnabilityScheduler(0)
