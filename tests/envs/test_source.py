"""The curriculum as a source of tasks for other trainers."""

from __future__ import annotations

import itertools
import multiprocessing
import shutil
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rlanything_envs.curriculum import CurriculumSource, Request, Rewriting
from rlanything_envs.curriculum.open_groups import OpenGroups
from rlanything_envs.errors import SettingError
from rlanything_task_pools import PoolError, TaskPool


@pytest.fixture
def path(tasks: Any, tmp_path: Path) -> Path:
    TaskPool.create(tmp_path / "pool.sqlite", tasks).close()
    return tmp_path / "pool.sqlite"


def inline(path: Path, **settings: Any) -> CurriculumSource:
    return CurriculumSource(path, rewriting="inline", **settings)


def groups(pool: TaskPool) -> list[int]:
    """Number of outcomes of each group of the pool."""
    return list(Counter(record.batch for record in pool.outcomes()).values())


def test_a_plain_loop_adapts_the_pool(path: Path) -> None:
    with inline(path) as source:
        for assignment in itertools.islice(source, 30):
            wins = max(0, min(8, 14 - len(assignment.task.proof)))  # long plans are too hard for this agent
            source.observe(assignment, [True] * wins + [False] * (8 - wins))
        counts = source.pool.counts()
        assert counts["accepted"] > 0
        assert counts["outcomes"] == 30 * 8
        (slot, *_) = [event.slot for event in source.pool.events(kind="accepted")]
        chain = source.pool.lineage(source.pool.active(slot).id)
        assert [task.parent for task in chain] == [None, *(task.id for task in chain[:-1])]
        assert chain[-1].rewrite is not None


def test_groups_in_play_are_on_slots_of_their_own(path: Path) -> None:
    with inline(path) as source:
        dealt = list(itertools.islice(source, 8))
        assert sorted(assignment.slot for assignment in dealt) == source.pool.slots
        for assignment in dealt:
            source.observe(assignment, [True, False] * 4)
        assert sorted(group.assignment.slot for group in (source.join() for _ in range(8))) == source.pool.slots
        assert next(source).slot in source.pool.slots  # groups that are never observed keep no slot for ever


def test_what_was_proposed_is_tried_once_at_a_time(path: Path) -> None:
    with inline(path) as source:
        first = next(source)
        source.observe(first, [False] * 8)
        dealt = list(itertools.islice(source, 3))
        assert [(a.slot, a.role) for a in dealt if a.role == "candidate"] == [(first.slot, "candidate")]


class Helpless:
    """A rewriter that finds nothing, so that tasks stay as they are."""

    name = "helpless"

    def rewrite(self, request: Request, rng: np.random.Generator) -> Rewriting:
        return Rewriting(None)


@pytest.mark.parametrize("solved", [True, False])
def test_a_task_without_spread_is_skipped_for_a_round(path: Path, solved: bool) -> None:
    with inline(path, rewriter=Helpless()) as source:
        flat = next(source)
        assert not source.observe(flat, [solved] * 8)
        assert flat.slot not in [play_evenly(source) for _ in range(7)]
        assert flat.slot in [play_evenly(source) for _ in range(40)]


def test_without_skipping_it_is_drawn_like_any_other(path: Path) -> None:
    with inline(path, rewriter=Helpless(), skip=False) as source:
        flat = next(source)
        drawn = []
        for _ in range(7):
            source.observe(flat, [True] * 8)
            drawn.append(play_evenly(source))
        assert flat.slot in drawn


def play_evenly(source: CurriculumSource) -> int:
    assignment = next(source)
    assert source.observe(assignment, [True, False] * 4)
    return assignment.slot


def test_a_pool_of_flat_tasks_is_still_played(tasks: Any) -> None:
    with TaskPool.create(":memory:", tasks[:1]) as pool, CurriculumSource(pool, band=(0, 1), rollouts=2) as source:
        assert not source.observe(next(source), [None, None])
        assert [source.observe(next(source), [True, True]) for _ in range(3)] == [False] * 3


def test_outcomes_of_failed_machinery_and_of_half_a_group_decide_nothing(path: Path) -> None:
    with inline(path) as source:
        assert not source.observe(next(source), [None] * 8)
        assert not source.observe(next(source), [False] * 7)
        assert not source.observe(next(source), [])
        assert source.pool.events() == []
        assert groups(source.pool) == [8, 7]
        assert source.pool.counts()["errors"] == 8


# --- episodes one by one ---


def test_episodes_that_join_by_a_name_are_one_group(path: Path) -> None:
    with inline(path, actor="policy@3") as source:
        joined = [source.join("17") for _ in range(8)]
        assert len({group.number for group in joined}) == 1
        assert {group.task.id for group in joined} == {joined[0].task.id}
        assert source.join("18").number == 2
        for group in joined[1:]:
            assert source.end(group, True, steps=3) is None
        assert groups(source.pool) == []
        assert source.end(joined[0], False, score=0.25, steps=9) is True
        assert groups(source.pool) == [8]
        last = source.pool.outcomes()[-1].outcome
        assert (last.score, last.steps, last.actor, last.role) == (0.25, 9, "policy@3", "active")
        assert source.end(joined[0], True) is None  # late
        assert groups(source.pool) == [8, 1]
        assert source.join("17").number == 3  # of the next epoch


