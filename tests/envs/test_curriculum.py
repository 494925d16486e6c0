"""The curriculum as a batch loop uses it."""

import threading
import time

import numpy as np
import pytest

from rlanything_envs.curriculum import Assignment, Curriculum, Request, Rewriting, ScriptedRewriter
from rlanything_envs.errors import SettingError
from rlanything_task_pools import Outcome, PoolError, Rejection, TaskPool
from rlanything_task_pools.alfworld import DOMAIN
from rlanything_task_pools.alfworld.games import game_of
from rlanything_task_pools.knobs import KnobError
from rlanything_verifiers.alfworld import World


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


def test_a_profile_is_sampled_from_the_first_assignment_on(pool):
    won = {0: 0, 1: 8, 2: 4, 3: 1, 4: 7, 5: 0, 6: 8}  # slot 7 was not played
    for slot, wins in won.items():
        pool.record(slot, pool.active(slot).id, outcomes(Assignment(slot, pool.active(slot), "active"), wins))
    curriculum = Curriculum(pool, sampling="profile")
    drawn = np.array([[a.slot for a in curriculum.assign(2, rng(seed))] for seed in range(400)])
    assert set(drawn.ravel()) == {2, 3, 4, 7}
    assert all(len(set(row)) == 2 for row in drawn.tolist())
    shares = np.bincount(drawn[:, 0], minlength=8) / 400
    weights = np.array([16, 7, 7, 16]) / 46  # p (1 - p), and 1/4 for one not played
    assert np.abs(shares[[2, 3, 4, 7]] - weights).max() < 0.08
    assert {a.slot for a in curriculum.assign(6, rng())} == {2, 3, 4, 7}
    assert {a.slot for seed in range(99) for a in curriculum.assign(1, rng(seed), without={2, 3, 4, 7})} == {0, 1, 5, 6}
    assert {a.slot for a in Curriculum(pool).assign(8, rng())} == set(range(8))
    with pytest.raises(SettingError, match="sampling 'profil' is unknown; choose 'uniform' or 'profile'"):
        Curriculum(pool, sampling="profil")


def test_assign_leaves_out_the_slots_it_is_told_to(pool):
    curriculum = Curriculum(pool)
    curriculum.report(assignment_of(curriculum, 5), outcomes(assignment_of(curriculum, 5), 0))
    drawn = curriculum.assign(5, rng(), without={5, 0, 1})
    assert sorted(a.slot for a in drawn) == [2, 3, 4, 6, 7]
    assert all(a.role == "active" for a in drawn)
    assert curriculum.assign(8, rng(), without=()) == curriculum.assign(8, rng())
    with pytest.raises(SettingError, match="none of 8 slots for 1 groups"):
        curriculum.assign(1, rng(), without=range(8))


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


# -- trials of more than one group


def test_the_recommended_rule_plays_the_candidate_until_it_is_sure(pool):
    curriculum = Curriculum(pool, acceptance="recommended")
    first = assignment_of(curriculum, 0)
    curriculum.report(first, outcomes(first, 1))  # 1 of 8
    trial = assignment_of(curriculum, 0, "candidate")
    assert curriculum.report(trial, outcomes(trial, 3)) == []
    assert curriculum.assign(1, rng()) == [trial]  # it comes first again
    (event,) = curriculum.report(trial, outcomes(trial, 5))
    assert (event.kind, event.reason, event.task_id) == ("accepted", "easier", trial.task.id)
    stats = dict(event.stats)
    assert 0.91 < stats.pop("probability") < 1
    assert stats == {"successes": 8, "n": 16, "parent": 0.125}
    assert pool.active(0) == trial.task


