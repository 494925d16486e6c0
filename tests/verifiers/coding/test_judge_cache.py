"""Runs are not made twice, where twice would give the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_verifiers.coding import Limits, Run, judge
from rlanything_verifiers.coding.cache import RUNS, RunCache, digest


class Counting:
    """A sandbox that counts, and ends every run the same way."""

    workers, tier, identity = 1, "counting", "counting"

    def __init__(self, status="OK"):
        self.status, self.runs = status, 0

    def run(self, program, inputs, limits, stop=None, language="python"):
        self.runs += len(inputs)
        return [Run(self.status, data) for data in inputs]


@pytest.fixture(autouse=True)
def fresh_cache():
    RUNS.clear()
    yield
    RUNS.clear()


def test_the_same_program_on_the_same_input_runs_once():
    box, tests = Counting(), [("1", "1"), ("2", "2")]
    first = judge("p", tests, sandbox=box)
    assert judge("p", tests, sandbox=box) == first
    assert box.runs == 2
    judge("p", [*tests, ("3", "3")], sandbox=box)
    assert box.runs == 3  # only what is new
    assert judge("p", [("1", "5")], sandbox=box).verdicts == ("WA",)  # verdicts are not kept, runs are
    assert box.runs == 3
    for changed in ({"program": "q"}, {"limits": Limits(cpu=1.0)}, {"cache": False}):
        before = box.runs
        judge(**{"program": "p", "tests": tests, "sandbox": box} | changed)
        assert box.runs == before + 2
    box.identity = "another"
    judge("p", tests, sandbox=box)
    assert box.runs == 11
    judge("p", tests, sandbox=box, language="cpp")
    assert box.runs == 13


@pytest.mark.parametrize(("status", "runs"), [("RE", 1), ("TLE", 1), ("CE", 1), ("TLE_WALL", 2), ("IE", 2)])
def test_what_load_or_we_have_done_is_not_kept(status, runs):
    box = Counting(status)
    for _ in range(2):
        assert judge("p", [("1", "1")], sandbox=box).verdicts == (status,)
    assert box.runs == runs


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 4000)), max_size=60))
def test_memory_is_bounded_and_the_latest_stay(puts):
    cache = RunCache(max_bytes=10_000)
    key = [(b"p", digest(str(i).encode()), Limits(), "full", "python") for i in range(21)]
    for i, size in puts:
        cache.put([(key[i], Run("OK", b"x" * size))])
        assert cache.get(key[i]) is not None
        assert sum(len(run.stdout) + 1024 for k in key if (run := cache.get(k))) <= 10_000
    cache.put([(key[0], Run("OK", b"x" * 20_000))])
    assert len(cache) <= 9
    cache.clear()
    assert len(cache) == 0
    assert cache.get(key[0]) is None
