"""Mixtures of tasks: the shares hold for every beginning of the list, and the knobs reach the generator."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from rlanything_agents.config import Part
from rlanything_agents.rollout.tasks import generate_tasks, parts_of
from rlanything_task_pools.alfworld import DOMAIN


def test_three_to_one() -> None:
    assert parts_of([Part(share=3), Part(share=1)], 8) == [0, 0, 1, 0, 0, 0, 1, 0]


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=5), st.integers(0, 200))
def test_every_beginning_has_the_shares(shares: list[float], count: int) -> None:
    chosen = parts_of([Part(share=share) for share in shares], count)
    for length in range(count + 1):
        given_ = Counter(chosen[:length])
        for k, share in enumerate(shares):
            # No part is ever ahead of its share by a whole task, so none lags by more than the others are ahead.
            ahead = given_[k] - share / sum(shares) * length
            assert -len(shares) < ahead < 1 + 1e-9


def test_the_knobs_of_each_part_reach_the_generator() -> None:
    mixture = [Part(share=1, knobs={"kinds": ["heat"]}), Part(share=1, knobs={"kinds": ["cool"]})]
    tasks = generate_tasks(DOMAIN, "valid_seen", range(50, 54), mixture)
    kinds = [task.payload["goal"]["kind"] for task in tasks]
    assert sorted(kinds) == ["cool", "cool", "heat", "heat"]
    assert tasks[0] == DOMAIN.generate(50, "valid_seen", kinds=kinds[:1])