def test_without_a_trial_a_candidate_is_accepted_at_once(pool):
    curriculum = Curriculum(pool, acceptance="always")
    parent = pool.active(0)
    first = assignment_of(curriculum, 0)
    proposed, accepted = curriculum.report(first, outcomes(first, 0))
    assert [(event.kind, event.reason) for event in (proposed, accepted)] == [
        ("proposed", "easier"),
        ("accepted", "easier"),
    ]
    assert dict(accepted.stats) == {"successes": 0, "n": 0, "parent": 0.0}
    assert pool.active(0).parent == parent.id
    assert assignment_of(curriculum, 0).role == "active"


@pytest.mark.parametrize("rule", ["paper", "recommended"])
@pytest.mark.parametrize("wins", range(9))
def test_a_rejection_is_known_before_it_is_reported(pool, rule, wins):
    curriculum = Curriculum(pool, acceptance=rule)
    active = assignment_of(curriculum, 0)
    assert not curriculum.rejects(active, outcomes(active, 0))
    trial = propose(curriculum)
    group, events = outcomes(trial, wins), len(pool.events())
    known = curriculum.rejects(trial, group)
    assert len(pool.events()) == events
    assert curriculum.rejects(trial, outcomes(trial, 0, errors=5)), "it could not be measured"
    assert known == any(event.kind == "rejected" for event in curriculum.report(trial, group))
    assert not curriculum.rejects(trial, group) or pool.candidate(0) is not None


def test_groups_of_the_parent_have_no_part_in_a_trial(pool):
    curriculum = Curriculum(pool, acceptance="recommended")
    trial = propose(curriculum)
    # More groups than slots: the slot with the candidate also plays its active task.
    extra = [a for a in curriculum.assign(24, rng()) if a.slot == 0 and a.role == "active"]
    assert extra
    assert curriculum.report(extra[0], outcomes(extra[0], 8)) == []
    (event,) = curriculum.report(trial, outcomes(trial, 4))
    assert (event.kind, event.stats["parent"]) == ("accepted", 0.0)


def test_a_candidate_whose_group_was_cut_short_plays_on(pool):
    for rule in ("paper", "recommended"):
        curriculum = Curriculum(pool, acceptance=rule)
        trial = propose(curriculum, slot=1)
        curriculum.record(trial, outcomes(trial, 2, n=3))
        assert curriculum.assign(1, rng()) == [trial]
        events = curriculum.report(trial, outcomes(trial, 8))
        assert events[0].stats["n"] == 11
        pool.candidate(1) is None or pool.reject(1, "test")


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
    assert not curriculum._ledger.slot(0).tried, "what was never played was not of no use"


def test_a_lost_group_takes_nothing_from_a_trial_that_was_measured(pool):
    curriculum = Curriculum(pool, acceptance="recommended")
    trial = propose(curriculum, wins=8)
    assert curriculum.report(trial, outcomes(trial, 6)) == []
    lost = outcomes(trial, 0, errors=8)
    assert not curriculum.rejects(trial, lost)
    assert curriculum.report(trial, lost) == []
    assert pool.candidate(0) == trial.task


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
    with pytest.raises(PoolError, match="has no slot 99"):
        curriculum.report(assignment, outcomes(assignment, 0))


def skill(task, generator):
    """A made-up agent: the longer the plan, the rarer a win."""
    return bool(generator.random() < 1 / (1 + np.exp(len(task.proof) - 5)))


def play(pool, rounds, start=0, one=None, **kwargs):
    """Rounds of four groups; chance depends on the number of the round alone. A new curriculum each round, or one."""
    for number in range(start, start + rounds):
        generator = rng([7, number])
        curriculum = one or Curriculum(pool, **kwargs)
        for assignment in curriculum.assign(4, generator):
            wins = sum(skill(assignment.task, generator) for _ in range(8))
            curriculum.report(assignment, outcomes(assignment, wins))
        curriculum.drain(wait=True)
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


@pytest.mark.parametrize("settings", [{}, {"acceptance": "recommended"}])
def test_one_curriculum_or_many_is_the_same(tasks, tmp_path, settings):
    """The object keeps no state that matters: only the pool does."""
    many = TaskPool.create(tmp_path / "many", tasks)
    play(many, 30, **settings)
    assert many.counts()["accepted"] >= 2
    one = TaskPool.create(tmp_path / "one", tasks)
    play(one, 30, one=Curriculum(one, **settings))
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


