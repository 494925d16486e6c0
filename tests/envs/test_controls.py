"""Controls of adaptation: fresh tasks in place of rewrites, and replay of all tasks accepted so far."""

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_envs.curriculum import (
    AdaptiveDifficulty,
    Curriculum,
    CurriculumMonitor,
    FreshRewriter,
    Played,
    ReplayScheduler,
    Request,
    Standings,
    Tally,
    get_rewriter,
    get_scheduler,
)
from rlanything_envs.curriculum.ledger import Ledger
from rlanything_envs.errors import CurriculumError
from rlanything_envs.sources import GivenTasks
from rlanything_task_pools import Outcome, TaskPool
from rlanything_task_pools.verify import verify_pool

KNOBS = {"rooms": ["Bathroom"], "kinds": ["simple"]}


def rng(seed=0):
    return np.random.default_rng(seed)


def outcomes(assignment, wins, n=8):
    made = [True] * wins + [False] * (n - wins)
    return [Outcome(success=won, score=float(won), steps=5, actor="test", role=assignment.role) for won in made]


def play(pool, batches, start=0, one=None, **settings):
    """Groups with made-up outcomes; each batch by a new curriculum unless one is given."""
    for number in range(start, start + batches):
        generator = rng([3, number])
        curriculum = one or Curriculum(pool, **settings)
        for assignment in curriculum.assign(4, generator):
            skill = 1 / (1 + np.exp(len(assignment.task.proof) - 6))
            curriculum.report(assignment, outcomes(assignment, int(generator.binomial(8, skill))))
    return pool.events(), pool.outcomes()


# -- fresh tasks


@pytest.fixture
def fresh(tasks, tmp_path):
    with TaskPool.create(tmp_path / "pool.sqlite", tasks[:3]) as pool:
        curriculum = Curriculum(pool, "fresh", "paper", seed=5)
        for assignment in sorted(curriculum.assign(3, rng()), key=lambda one: one.slot):
            curriculum.report(assignment, outcomes(assignment, (0, 4, 8)[assignment.slot]))
        yield pool


def test_a_task_outside_the_band_is_replaced_at_once(fresh, tasks):
    assert [(e.kind, e.slot, e.reason) for e in fresh.events()] == [
        (kind, slot, "fresh") for slot in (0, 2) for kind in ("proposed", "accepted")
    ]
    assert fresh.events()[0].stats == {"successes": 0, "n": 8}
    assert fresh.active(1) == tasks[1]
    for slot in (0, 2):
        task = fresh.active(slot)
        assert task.id not in {one.id for one in tasks}
        assert (task.parent, task.root, task.rewrite) == (None, None, None)
        assert fresh.root(slot) == task
        assert fresh.lineage(task.id) == [task]
        assert fresh.first(slot) == tasks[slot].id
        assert [(v.state, v.parent) for v in fresh.versions(slot)] == [("root", None), ("accepted", None)]
    assert fresh.counts()["rewritten"] == 0
    assert list(verify_pool(fresh)) == []


def test_a_fresh_root_is_where_the_slot_is_measured_from(fresh):
    row = CurriculumMonitor(fresh, from_start=True).row()
    assert (row.accepted, row.accepted_harder, row.accepted_easier) == (2, 0, 0)
    assert (row.drift, row.rewritten, row.far) == (0.0, 0.0, ())
    ledger = Ledger(fresh, 8)
    ledger.read()
    assert ledger.slot(0).root == fresh.root(0).id
    assert ledger.slot(0).level == 0
    # A rewrite of it is measured against it.
    curriculum = Curriculum(fresh, "scripted", "always")
    (assignment,) = curriculum.assign(1, rng(), without=[1, 2])
    curriculum.report(assignment, outcomes(assignment, 0))
    assert fresh.root(0) != fresh.active(0)
    ledger.read()
    assert ledger.slot(0).level == -1
    assert CurriculumMonitor(fresh, from_start=True).row().rewritten == pytest.approx(1 / 3)


