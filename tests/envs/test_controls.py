"""The control of adaptation: fresh tasks in place of rewrites."""

import gymnasium as gym
import numpy as np
import pytest

from rlanything_envs.curriculum import (
    AdaptiveDifficulty,
    Curriculum,
    CurriculumMonitor,
    FreshRewriter,
    Request,
    get_rewriter,
)
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
    # A rewrite of it is measured against it.
    curriculum = Curriculum(fresh, "scripted", "always")
    (assignment,) = curriculum.assign(1, rng(), without=[1, 2])
    curriculum.report(assignment, outcomes(assignment, 0))
    assert fresh.root(0) != fresh.active(0)
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


def test_one_curriculum_many_or_a_resumed_one_is_the_same(tasks, tmp_path):
    settings = {"acceptance": "paper", "rewriter": "fresh"}
    whole = play(TaskPool.create(tmp_path / "whole", tasks), 24, **settings)
    assert any(event.kind == "accepted" for event in whole[0])
    one = TaskPool.create(tmp_path / "one", tasks)
    assert play(one, 24, one=Curriculum(one, **settings)) == whole
    first = TaskPool.create(tmp_path / "first", tasks)
    play(first, 10, **settings)
    first.copy(tmp_path / "resumed")
    assert play(TaskPool.open(tmp_path / "resumed"), 14, start=10, **settings) == whole