def test_a_complete_group_has_its_task_rewritten(path: Path) -> None:
    with CurriculumSource(path) as source:  # in the background
        group = source.join("a")
        assert [source.end(group, False) for _ in range(8)] == [None] * 7 + [False]
        source.curriculum.drain(wait=True)
        assert [event.kind for event in source.pool.events(group.assignment.slot)][-1:] == ["proposed"]
        trial = source.join("b")
        assert (trial.assignment.slot, trial.assignment.role) == (group.assignment.slot, "candidate")
        for _ in range(8):
            source.end(trial, True)
        assert source.pool.counts()["pending"] == 0


def test_a_source_that_starts_again_goes_on_with_the_groups_in_play(path: Path) -> None:
    with inline(path) as source:
        group = source.join("17")
        for _ in range(5):
            source.end(group, True)
        state = source.state_dict()
    with inline(path) as source:
        source.load_state_dict(state)
        again = source.join("17")
        assert again == group
        assert [source.end(again, False) for _ in range(3)] == [None, None, True]
        assert groups(source.pool) == [8]


def test_a_task_that_a_restored_pool_does_not_know_is_dealt_again(path: Path, tmp_path: Path) -> None:
    with inline(path) as source:
        source.pool.copy(tmp_path / "copy.sqlite")
        first = next(source)
        source.observe(first, [False] * 8)
        trial = source.join("17")
        assert trial.assignment.role == "candidate"
        source.pool.restore(tmp_path / "copy.sqlite")
    with inline(path) as source:
        assert source.join("17").assignment.role == "active"


def test_threads_share_a_source(path: Path) -> None:
    with inline(path, rollouts=4) as source, ThreadPoolExecutor(8) as threads:
        barrier = threading.Barrier(8)

        def episode(number: int) -> int:
            barrier.wait(10)
            group = source.join(str(number % 2))
            barrier.wait(10)  # as a trainer: a group's episodes begin before its last one ends
            source.end(group, number < 4)
            return group.number

        numbers = list(threads.map(episode, range(8)))
        assert sorted(numbers) == [1] * 4 + [2] * 4
        assert groups(source.pool) == [4, 4]


def play_share(path: Path, begun: Any, episodes: range) -> None:
    with inline(path) as source:
        joined = [source.join(f"group {number % 5}") for number in episodes]
        begun.wait(60)
        for number, group in zip(episodes, joined, strict=True):
            source.end(group, number % 3 == 0, steps=number)


def test_processes_share_groups(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    begun = context.Barrier(2)
    shares = [range(0, 40, 2), range(1, 40, 2)]
    processes = [context.Process(target=play_share, args=(path, begun, share)) for share in shares]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
        assert process.exitcode == 0
    with TaskPool.open(path) as pool:
        assert groups(pool) == [8] * 5
        steps = {}
        for record in pool.outcomes():
            steps.setdefault(record.batch, []).append(record.outcome.steps)
        assert sorted(sorted(numbers) for numbers in steps.values()) == [list(range(k, 40, 5)) for k in range(5)]
        tasks = {record.batch: record.task_id for record in pool.outcomes()}
        assert len(set(tasks.values())) == 5


def test_processes_that_begin_at_once_wait_for_each_other(path: Path, tmp_path: Path) -> None:
    begun = multiprocessing.get_context("fork").Barrier(4)

    def begin(folder: Path) -> None:
        with TaskPool.open(folder / path.name) as pool:
            begun.wait(10)
            OpenGroups(pool).close()

    for k in range(30):
        (folder := tmp_path / str(k)).mkdir()
        shutil.copy(path, folder)
        processes = [multiprocessing.get_context("fork").Process(target=begin, args=(folder,)) for _ in range(4)]
        for process in processes:
            process.start()
        for process in processes:
            process.join(20)
        assert [process.exitcode for process in processes] == [0] * 4


def test_groups_that_were_never_complete_are_forgotten(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rlanything_envs.curriculum.open_groups.KEPT", 10)
    with inline(path) as source:
        first = source.join("first")
        source.end(first, True)
        for _ in range(12):
            source.join()
        source.end(first, True)
        assert groups(source.pool) == [1]  # on its own, as a late one


def test_wrong_settings_and_pools(path: Path, tmp_path: Path) -> None:
    with pytest.raises(PoolError, match="no task pool at"):
        CurriculumSource(tmp_path / "no.sqlite")
    with pytest.raises(SettingError, match="rollouts"):
        CurriculumSource(path, rollouts=0)
    with pytest.raises(TypeError, match="banana"):
        CurriculumSource(path, banana=1)