# -- rewriting in the background


class Slow(ScriptedRewriter):
    """Waits until it is told to go on."""

    def __init__(self):
        super().__init__()
        self.go = threading.Event()
        self.threads = set()

    def rewrite(self, request, rng):
        self.threads.add(threading.current_thread())
        assert self.go.wait(30)
        return super().rewrite(request, rng)


def test_nobody_waits_for_a_rewriter_in_the_background(pool):
    slow = Slow()
    curriculum = Curriculum(pool, rewriter=slow, rewriting="background")
    group = assignment_of(curriculum, 0)
    assert curriculum.report(group, outcomes(group, 0)) == []
    curriculum.assign(1, rng())
    assert len(curriculum._requests) == 1
    assert curriculum.report(group, outcomes(group, 0)) == []  # one at a time in a slot
    assert len(curriculum._requests) == 1
    assert curriculum.drain(wait=True, timeout=0.01) == []
    assert curriculum.assign(8, rng())
    assert pool.events() == []
    slow.go.set()
    (event,) = curriculum.drain(wait=True)
    assert (event.kind, event.slot) == ("proposed", 0)
    assert slow.threads.isdisjoint({threading.main_thread()})
    assert curriculum.assign(1, rng())[0].role == "candidate"


def test_drained_at_fixed_points_the_background_is_as_exact_as_inline(tasks, tmp_path):
    class Jittery(ScriptedRewriter):
        def rewrite(self, request, rng):
            time.sleep(np.random.default_rng().random() / 100)
            return super().rewrite(request, rng)

    def run(name, **settings):
        pool = TaskPool.create(tmp_path / name, tasks)
        play(pool, 12, one=Curriculum(pool, **settings))
        return pool

    one, two = (run(name, rewriter=Jittery(), rewriting="background") for name in ("one", "two"))
    inline = run("inline")
    assert one.events() == two.events()
    for slot in inline.slots:  # within a slot not even the order differs
        assert [(e.kind, e.task_id, e.stats) for e in one.events(slot)] == [
            (e.kind, e.task_id, e.stats) for e in inline.events(slot)
        ]


def test_a_rewrite_that_comes_too_late_is_dropped(pool):
    slow = Slow()
    curriculum = Curriculum(pool, rewriter=slow, rewriting="background")
    group = assignment_of(curriculum, 0)
    curriculum.report(group, outcomes(group, 0))
    curriculum.begin_rewrites()
    other = propose(Curriculum(pool))  # another process was faster
    slow.go.set()
    assert [event.kind for event in curriculum.drain(wait=True)] == []
    assert pool.candidate(0) == other.task


def test_closing_waits_a_little_and_then_leaves_no_trace(pool):
    slow = Slow()
    curriculum = Curriculum(pool, rewriter=slow, rewriting="background")
    groups = curriculum.assign(8, rng())
    for group in groups:
        curriculum.report(group, outcomes(group, 0))
    start = time.perf_counter()
    assert curriculum.close(timeout=0.2) == []
    assert time.perf_counter() - start < 20  # the rewriter waits for 30
    assert len(curriculum._requests) == 0
    slow.go.set()
    time.sleep(0.1)
    assert pool.events() == []
    curriculum.report(groups[0], outcomes(groups[0], 0))
    assert curriculum.close(timeout=60)[-1].kind in ("proposed", "discarded")


