"""Schedules, where the time is known exactly, and what holds in all of them."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from cases import KNOWN, SMALL, TINY, certain, cluster, demand
from hypothesis import given, settings
from hypothesis import strategies as st

from rlanything_agents.config.cluster import ClusterConfig
from rlanything_agents.planning import PlanError, simulate
from rlanything_agents.planning.cards import CARDS
from rlanything_agents.planning.demand import draw, middle
from rlanything_agents.planning.forecast import Interval, forecast, forecast_sweep
from rlanything_agents.planning.schedules import SCHEDULES
from rlanything_agents.planning.simulation import PARTS, Outcome
from rlanything_agents.planning.speed import EngineSpeed, update_seconds

A100 = CARDS["A100-80GB"]
UNSAID = {
    "prompt_tokens": (500.0, 1500.0),
    "observation_tokens": (30.0, 150.0),
    "response_tokens": (200.0, 500.0),  # a fifth to a half of 1,000
    "vote_tokens": (200.0, 500.0),
}


def run(schedule: str = "synchronous", known: dict[str, float] | None = None, **changes: Any) -> Outcome:
    machines = changes.pop("machines", cluster())
    without = changes.pop("without", ())
    return simulate(demand(**changes), machines, {**KNOWN, **(known or {})}, 0, schedule, without)  # type: ignore[arg-type]


def test_one_card_and_nothing_left_to_chance() -> None:
    """Every phase by hand: 8 episodes of one step, two votes each, both updates, new weights."""
    out = run()
    policy = EngineSpeed.of(SMALL, A100, 1, KNOWN)
    judge = EngineSpeed.of(TINY, A100, 1, KNOWN)
    reading = 8 * policy.prefill_seconds(100)
    rollouts = 3.0 + 1.0 + reading + 20 * policy.step_seconds(8, 8 * 110) + 0.25
    assert out.phases["rollouts"] == pytest.approx(rollouts)
    prompt = 100 + 20 + 10
    writing = 30 * judge.step_seconds(16, 16 * (prompt + 15))
    judging = rollouts + 3.0 + 8 * judge.prefill_seconds(prompt) + writing
    assert out.phases["judging"] == pytest.approx(judging)
    learned = 0.5 * 8 * (100 + 20)
    first = judging + update_seconds(SMALL, learned, 1, A100, KNOWN)
    assert out.phases["policy update"] == pytest.approx(first)
    voted = 0.5 * 16 * (100 + 0.5 * 10 + 30)
    second = first + update_seconds(TINY, voted, 1, A100, KNOWN)
    assert out.phases["judge update"] == pytest.approx(second)
    assert out.seconds == pytest.approx(second + 2 * (SMALL.parameters + TINY.parameters) / 10e9)


def test_workers_that_are_too_few_make_environments_wait() -> None:
    wide, narrow = run(), run(machines=cluster(workers=2))
    assert narrow.phases["rollouts"] - wide.phases["rollouts"] == pytest.approx(3 * 1.0 + 3 * 0.25)  # 8 on 2 workers


def test_environments_that_are_too_few_are_played_on_one_after_the_other() -> None:
    all_at_once, halves = run(), run(environments=4)
    policy = EngineSpeed.of(SMALL, A100, 1, KNOWN)
    a_half = 1.0 + 4 * policy.prefill_seconds(100) + 20 * policy.step_seconds(4, 4 * 110) + 0.25
    assert halves.phases["rollouts"] == pytest.approx(3.0 + 2 * a_half)
    assert halves.phases["rollouts"] > all_at_once.phases["rollouts"]


def test_two_blocks_halve_what_can_be_halved() -> None:
    two = run(machines=cluster(gpus=2))
    policy = EngineSpeed.of(SMALL, A100, 1, KNOWN)
    a_half = 4 * policy.prefill_seconds(100) + 20 * policy.step_seconds(4, 4 * 110)
    assert two.phases["rollouts"] == pytest.approx(3.0 + 1.0 + a_half + 0.25)


def test_idle_cards_by_hand() -> None:
    """One card, only playing: busy while it reads and writes, idle while it wakes and environments work."""
    out = run(judge=None, without=("updates",), known={"sync_rate": 1e12})
    assert out.idle == pytest.approx((3.0 + 1.0 + 0.25) / out.seconds)
    operations = 2 * SMALL.parameters * 8 * (100 + 20)
    assert out.useful == pytest.approx(operations / (A100.flops * out.seconds))


def test_a_rewrite_by_a_model_on_the_cards() -> None:
    with_model = run(rewriter=TINY, rewrites=True)
    engine = EngineSpeed.of(TINY, A100, 1, KNOWN)
    seconds = 3.0 + 4 * engine.prefill_seconds(100) + 50 * engine.step_seconds(4, 4 * 125) + 0.5
    assert with_model.seconds - run().seconds == pytest.approx(seconds)
    assert with_model.rewrites == 4


def test_a_service_rewrites_beside_the_updates() -> None:
    known = {"rewrite_tokens": 100.0}
    first = run("synchronous", known, rewrites=True, service=True)
    beside = run("overlapped", known, rewrites=True, service=True)
    assert first.seconds - run("synchronous").seconds == pytest.approx(100 / 50 + 0.5)
    assert beside.seconds - run("overlapped").seconds < 1e-6


def test_unit_tests_are_asked_once_a_task() -> None:
    out = run(judges_steps=False, votes=3)
    assert (out.votes, out.judged) == (4 * 3, 8)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("judge", [TINY, None])
@pytest.mark.parametrize("rewriter", [TINY, None])
def test_nothing_is_lost_and_nothing_is_done_twice(schedule: str, judge: Any, rewriter: Any) -> None:
    known = {"won_length": 0.5, "success": 0.6, "spread": 0.5}
    machines = cluster(nodes=2, gpus=2)
    out = run(schedule, known, max_steps=9, judge=judge, rewriter=rewriter, rewrites=True, machines=machines)
    assert out.episodes == 8
    assert 8 <= out.steps <= 72
    assert out.rewrites == 4
    assert (out.judged, out.votes) == ((8, 2 * out.steps) if judge else (0, 0))
    assert 0 <= out.idle < 1
    assert 0 < out.useful < 1
    for block in {span.block for span in out.spans}:
        spans = [span for span in out.spans if span.block == block]
        ordered = sorted(spans, key=lambda span: (span.begin, span.end))
        assert all(a.end <= b.begin + 1e-9 for a, b in pairwise(ordered))
        assert all(0 <= span.begin <= span.end <= out.seconds + 1e-9 for span in spans)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_seed_is_an_iteration(schedule: str) -> None:
    known = {"success": 0.5, "spread": 0.5}
    first, again = (run(schedule, known, max_steps=8, machines=cluster(gpus=4)) for _ in range(2))
    assert first == again


def test_lengths_do_not_depend_on_the_schedule() -> None:
    known = {"success": 0.5, "spread": 0.5}
    outcomes = [run(schedule, known, max_steps=8, machines=cluster(gpus=4)) for schedule in SCHEDULES]
    assert len({(o.steps, o.votes, o.judged) for o in outcomes}) == 1


@settings(max_examples=25)
@given(
    seed=st.integers(0, 1000),
    tasks=st.integers(1, 5),
    rollouts=st.integers(2, 6),
    max_steps=st.integers(1, 12),
    gpus=st.sampled_from([1, 2, 4]),
    workers=st.integers(1, 8),
    rewriter=st.sampled_from([TINY, None]),
)
def test_overlapping_never_takes_longer(
    seed: int, tasks: int, rollouts: int, max_steps: int, gpus: int, workers: int, rewriter: Any
) -> None:
    wanted = demand(
        tasks=tasks,
        rollouts=rollouts,
        environments=tasks * rollouts,
        max_steps=max_steps,
        rewriter=rewriter,
        rewrites=True,
    )
    machines = cluster(gpus=gpus, workers=workers)
    drawn = draw(machines.assumptions, wanted, np.random.default_rng(seed))
    synchronous, overlapped = (simulate(wanted, machines, drawn, seed, name) for name in SCHEDULES[:2])
    # Work that meets in another order makes other batches: a per cent is what that costs at most.
    assert overlapped.seconds <= synchronous.seconds * 1.01 + 1e-6
    for part in PARTS:
        without = simulate(wanted, machines, drawn, seed, "synchronous", (part,))
        if part != "raggedness":  # equal lengths are other lengths
            assert without.seconds <= synchronous.seconds * 1.001 + 1e-6


def test_ragged_episodes_are_where_overlapping_pays() -> None:
    known = {"success": 0.5, "won_length": 0.2, "spread": 0.5}
    machines = cluster(gpus=4)
    ragged = [run(s, known, tasks=8, environments=16, max_steps=20, machines=machines).seconds for s in SCHEDULES[:2]]
    assert ragged[1] < 0.97 * ragged[0]


def test_playing_and_learning_at_once_cannot_beat_the_longer_of_both() -> None:
    machines = cluster(gpus=4)
    out = run("off_policy", machines=machines)
    assert out.seconds >= max(out.phases["judging"], out.phases["judge update"]) - 1e-9
    learning = {span.block for span in out.spans if "update" in span.what}
    playing = {span.block for span in out.spans if span.what == "policy"}
    assert not learning & playing


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"gpus": 3, "policy_parallel": 2}, "no whole number of blocks of 2"),
        ({"memory_share": 0.02}, "cluster.policy_parallel"),
    ],
)
def test_a_cluster_on_which_it_cannot_run(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(PlanError, match=named):
        simulate(demand(), cluster(**changes), KNOWN, 0)


def test_a_single_block_cannot_play_and_learn_at_once() -> None:
    with pytest.raises(PlanError, match="two blocks"):
        run("off_policy")
    found = forecast(demand(), cluster(assumptions=certain()), seeds=1, probes=1)
    assert [each.schedule for each in found] == ["synchronous", "overlapped"]
    with pytest.raises(PlanError, match="two blocks"):
        forecast(demand(), cluster(assumptions=certain()), seeds=1, schedules=("off_policy",))


def test_the_bottleneck_is_what_would_save_most() -> None:
    slow = cluster(assumptions=certain(step_seconds=500.0), workers=1)
    (found,) = forecast(demand(), slow, seeds=2, probes=1, schedules=("synchronous",))
    assert found.bottleneck == "environments"
    assert found.saved["environments"].middle > 0.9
    assert found.speedup == Interval(1.0, 1.0, 1.0)
    assert found.seconds.low == pytest.approx(found.seconds.high)  # nothing was left to chance
    heavy = cluster(assumptions=certain(update_seconds=5000.0))
    (found,) = forecast(demand(), heavy, seeds=1, probes=1, schedules=("synchronous",))
    assert found.bottleneck == "updates"


def test_more_workers_never_make_it_slower() -> None:
    wanted = demand(max_steps=4)
    machines = cluster(assumptions=certain(step_seconds=2.0))
    rows = forecast_sweep(wanted, machines, "workers", [1, 2, 4, 8], "synchronous", seeds=2)
    seconds = [row[1].middle for row in rows]
    assert seconds == sorted(seconds, reverse=True)
    assert seconds[0] > 1.5 * seconds[-1]
    for key, values, named in (("nods", [1], "choose one of"), ("nodes", [0], "whole numbers"), ("nodes", [], "whole")):
        with pytest.raises(PlanError, match=named):
            forecast_sweep(wanted, machines, key, values, "synchronous")


def test_assumptions_are_drawn_from_their_ranges() -> None:
    wanted, assumptions = demand(), ClusterConfig().assumptions
    drawn = [draw(assumptions, wanted, np.random.default_rng(seed)) for seed in range(50)]
    for name, value in middle(assumptions, wanted).items():
        low, high = getattr(assumptions, name) or UNSAID[name]
        values = [each[name] for each in drawn]
        assert low - 1e-9 <= min(values) <= value <= max(values) <= high + 1e-9
        assert low == high or len(set(values)) == 50


def test_lengths_have_the_mean_that_is_assumed() -> None:
    wanted = demand(tasks=100, rollouts=20, max_steps=10)
    rng = np.random.default_rng(0)
    episodes = wanted.play({**KNOWN, "spread": 0.5, "success": 0.25}, rng)
    lengths = [n for episode in episodes for n in episode.responses]
    assert np.mean(lengths) == pytest.approx(20, rel=0.02)
    assert np.std(lengths) == pytest.approx(10, rel=0.1)
    assert sum(episode.steps == 10 for episode in episodes) / len(episodes) == pytest.approx(0.75, abs=0.04)
