"""The curriculum as a batch loop uses it."""

import numpy as np
import pytest

from rlanything_envs.alfworld.env import game_of
from rlanything_envs.curriculum import Curriculum, Request, Rewriting, ScriptedRewriter
from rlanything_task_pools import Outcome, Rejection, TaskPool, UnknownSlot
from rlanything_task_pools.alfworld import DOMAIN
from rlanything_verifiers.alfworld import World


@pytest.fixture
def pool(tasks, tmp_path):
    with TaskPool.create(tmp_path / "pool.sqlite", tasks) as pool:
        yield pool


def rng(seed=0):
    return np.random.default_rng(seed)


def outcomes(assignment, wins, n=8, errors=0):
    made = [True] * wins + [False] * (n - wins - errors) + [None] * errors
    return [Outcome(success=won, score=float(bool(won)), steps=5, actor="test", role=assignment.role) for won in made]


def assignment_of(curriculum, slot, role="active"):
    """The assignment that the curriculum gives for a slot."""
    for seed in range(100):
        for assignment in curriculum.assign(len(curriculum.pool.slots), rng(seed)):
            if (assignment.slot, assignment.role) == (slot, role):
                return assignment
    raise AssertionError("never assigned")


# -- assigning


def test_assign_draws_active_tasks_without_replacement(pool):
    curriculum = Curriculum(pool)
    drawn = curriculum.assign(8, rng())
    assert sorted(assignment.slot for assignment in drawn) == pool.slots
    assert all(a.role == "active" and a.task == pool.active(a.slot) for a in drawn)
    assert curriculum.assign(8, rng()) == drawn
    assert [a.slot for a in curriculum.assign(8, rng(1))] != [a.slot for a in drawn]
    assert len({a.slot for a in curriculum.assign(3, rng())}) == 3
    assert curriculum.assign(0, rng()) == []


def test_assign_repeats_slots_only_when_there_are_too_few(pool):
    counts = np.bincount([a.slot for a in Curriculum(pool).assign(20, rng())])
    assert counts.sum() == 20
    assert set(counts) <= {2, 3}


def test_candidates_come_first_oldest_first(pool):
    curriculum = Curriculum(pool)
    for slot in (5, 2):
        curriculum.report(assignment_of(curriculum, slot), outcomes(assignment_of(curriculum, slot), 0))
    drawn = curriculum.assign(4, rng())
    assert [(a.slot, a.role) for a in drawn[:2]] == [(5, "candidate"), (2, "candidate")]
    assert all(a.role == "active" and a.slot not in (5, 2) for a in drawn[2:])
    assert drawn[0].task == pool.candidate(5)
    # Another curriculum on the same file, as another process would have it, sees them too.
    assert Curriculum(TaskPool.open(pool.path)).assign(4, rng()) == drawn


# -- reporting


@pytest.mark.parametrize("wins", [2, 3, 4, 5, 6])
def test_within_the_band_nothing_happens(pool, wins):
    curriculum = Curriculum(pool)
    assignment = curriculum.assign(1, rng())[0]
    assert curriculum.report(assignment, outcomes(assignment, wins)) == []
    assert pool.events() == []
    assert len(pool.outcomes(assignment.slot, assignment.task.id)) == 8


@pytest.mark.parametrize(("wins", "direction"), [(0, "easier"), (1, "easier"), (7, "harder"), (8, "harder")])
def test_outside_the_band_a_proved_candidate_is_proposed(pool, wins, direction):
    curriculum = Curriculum(pool)
    for assignment in curriculum.assign(8, rng()):
        events = curriculum.report(assignment, outcomes(assignment, wins))
        candidate = pool.candidate(assignment.slot)
        if candidate is None:  # nothing harder or easier in this room: said so
            assert events
            assert all(event.kind == "discarded" for event in events)
            continue
        assert events[-1].kind == "proposed"
        assert dict(events[-1].stats) == {"successes": wins, "n": 8}
        assert (candidate.parent, candidate.root) == (assignment.task.id, assignment.task.id)
        assert (candidate.rewrite.direction, candidate.rewrite.author) == (direction, "scripted")
        world = World(game_of(candidate))
        for command in candidate.proof:
            assert not world.won
            world.step(command)
        assert world.won
    assert pool.counts()["proposed"] >= 6


def test_the_edge_of_the_band_is_outside(pool):
    curriculum = Curriculum(pool, rollouts=10)
    low, high = curriculum.assign(2, rng())
    assert curriculum.report(low, outcomes(low, 2, n=10))
    assert curriculum.report(high, outcomes(high, 8, n=10))


