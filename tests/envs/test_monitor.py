"""A curriculum's metrics: known answers on a hand-made log, drift, diversity, and going on after a pause."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_envs.curriculum import Curriculum, CurriculumMonitor, curriculum_metrics
from rlanything_envs.errors import SettingError
from rlanything_task_pools import Outcome, Rejection, Rewrite, Task, TaskPool
from rlanything_task_pools.alfworld import DOMAIN


def root(goal: str) -> Task:
    return Task(domain="toy", goal=goal, payload={"goal": goal})


def child(parent: Task, goal: str, direction: str = "easier") -> Task:
    rewrite = Rewrite(direction=direction, author="x", change={})
    return Task(
        domain="toy",
        goal=goal,
        payload={"goal": goal},
        parent=parent.id,
        root=parent.root or parent.id,
        rewrite=rewrite,
    )


def play(pool: TaskPool, slot: int, task: Task, wins: str, role: str = "active") -> None:
    """``+`` won, ``-`` lost, ``?`` broken."""
    results = [{"+": True, "-": False, "?": None}[mark] for mark in wins]
    pool.record(slot, task.id, [Outcome(success=s, score=0.0, steps=1, actor="a", role=role) for s in results])


ROOTS = [root("put apple in fridge"), root("put mug in sink"), root("look at book"), root("put apple in sink")]


@pytest.fixture
def pool(tmp_path: Path) -> TaskPool:
    return TaskPool.create(tmp_path / "pool.db", ROOTS)


def live(pool: TaskPool) -> None:
    """Four groups on active tasks, a trial that is accepted, one that is not; then four more groups."""
    play(pool, 0, ROOTS[0], "----")
    easy = child(ROOTS[0], "put apple in sink")
    pool.propose(0, easy)
    play(pool, 1, ROOTS[1], "+-??")
    play(pool, 2, ROOTS[2], "++++")
    hard = child(ROOTS[2], "put mug in sink", "harder")
    pool.discard(2, Rejection(reason="unsolvable"))
    pool.propose(2, hard)
    play(pool, 0, easy, "+---", "candidate")
    pool.accept(0, "easier")
    play(pool, 2, hard, "++++", "candidate")
    pool.reject(2, "not-harder")
    play(pool, 0, easy, "++--")
    play(pool, 3, ROOTS[3], "++++", "eval")
    play(pool, 3, ROOTS[3], "????")


def test_a_hand_made_log(pool: TaskPool) -> None:
    live(pool)
    first, second = curriculum_metrics(pool, every=4)
    assert (first.groups, first.episodes, first.errors) == (4, 16, 2)
    assert (first.proposed, first.accepted, first.accepted_easier, first.accepted_harder) == (2, 1, 1, 0)
    assert (first.rejected, first.discarded) == ({}, {"unsolvable": 1})
    assert (first.below, first.inside, first.above) == (pytest.approx(1 / 3),) * 3
    assert first.accuracy == pytest.approx(0.5)
    assert first.new_accuracy == 0.25
    assert first.rewritten == 0.25
    # "put apple in fridge" and "put apple in sink" share 3 of 5 words.
    assert first.drift_max == pytest.approx(2 / 5)
    assert first.drift == pytest.approx(2 / 5 / 4)
    assert first.duplicates == 2  # slot 0 holds what slot 3 held already
    assert first.far == ()
    assert (second.groups, second.episodes, second.errors) == (7, 28, 6)  # an evaluation is no group
    assert (second.accepted, second.rejected) == (1, {"not-harder": 1})
    assert (second.below, second.inside, second.above) == (0.0, 1.0, 0.0)  # all broken: nothing measured in slot 3
    assert curriculum_metrics(pool, every=100)[-1].rejected == second.rejected


def test_distances_between_slots(tmp_path: Path) -> None:
    with TaskPool.create(tmp_path / "pool.db", [root("a b"), root("b c"), root("d")]) as pool:
        (row,) = curriculum_metrics(pool)
        assert row.diversity == pytest.approx((2 / 3 + 1 + 1) / 3)
        assert (row.drift, row.duplicates, row.accuracy, row.new_accuracy) == (0, 0, None, None)
        pool.propose(0, child(root("a b"), "d e"))
        pool.accept(0, "ok")
        (row,) = curriculum_metrics(pool)
        # Active D E, B C, D.
        assert row.diversity == pytest.approx((1 + 1 / 2 + 1) / 3)
        assert row.drift == pytest.approx(1 / 3)
        assert row.to_dict()["drift"] == 0.3333
    with TaskPool.create(tmp_path / "one.db", [root("a")]) as pool:
        assert curriculum_metrics(pool)[0].diversity == 0.0


def test_following_a_pool_gives_the_rows_of_its_whole_log(pool: TaskPool) -> None:
    following = CurriculumMonitor(pool)
    live(pool)
    row = following.row()
    (whole,) = curriculum_metrics(pool, every=100)
    assert row == whole
    again = following.row()  # nothing happened: the counts stay, the measurements are empty
    assert again == dataclasses.replace(whole, below=None, inside=None, above=None, accuracy=None)
    play(pool, 1, ROOTS[1], "+++-")
    resumed = CurriculumMonitor(pool)  # as after a checkpoint: what was played before is not measured again
    play(pool, 1, ROOTS[1], "+---")
    row = resumed.row()
    assert (row.accuracy, row.groups, row.accepted) == (0.25, whole.groups + 2, 1)
    following.row()
    play(pool, 1, ROOTS[1], "++--")
    assert resumed.row() == following.row()


def test_a_slot_far_from_its_root_is_named(pool: TaskPool) -> None:
    monitor = CurriculumMonitor(pool)
    pool.propose(2, child(ROOTS[2], "put mug in sink"))
    assert monitor.row().far == ()  # proposed is not accepted
    pool.accept(2, "ok")
    row = monitor.row()
    assert (row.far, row.drift_max) == ((2,), 1.0)


def test_settings_are_checked(pool: TaskPool) -> None:
    with pytest.raises(SettingError, match="band"):
        CurriculumMonitor(pool, band=(0.8, 0.2))
    with pytest.raises(SettingError, match="every"):
        curriculum_metrics(pool, every=0)


def test_a_real_curriculum_adds_up(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pool = TaskPool.create(tmp_path / "pool.db", [DOMAIN.generate(seed) for seed in range(8)])
    curriculum = Curriculum(pool, acceptance="paper", rollouts=4)
    monitor = CurriculumMonitor(pool)
    online = []
    for skill in np.linspace(6, 12, 12):
        for assignment in curriculum.assign(4, rng):
            p = 1 / (1 + np.exp((float(assignment.task.traits["difficulty"]) - skill) / 2))
            won = rng.random(4) < p
            curriculum.report(
                assignment, [Outcome(success=bool(w), score=0.0, steps=5, actor="a", role=assignment.role) for w in won]
            )
        online.append(monitor.row())
    offline = curriculum_metrics(pool, every=4)
    assert offline == online
    counts, last = pool.counts(), online[-1]
    assert last.accepted == counts["accepted"] > 0
    assert sum(last.rejected.values()) == counts["rejected"]
    assert sum(last.discarded.values()) == counts["discarded"]
    assert (last.episodes, last.groups) == (12 * 16, 48)
    assert last.rewritten == counts["rewritten"] / 8
    for row in online:
        if row.inside is not None and row.below is not None and row.above is not None:
            assert row.below + row.inside + row.above == pytest.approx(1)
        assert 0 <= row.drift <= row.drift_max <= 1


goal = st.text(st.characters(codec="ascii", categories=["L", "N", "Z"]), min_size=1, max_size=20)


@given(st.lists(goal, min_size=1, max_size=4, unique=True))
def test_the_distance_of_two_tasks_is_that_of_their_words(found: list[str]) -> None:
    with TaskPool.create(":memory:", [root(words) for words in found]) as pool:
        (row,) = curriculum_metrics(pool)
    words = [set(one.lower().split()) for one in found]
    pairs = [(a, b) for k, a in enumerate(words) for b in words[k + 1 :]]
    apart = [1 - len(a & b) / len(a | b) if a | b else 0.0 for a, b in pairs]
    assert row.diversity == pytest.approx(sum(apart) / len(pairs) if pairs else 0.0)
    assert row.drift == 0
