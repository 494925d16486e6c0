"""The model of an engine, against what can be worked out exactly."""

from collections.abc import Generator

import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st

from rlanything_agents.planning.engine import Engine
from rlanything_agents.planning.speed import EngineSpeed

SPEED = EngineSpeed(parallel=1, operations=1.0, a_step=0.1, a_token=0.01, a_cached=0.001)


def finish_times(jobs: list[tuple[float, float, float]], capacity: int = 100) -> tuple[list[float], Engine]:
    """When each job (arrival, prompt, tokens) of a cold engine is done."""
    env = simpy.Environment()
    engine = Engine(env, SPEED, capacity)
    done = [0.0] * len(jobs)

    def job(number: int, arrival: float, prompt: float, tokens: float) -> Generator[simpy.Event, None, None]:
        yield env.timeout(arrival)
        yield engine.generate(prompt, tokens, 0.0)
        done[number] = env.now

    for number, each in enumerate(jobs):
        env.process(job(number, *each))
    env.run()
    return done, engine


def test_one_sequence() -> None:
    (end,), engine = finish_times([(2.0, 50.0, 10.0)])
    assert end == pytest.approx(2.0 + 50 * 0.01 + 10 * (0.1 + 0.01))
    assert engine.busy == pytest.approx(end - 2.0)
    assert engine.tokens == 60


def test_a_cache_costs_reading() -> None:
    env = simpy.Environment()
    engine = Engine(env, SPEED, 10)
    env.run(engine.generate(0.0, 10.0, 500.0))
    assert env.now == pytest.approx(10 * (0.1 + 0.01 + 500 * 0.001))


def test_equal_sequences_share_every_step() -> None:
    ends, _ = finish_times([(0.0, 20.0, 10.0)] * 4)
    assert ends == pytest.approx([4 * 20 * 0.01 + 10 * (0.1 + 4 * 0.01)] * 4)


def test_a_short_one_leaves_and_the_long_one_is_faster_then() -> None:
    ends, _ = finish_times([(0.0, 0.0, 10.0), (0.0, 0.0, 30.0)])
    together = 10 * (0.1 + 2 * 0.01)
    assert ends == pytest.approx([together, together + 20 * (0.1 + 0.01)])


def test_beyond_its_capacity_sequences_wait() -> None:
    ends, _ = finish_times([(0.0, 0.0, 10.0)] * 3, capacity=1)
    a_sequence = 10 * 0.11
    assert ends == pytest.approx([a_sequence, 2 * a_sequence, 3 * a_sequence])


def test_throughput_saturates() -> None:
    rates = []
    for batch in (1, 8, 64, 512):
        ends, _ = finish_times([(0.0, 0.0, 100.0)] * batch, capacity=512)
        rates.append(batch * 100 / ends[0])
    assert rates == sorted(rates)
    assert rates[-1] < 1 / SPEED.a_token
    assert rates[-1] / rates[-2] < rates[1] / rates[0]


JOBS = st.lists(
    st.tuples(st.floats(0, 10), st.floats(0, 100), st.floats(0.5, 50)),
    min_size=1,
    max_size=20,
)


@settings(max_examples=60)
@given(JOBS, st.integers(1, 8))
def test_every_sequence_is_done_and_little_s_law_holds(jobs: list[tuple[float, float, float]], capacity: int) -> None:
    ends, engine = finish_times(jobs, capacity)
    stays = [end - arrival for end, (arrival, _, _) in zip(ends, jobs, strict=True)]
    assert engine.finished == len(jobs)
    assert engine.load == 0
    assert engine.present == pytest.approx(sum(stays))  # mean number x time = number x mean stay
    assert engine.tokens == pytest.approx(sum(prompt + tokens for _, prompt, tokens in jobs))
    assert engine.busy == pytest.approx(sum(end - begin for begin, end in engine.spans))
    assert engine.busy <= max(ends) + 1e-9
    # Whatever the order, nobody is faster than alone, and the engine is not slower than one after the other.
    alone = [prompt * 0.01 + tokens * 0.11 for _, prompt, tokens in jobs]
    assert all(stay >= least - 1e-6 for stay, least in zip(stays, alone, strict=True))
    assert max(ends) <= max(arrival for arrival, _, _ in jobs) + sum(alone) + 1e-6