def propose(curriculum, slot=0, wins=0):
    assignment = assignment_of(curriculum, slot)
    events = curriculum.report(assignment, outcomes(assignment, wins))
    assert events[-1].kind == "proposed"
    return assignment_of(curriculum, slot, "candidate")


def test_a_tried_candidate_takes_the_slot(pool):
    curriculum = Curriculum(pool)
    trial = propose(curriculum)
    (event,) = curriculum.report(trial, outcomes(trial, 4))
    assert (event.kind, event.reason, event.task_id) == ("accepted", "easier", trial.task.id)
    assert dict(event.stats) == {"successes": 4, "n": 8, "parent": 0.0}
    assert pool.active(0) == trial.task
    assert pool.candidate(0) is None
    assert pool.root(0).id == trial.task.parent


@pytest.mark.parametrize(("wins", "reason"), [(0, "not-easier"), (7, "too-easy")])
def test_a_tried_candidate_is_turned_down(pool, wins, reason):
    curriculum = Curriculum(pool)
    before = pool.active(0)
    trial = propose(curriculum)
    (event,) = curriculum.report(trial, outcomes(trial, wins))
    assert (event.kind, event.reason) == ("rejected", reason)
    assert pool.active(0) == before
    assert propose(curriculum).task.id != trial.task.id  # another one is tried next


def test_a_rewriter_is_told_what_failed_beside_the_present_task_only(pool):
    """What was turned down beside an earlier task may come again: a slot must be able to climb back."""
    requests = []

    class Noting(ScriptedRewriter):
        def rewrite(self, request, rng):
            requests.append(request)
            return super().rewrite(request, rng)

    curriculum = Curriculum(pool, rewriter=Noting())
    one = propose(curriculum)
    curriculum.report(one, outcomes(one, 0))
    two = propose(curriculum)
    curriculum.report(two, outcomes(two, 4))
    propose(curriculum, wins=8)
    assert [request.tried for request in requests] == [frozenset(), {one.task.id}, frozenset()]
    assert [request.direction for request in requests] == ["easier", "easier", "harder"]
    assert [request.task.id for request in requests] == [pool.root(0).id] * 2 + [two.task.id]
    assert [request.accuracy for request in requests] == [0, 0, 1]


def test_a_candidate_proposed_by_hand_is_judged_by_the_parents_latest_group(pool):
    curriculum = Curriculum(pool)
    assignment = assignment_of(curriculum, 0)
    curriculum.report(assignment, outcomes(assignment, 3))
    result = ScriptedRewriter().rewrite(Request(assignment.task, "easier", 3 / 8), rng())
    pool.propose(0, result.candidate)
    trial = assignment_of(curriculum, 0, "candidate")
    (event,) = curriculum.report(trial, outcomes(trial, 3))
    assert (event.reason, event.stats["parent"]) == ("not-easier", 3 / 8)


# -- infrastructure


def test_broken_episodes_are_recorded_and_never_measured(pool):
    curriculum = Curriculum(pool)
    assignment = assignment_of(curriculum, 0)
    # 4 wins of 4 valid: harder, although 4 of 8 would be in the band.
    events = curriculum.report(assignment, outcomes(assignment, 4, errors=4))
    assert events[-1].stats["n"] == 4
    assert pool.candidate(0).rewrite.direction == "harder"
    assert [record.outcome.success for record in pool.outcomes(0)] == [True] * 4 + [None] * 4


def test_too_few_valid_episodes_are_no_measurement(pool):
    curriculum = Curriculum(pool)
    assignment = assignment_of(curriculum, 0)
    assert curriculum.report(assignment, outcomes(assignment, 0, errors=5)) == []
    assert curriculum.report(assignment, []) == []
    trial = propose(curriculum)
    (event,) = curriculum.report(trial, outcomes(trial, 0, errors=8))
    assert (event.kind, event.reason) == ("rejected", "unmeasured")


# -- several at once, and again


def test_late_reports_are_recorded_and_change_nothing(pool):
    curriculum = Curriculum(pool)
    active = assignment_of(curriculum, 0)
    trial = propose(curriculum)
    assert curriculum.report(active, outcomes(active, 0)) == []  # a candidate waits already
    curriculum.report(trial, outcomes(trial, 4))
    before = pool.counts()
    assert curriculum.report(active, outcomes(active, 0)) == []  # no longer the active task
    assert curriculum.report(trial, outcomes(trial, 0)) == []  # decided long ago
    assert pool.counts() == {**before, "outcomes": before["outcomes"] + 16}