def test_fresh_tasks_have_the_knobs_of_the_source(tasks):
    request = Request(tasks[0], "harder", 1.0, critique="ignored")
    assert get_rewriter("fresh").rewrite(request, rng(1)) == FreshRewriter().rewrite(request, rng(1))
    env = AdaptiveDifficulty(
        gym.make("RLAnything/AlfWorld-v0", split="generated", knobs=KNOBS), rewriter="fresh", pool_size=2
    )
    made = env.curriculum.rewriter.rewrite(request, rng(1)).candidate
    assert made.traits["kind"] == "simple"
    assert made.traits["room"] == "Bathroom"
    env.close()


def test_a_source_with_nothing_else_leaves_the_task(tasks):
    only = FreshRewriter(lambda domain: GivenTasks(tasks[:1]))
    result = only.rewrite(Request(tasks[0], "easier", 0.0), rng())
    assert result.candidate is None
    assert [rejection.reason for rejection in result.rejections] == ["no-proposal"]
    rewrite = get_rewriter("scripted").rewrite(Request(tasks[0], "easier", 0.0), rng()).candidate
    assert rewrite.parent == tasks[0].id
    other = FreshRewriter(lambda domain: GivenTasks([rewrite])).rewrite(Request(tasks[0], "easier", 0.0), rng())
    assert other.candidate.id == rewrite.id
    assert other.candidate.parent is None, "a lineage of its own, wherever it comes from"


# -- replay


def task(number, group, wins, n=8):
    return Played(number, f"t{number}", group, Tally(wins, n))


def test_probabilities_by_hand():
    tasks = [task(0, 10, 4), task(1, 8, 2), task(2, 4, 6), task(3, 2, 8)]
    # Scores .5, .375, .375, 0 have the ranks 1, 2.5, 2.5, 4; the groups since are 0, 2, 6, 8.
    by_rank, by_age = np.array([1, 0.4, 0.4, 0.25]) / 2.05, np.array([0, 2, 6, 8]) / 16
    found = ReplayScheduler(temperature=1.0, staleness=0.1).probabilities(tasks, 10)
    assert found == pytest.approx(0.9 * by_rank + 0.1 * by_age)
    assert found == pytest.approx([0.439024, 0.188110, 0.213110, 0.159756], abs=1e-6)
    # A low temperature leaves the first rank: (1 / 2.5)^10 is 1e-4.
    assert ReplayScheduler(0.1, 0.0).probabilities(tasks, 10)[0] == pytest.approx(1, abs=1e-3)
    assert ReplayScheduler(1.0, 1.0).probabilities(tasks, 10) == pytest.approx(by_age)
    # All were played just now: age says nothing.
    assert ReplayScheduler(1.0, 1.0).probabilities([task(0, 3, 4)], 3) == pytest.approx([1.0])


def test_draws_follow_the_probabilities():
    tasks = [task(0, 10, 4), task(1, 8, 2), task(2, 4, 6), task(3, 2, 8)]
    scheduler, generator = ReplayScheduler(temperature=1.0), rng(1)
    standings = Standings([0, 1, 2, 3], [], lambda slot: Tally(0, 0), lambda: tasks, 10)
    drawn = [scheduler.choose(1, standings, generator)[0].slot for _ in range(6000)]
    assert np.bincount(drawn) / 6000 == pytest.approx(scheduler.probabilities(tasks, 10), abs=0.02)


def test_tasks_never_played_come_by_their_share():
    tasks = [task(0, 1, 4), task(1, 0, 0, 0), task(2, 0, 0, 0), task(3, 0, 0, 0)]
    standings = Standings([0, 1, 2, 3], [], lambda slot: Tally(0, 0), lambda: tasks, 1)
    drawn = [ReplayScheduler().choose(1, standings, rng(n))[0].slot for n in range(2000)]
    assert np.bincount(drawn) / 2000 == pytest.approx([0.25] * 4, abs=0.04)