@pytest.mark.parametrize("rewriting", ["inline", "background"])
def test_a_rewriter_that_breaks_is_an_event(pool, rewriting, caplog):
    class Broken:
        name = "broken"
        result: object = RuntimeError("out of tokens")

        def rewrite(self, request, rng):
            if isinstance(self.result, Exception):
                raise self.result
            return self.result

    broken = Broken()
    curriculum = Curriculum(pool, rewriter=broken, rewriting=rewriting)
    group = assignment_of(curriculum, 0)
    for result, detail in ((broken.result, "RuntimeError: out of tokens"), ("text", "not Rewriting")):
        broken.result = result
        (event,) = [*curriculum.report(group, outcomes(group, 0)), *curriculum.drain(wait=True)]
        assert (event.kind, event.reason) == ("discarded", "rewriter-error")
        assert detail in event.stats["detail"]
    assert "rewriter-error" in caplog.text
    assert curriculum.assign(8, rng())


@pytest.mark.parametrize("rewriting", ["inline", "background"])
def test_a_critique_is_made_only_when_there_is_a_rewrite_to_ask_for(pool, rewriting):
    made, seen = [], []

    class Noting(ScriptedRewriter):
        def rewrite(self, request, rng):
            seen.append(request.critique)
            return super().rewrite(request, rng)

    def critique():
        made.append(1)
        return "went in circles"

    def broken():
        raise OSError("the judge is gone")

    curriculum = Curriculum(pool, rewriter=Noting(), rewriting=rewriting)
    zero, one = assignment_of(curriculum, 0), assignment_of(curriculum, 1)
    curriculum.report(zero, outcomes(zero, 4), critique=critique)
    assert made == []
    curriculum.report(zero, outcomes(zero, 0), critique=critique)
    curriculum.drain(wait=True)
    assert (made, seen) == ([1], ["went in circles"])
    assert pool.candidate(0).rewrite.critique == "went in circles"
    # Without a critique the rewrite goes on.
    curriculum.report(one, outcomes(one, 0), critique=broken)
    curriculum.drain(wait=True)
    assert [event.reason for event in pool.events(1)] == ["critique-error", "easier"]
    assert seen == ["went in circles", ""]


# -- rewriters


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
    assert (event.kind, event.reason, event.stats["detail"]) == ("discarded", "no-proposal", "never found the apple")
    assert pool.candidate(0) is None


@pytest.mark.parametrize(
    "kwargs",
    [
        {"band": (0.8, 0.2)},
        {"band": (-0.1, 0.8)},
        {"band": (0.2, 1.2)},
        {"rollouts": 0},
        {"rewriter": "no such"},
        {"acceptance": "x"},
        {"rewriting": "later"},
    ],
)
def test_bad_arguments(pool, kwargs):
    with pytest.raises(ValueError, match=r"Curriculum|choose"):
        Curriculum(pool, **kwargs)


def test_operators_are_checked_when_they_are_given(pool):
    with pytest.raises(KnobError, match="choose from"):
        Curriculum(pool, operators=("fly",))
    with pytest.raises(SettingError, match="give them to the rewriter"):
        Curriculum(pool, ScriptedRewriter(), operators=("start",))
    assert Curriculum(pool).rewriter.operators is None
    assert Curriculum(pool, operators=["start"]).rewriter.operators == ("start",)


def test_the_start_is_eased_in_stages(tmp_path):
    """Tasks to clean, heat and cool: every rewrite keeps the goal, and eased as far as can be the thing is in hand."""
    roots = [t for t in (DOMAIN.generate(seed) for seed in range(40)) if t.traits["kind"] in ("clean", "heat", "cool")]
    with TaskPool.create(tmp_path / "pool", roots[:6]) as pool:
        curriculum = Curriculum(pool, operators=("start",))
        for slot in pool.slots:
            stages = []
            while True:
                active = Assignment(slot, pool.active(slot), "active")
                curriculum.report(active, outcomes(active, 0))
                if (candidate := pool.candidate(slot)) is None:
                    break
                stages.append(candidate.rewrite.change["start"])
                assert candidate.goal == pool.root(slot).goal
                trial = Assignment(slot, candidate, "candidate")
                curriculum.report(trial, outcomes(trial, 4))
            assert stages[-1] == "in_hand"
            assert set(stages[:-1]) <= {"at_station", "in_view"}