def test_reports_on_what_never_was_are_refused(pool):
    from dataclasses import replace

    curriculum = Curriculum(pool)
    assignment = replace(assignment_of(curriculum, 0), slot=99)
    with pytest.raises(UnknownSlot):
        curriculum.report(assignment, outcomes(assignment, 0))


def skill(task, generator):
    """A made-up agent: the longer the plan, the rarer a win."""
    return bool(generator.random() < 1 / (1 + np.exp(len(task.proof) - 5)))


def play(pool, rounds, start=0, **kwargs):
    """Rounds of four groups; chance depends on the number of the round alone. A new curriculum each round."""
    for number in range(start, start + rounds):
        generator = rng([7, number])
        curriculum = Curriculum(pool, **kwargs)
        for assignment in curriculum.assign(4, generator):
            wins = sum(skill(assignment.task, generator) for _ in range(8))
            curriculum.report(assignment, outcomes(assignment, wins))
    return [(e.kind, e.slot, e.task_id, e.reason, dict(e.stats)) for e in pool.events()]


def test_a_resumed_run_is_the_same_run(tasks, tmp_path):
    whole = play(TaskPool.create(tmp_path / "whole", tasks), 24)
    first = TaskPool.create(tmp_path / "first", tasks)
    play(first, 10)
    first.copy(tmp_path / "resumed")
    first.close()
    resumed = play(TaskPool.open(tmp_path / "resumed"), 14, start=10)
    assert resumed == whole
    assert {"proposed", "accepted", "rejected"} <= {event[0] for event in whole}
    assert play(TaskPool.create(tmp_path / "other", tasks), 24, seed=1) != whole


def test_one_curriculum_or_many_is_the_same(tasks, tmp_path):
    """The object keeps no state that matters: only the pool does."""
    many = TaskPool.create(tmp_path / "many", tasks)
    play(many, 12)
    one = TaskPool.create(tmp_path / "one", tasks)
    curriculum = Curriculum(one)
    for number in range(12):
        generator = rng([7, number])
        for assignment in curriculum.assign(4, generator):
            wins = sum(skill(assignment.task, generator) for _ in range(8))
            curriculum.report(assignment, outcomes(assignment, wins))
    assert one.events() == many.events()


def test_difficulty_moves_into_the_band(tmp_path):
    """Tasks that an agent always or never solves become tasks that it sometimes solves."""
    roots = [DOMAIN.generate(seed) for seed in range(24)]
    pool = TaskPool.create(tmp_path / "pool", roots)

    def useful(tasks):
        return sum(0.15 < 1 / (1 + np.exp(len(task.proof) - 5)) < 0.85 for task in tasks)

    before = useful(roots)
    play(pool, 60)
    assert useful(pool.active(slot) for slot in pool.slots) >= before + 4
    assert pool.counts()["accepted"] >= 6


# -- rewriters


def test_scripted_rewriter_is_a_function_of_its_generator(task):
    request = Request(task, "easier", 0.0)
    assert ScriptedRewriter().rewrite(request, rng(3)) == ScriptedRewriter().rewrite(request, rng(3))


def test_scripted_rewriter_tries_new_ones_first_and_then_again(task):
    tried = set()
    for _ in range(200):
        candidate = ScriptedRewriter().rewrite(Request(task, "easier", 0.0, frozenset(tried)), rng(3)).candidate
        if candidate.id in tried:
            break
        tried.add(candidate.id)
    assert len(tried) > 1


def test_nothing_to_propose_is_on_record(pool):
    class Mute:
        name = "mute"

        def rewrite(self, request, rng):
            return Rewriting(None, (Rejection(reason="no-proposal", detail=request.critique),))

    curriculum = Curriculum(pool, rewriter=Mute())
    assignment = assignment_of(curriculum, 0)
    (event,) = curriculum.report(assignment, outcomes(assignment, 0), critique="never found the apple")
    assert (event.kind, event.reason, event.stats["detail"]) == (
        "discarded",
        "no-proposal",
        "never found the apple",
    )
    assert pool.candidate(0) is None


@pytest.mark.parametrize(
    "kwargs",
    [
        {"band": (0.8, 0.2)},
        {"band": (-0.1, 0.8)},
        {"band": (0.2, 1.2)},
        {"rollouts": 0},
        {"rewriter": "llm"},
        {"acceptance": "x"},
    ],
)
def test_bad_arguments(pool, kwargs):
    with pytest.raises(ValueError, match=r"Curriculum|choose"):
        Curriculum(pool, **kwargs)