@given(
    n=st.integers(0, 20),
    pending=st.lists(st.integers(0, 5), unique=True),
    played=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 8)), min_size=1, max_size=12),
    temperature=st.floats(1e-3, 10),
    seed=st.integers(0, 9),
)
def test_batches_are_full_even_and_repeatable(n, pending, played, temperature, seed):
    tasks = [task(number, group, wins, 8 if group else 0) for number, (group, wins) in enumerate(played)]
    standings = Standings(list(range(12)), pending, lambda slot: Tally(0, 0), lambda: tasks, 40)
    scheduler = ReplayScheduler(temperature)
    chosen = scheduler.choose(n, standings, rng(seed))
    assert chosen == scheduler.choose(n, standings, rng(seed))
    assert len(chosen) == n
    assert chosen[: len(pending)] == pending[:n]
    drawn = [one.task_id for one in chosen if isinstance(one, Played)]
    times = [drawn.count(one.task_id) for one in tasks]
    assert max(times) - min(times) <= 1


def test_settings():
    assert isinstance(get_scheduler("replay"), ReplayScheduler)
    for wrong in ({"temperature": 0}, {"staleness": 1.1}, {"temperature": float("nan")}):
        with pytest.raises(CurriculumError, match="ReplayScheduler"):
            ReplayScheduler(**wrong)


def test_replaced_tasks_are_played_again_and_change_nothing(tasks, tmp_path):
    with TaskPool.create(tmp_path / "pool.sqlite", tasks) as pool:
        play(pool, 30, acceptance="paper", scheduler="replay")
        accepted = pool.events(kind="accepted")
        replayed = [record for record in pool.outcomes() if record.outcome.role == "replay"]
        assert accepted
        assert replayed
        held = {slot: {version.task.id for version in pool.versions(slot) if version.state in ("root", "accepted")}
                for slot in pool.slots}  # fmt: skip
        assert all(record.task_id in held[record.slot] for record in replayed)
        assert list(verify_pool(pool)) == []
        curriculum, before = Curriculum(pool, scheduler="replay"), pool.events()
        for seed in range(50):
            again = [one for one in curriculum.assign(4, rng(seed)) if one.role == "replay"]
            for assignment in again:
                assert assignment.task.id != pool.active(assignment.slot).id
                assert curriculum.report(assignment, outcomes(assignment, 0)) == []
        assert pool.events() == before
        row = CurriculumMonitor(pool, from_start=True).row()
        assert row.groups == len({record.batch for record in pool.outcomes()})


# -- both


@pytest.mark.parametrize("settings", [{"rewriter": "fresh"}, {"scheduler": "replay"},
                                      {"rewriter": "fresh", "scheduler": "replay", "roots": 0.2}])  # fmt: skip
def test_one_curriculum_many_or_a_resumed_one_is_the_same(tasks, tmp_path, settings):
    settings |= {"acceptance": "paper"}
    whole = play(TaskPool.create(tmp_path / "whole", tasks), 24, **settings)
    assert any(event.kind == "accepted" for event in whole[0])
    one = TaskPool.create(tmp_path / "one", tasks)
    assert play(one, 24, one=Curriculum(one, **settings)) == whole
    first = TaskPool.create(tmp_path / "first", tasks)
    play(first, 10, **settings)
    first.copy(tmp_path / "resumed")
    assert play(TaskPool.open(tmp_path / "resumed"), 14, start=10, **settings) == whole


def test_what_a_slot_has_held_is_the_same_piece_by_piece_or_at_once(tasks, tmp_path):
    pool = TaskPool.create(tmp_path / "pool", tasks)
    often = Ledger(pool, 8)
    for number in range(12):
        play(pool, 1, start=number, rewriter="fresh", scheduler="replay")
        often.read()
    once = Ledger(pool, 8)
    once.read()
    records = pool.outcomes(errors=False)
    assert once.groups == often.groups == len({record.batch for record in records}) == 48
    for slot in pool.slots:
        assert once.slot(slot) == often.slot(slot)
        held = once.slot(slot).held(slot)
        assert [one.task_id for one in held] == [known.id for known in pool.history(slot)]
        for one in held:
            mine = [r for r in records if (r.slot, r.task_id) == (slot, one.task_id)]
            last = [r.outcome for r in mine if r.batch == mine[-1].batch] if mine else []
            assert one.last == Tally.of(last)
            assert one.group == (len({r.batch for r in records if r.index <= mine[-1].index}) if mine else 0)
