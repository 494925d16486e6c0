"""Groups on the roots, and steps back towards them: with made-up outcomes on real tasks."""

from collections import Counter

import numpy as np
import pytest

from rlanything_envs.curriculum import Curriculum, CurriculumMonitor, ScriptedRewriter
from rlanything_envs.curriculum.curriculum import Assignment
from rlanything_envs.curriculum.ledger import Ledger
from rlanything_envs.curriculum.rewrite_request import AUTHOR
from rlanything_envs.errors import CurriculumError
from rlanything_task_pools import Outcome, TaskPool
from rlanything_task_pools.alfworld import DOMAIN
from rlanything_task_pools.domain import UnknownOperator
from rlanything_task_pools.verify import verify_pool


@pytest.fixture
def pool(tasks, tmp_path):
    with TaskPool.create(tmp_path / "pool.sqlite", tasks) as pool:
        yield pool


def rng(seed=0):
    return np.random.default_rng(seed)


def report(curriculum, role, wins, slot=0, n=8, errors=0):
    """Play a group of a role in a slot."""
    pool = curriculum.pool
    task = {"active": pool.active, "candidate": pool.candidate, "root": pool.root}[role](slot)
    made = [True] * wins + [False] * (n - wins - errors) + [None] * errors
    outcomes = [Outcome(success=won, score=float(bool(won)), steps=5, actor="test", role=role) for won in made]
    return curriculum.report(Assignment(slot, task, role), outcomes)


def moves(events):
    return [(event.kind, event.reason) for event in events]


def ease(curriculum, slot=0):
    """Make a slot's task easier, by a trial."""
    assert moves(report(curriculum, "active", 0, slot))[-1] == ("proposed", "easier")
    assert moves(report(curriculum, "candidate", 4, slot)) == [("accepted", "easier")]
    return curriculum.pool.active(slot)


# -- roots


def test_no_roots_unless_asked_for(pool):
    ease(Curriculum(pool))
    plain, asked = Curriculum(pool), Curriculum(pool, roots=0.0)
    assert plain.assign(8, rng()) == asked.assign(8, rng())
    assert {a.role for _ in range(5) for a in plain.assign(8, rng())} == {"active"}


def test_the_share_of_groups_on_roots(pool):
    curriculum = Curriculum(pool, roots=0.5)
    assert {a.role for a in curriculum.assign(8, rng())} == {"active"}  # all play their roots anyway
    for slot in pool.slots:
        if not moves(report(curriculum, "active", 0, slot)) or pool.candidate(slot) is None:
            continue
        report(curriculum, "candidate", 4, slot)
    moved = {slot for slot in pool.slots if pool.active(slot).id != pool.root(slot).id}
    assert len(moved) >= 5
    roles = Counter()
    for seed in range(200):
        for a in curriculum.assign(8, rng(seed)):
            if a.slot in moved:
                roles[a.role] += 1
                assert a.task == (pool.root if a.role == "root" else pool.active)(a.slot)
            else:
                assert a.role == "active"
    assert set(roles) == {"active", "root"}
    assert roles["root"] / roles.total() == pytest.approx(0.5, abs=0.05)
    assert curriculum.assign(8, rng(3)) == curriculum.assign(8, rng(3))


def test_trials_give_way_to_roots_too(pool):
    curriculum = Curriculum(pool, roots=1.0)
    ease(curriculum)
    report(curriculum, "active", 0)
    assert pool.candidate(0) is not None
    assert {(a.slot, a.role) for a in curriculum.assign(8, rng())} == {
        (0, "root"),
        *((s, "active") for s in range(1, 8)),
    }
    # beside a root that is the active task, the group is one more of the parent's
    report(curriculum, "active", 0, slot=1)
    assert {a.role for a in curriculum.assign(8, rng()) if a.slot == 1} == {"active"}
    # and a trial that waited comes with the next group of its slot
    mixed = Curriculum(pool, roots=0.5)
    assert {a.role for seed in range(20) for a in mixed.assign(8, rng(seed)) if a.slot == 0} == {"root", "candidate"}


@pytest.mark.parametrize("wins", [0, 1])
def test_a_root_that_is_still_too_hard_asks_for_nothing(pool, wins):
    curriculum = Curriculum(pool, roots=0.5)
    easier = ease(curriculum)
    before = pool.counts()
    assert report(curriculum, "root", wins) == []
    assert pool.active(0) == easier
    assert pool.counts() == {**before, "outcomes": before["outcomes"] + 8}
    assert [r.outcome.role for r in pool.outcomes(0, pool.root(0).id)][-8:] == ["root"] * 8


@pytest.mark.parametrize("wins", [2, 6, 8])
def test_a_root_in_the_band_takes_its_slot_back(pool, wins):
    curriculum = Curriculum(pool, roots=0.5)
    easier = ease(curriculum)
    events = report(curriculum, "root", wins)
    assert moves(events) == [("proposed", "harder"), ("accepted", "root-in-band")]
    assert dict(events[1].stats) == {"successes": wins, "n": 8}
    now = pool.active(0)
    assert (now.id, now.parent, now.rewrite.author) == (pool.root(0).id, easier.id, AUTHOR)
    assert pool.candidate(0) is None
    # from there it is adapted like any root
    assert moves(report(curriculum, "active", 0))[-1] == ("proposed", "easier")


def test_a_root_in_the_band_ends_a_trial(pool):
    curriculum = Curriculum(pool, roots=0.5)
    ease(curriculum)
    report(curriculum, "active", 0)
    candidate = pool.candidate(0)
    events = report(curriculum, "root", 4)
    assert moves(events) == [("rejected", "root-in-band"), ("proposed", "harder"), ("accepted", "root-in-band")]
    assert events[0].task_id == candidate.id
    assert pool.active(0).id == pool.root(0).id
    # unless it is the trial of the root itself
    back = Curriculum(pool, roots=0.5, step_back=True)
    ease(back)
    report(back, "active", 8)
    assert pool.candidate(0).id == pool.root(0).id
    assert moves(report(back, "root", 4)) == [("accepted", "root-in-band")]


def test_too_few_valid_episodes_move_no_root(pool):
    curriculum = Curriculum(pool, roots=0.5)
    ease(curriculum)
    assert report(curriculum, "root", 3, errors=5) == []


def test_a_mastered_root_stays_behind_a_harder_task(pool):
    curriculum = Curriculum(pool, roots=0.5)
    slot = next(slot for slot in pool.slots if moves(report(curriculum, "active", 8, slot))[-1][0] == "proposed")
    assert moves(report(curriculum, "candidate", 4, slot)) == [("accepted", "harder")]
    assert report(curriculum, "root", 8, slot) == []
    assert moves(report(curriculum, "root", 5, slot))[-1] == ("accepted", "root-in-band")


def test_a_late_group_on_a_root_changes_nothing(pool):
    curriculum = Curriculum(pool, roots=0.5)
    ease(curriculum)
    report(curriculum, "root", 4)
    before = pool.counts()
    assert report(curriculum, "root", 4) == []
    assert pool.counts()["accepted"] == before["accepted"]


# -- stepping back


def test_a_mastered_task_first_makes_way_for_the_one_before_it(pool):
    curriculum = Curriculum(pool, step_back=True)
    one = ease(curriculum)
    two = ease(curriculum)
    assert two.parent == one.id
    (event,) = report(curriculum, "active", 8)
    assert (event.kind, event.reason, event.task_id) == ("proposed", "harder", one.id)
    assert dict(event.stats) == {"successes": 8, "n": 8}
    candidate = pool.candidate(0)
    assert (candidate.goal, candidate.payload, candidate.proof) == (one.goal, one.payload, one.proof)
    assert (candidate.parent, candidate.root) == (two.id, pool.root(0).id)
    assert (candidate.rewrite.author, candidate.rewrite.change) == (AUTHOR, one.rewrite.change)
    # it is tried as any other; when it is mastered in turn, the root is next
    assert moves(report(curriculum, "candidate", 4)) == [("accepted", "harder")]
    (event,) = report(curriculum, "active", 7)
    assert event.task_id == pool.root(0).id
    assert moves(report(curriculum, "candidate", 4)) == [("accepted", "harder")]
    # the root has nothing before it
    events = report(curriculum, "active", 8)
    assert pool.candidate(0) is None or pool.candidate(0).rewrite.author == "scripted"
    assert events
    assert list(verify_pool(pool)) == []


def test_a_step_back_that_was_too_big_is_followed_by_a_smaller_one(pool):
    curriculum = Curriculum(pool, step_back=True)
    one = ease(curriculum)
    report(curriculum, "active", 8)
    (event,) = report(curriculum, "candidate", 0)
    assert (event.kind, event.task_id) == ("rejected", pool.root(0).id)
    assert moves(report(curriculum, "active", 8))[-1] == ("proposed", "harder")
    between = pool.candidate(0)
    assert between.rewrite.author == "scripted"
    assert between.id not in (one.id, pool.root(0).id)
    report(curriculum, "candidate", 4)
    # from the task in between the root is the way back, not the one that is easier still
    (event,) = report(curriculum, "active", 8)
    assert event.task_id == pool.root(0).id


def test_an_easier_task_never_steps_back_when_it_is_failed(pool):
    curriculum = Curriculum(pool, step_back=True)
    ease(curriculum)
    assert moves(report(curriculum, "active", 0))[-1] == ("proposed", "easier")
    assert pool.candidate(0).rewrite.author == "scripted"


def test_a_harder_task_has_no_way_back(pool):
    curriculum = Curriculum(pool, step_back=True)
    slot = next(slot for slot in pool.slots if moves(report(curriculum, "active", 8, slot))[-1][0] == "proposed")
    report(curriculum, "candidate", 4, slot)
    report(curriculum, "active", 8, slot)
    candidate = pool.candidate(slot)
    assert candidate is None or candidate.rewrite.author == "scripted"


def test_without_it_the_rewriter_is_asked(pool):
    curriculum = Curriculum(pool)
    ease(curriculum)
    report(curriculum, "active", 8)
    assert pool.candidate(0).rewrite.author == "scripted"


def test_the_background_need_not_be_waited_for(pool):
    curriculum = Curriculum(pool, step_back=True)
    ease(curriculum)
    beside = Curriculum(pool, step_back=True, rewriting="background")
    (event,) = report(beside, "active", 8)
    assert event.task_id == pool.root(0).id
    assert beside.rewrites_under_way == 0


# -- all of it from the logs


def play(pool, rounds, start=0, one=None, **settings):
    """Rounds of four groups of an agent that gets better; a new curriculum each round unless one is given."""
    for number in range(start, start + rounds):
        generator = rng([11, number])
        curriculum = one or Curriculum(pool, **settings)
        for assignment in curriculum.assign(4, generator):
            p = 1 / (1 + np.exp(len(assignment.task.proof) - 2 - number / 8))
            won = generator.random(8) < p
            outcomes = [
                Outcome(success=bool(w), score=float(w), steps=5, actor="test", role=assignment.role) for w in won
            ]
            curriculum.report(assignment, outcomes)
    return [(e.kind, e.slot, e.task_id, e.reason, dict(e.stats)) for e in pool.events()]


@pytest.mark.parametrize("acceptance", [pytest.param("paper", marks=pytest.mark.slow), "recommended"])
def test_one_curriculum_many_or_a_resumed_one_is_the_same(tasks, tmp_path, acceptance):
    settings = {"roots": 0.4, "step_back": True, "operators": ("start", "goal"), "acceptance": acceptance}
    many = TaskPool.create(tmp_path / "many", tasks)
    whole = play(many, 48, **settings)
    one = TaskPool.create(tmp_path / "one", tasks)
    assert play(one, 48, one=Curriculum(one, **settings)) == whole
    first = TaskPool.create(tmp_path / "first", tasks)
    play(first, 20, **settings)
    first.copy(tmp_path / "resumed")
    resumed = TaskPool.open(tmp_path / "resumed")
    assert play(resumed, 28, start=20, **settings) == whole
    reasons = Counter(event[3] for event in whole if event[0] == "accepted")
    assert reasons["root-in-band"] >= 2
    backs = [
        v for slot in many.slots for v in many.versions(slot) if v.task.rewrite and v.task.rewrite.author == AUTHOR
    ]
    assert len(backs) > reasons["root-in-band"]  # some by stepping back
    assert list(verify_pool(many)) == []
    roles = Counter(record.outcome.role for record in many.outcomes())
    assert roles["root"] > 0
    # the path that the ledger keeps leads from the root to the active task, along what the slot accepted
    ledger = Ledger(many, 8)
    ledger.read()
    for slot in many.slots:
        history, accepted = ledger.slot(slot), [task.id for task in many.history(slot)]
        ends = [history.root, *(task_id for task_id, _ in history.path)]
        assert ends[0] == many.root(slot).id
        assert ends[-1] == many.active(slot).id
        assert len(set(ends)) == len(ends)
        assert set(ends) <= set(accepted)


def test_the_monitor_tells_roots_apart(pool):
    curriculum = Curriculum(pool, roots=0.5)
    monitor = CurriculumMonitor(pool)
    ease(curriculum)
    assert monitor.row().root_accuracy is None
    report(curriculum, "active", 4)
    report(curriculum, "root", 1)
    row = monitor.row()
    assert (row.accuracy, row.root_accuracy, row.groups) == (0.5, 0.125, 4)
    assert monitor.row().root_accuracy is None
    report(curriculum, "root", 1)
    assert CurriculumMonitor(pool).row().root_accuracy is None


# -- only the start is eased


def test_the_operator_stays_and_the_start_is_eased_in_stages(tmp_path):
    """Tasks to clean, heat and cool: every rewrite keeps the goal, and eased as far as can be the thing is in hand."""
    roots = [t for t in (DOMAIN.generate(seed) for seed in range(40)) if t.traits["kind"] in ("clean", "heat", "cool")]
    with TaskPool.create(tmp_path / "pool", roots[:6]) as pool:
        curriculum = Curriculum(pool, operators=("start",), step_back=True)
        for slot in pool.slots:
            stages = []
            while True:
                report(curriculum, "active", 0, slot)
                if (candidate := pool.candidate(slot)) is None:
                    break
                stages.append(candidate.rewrite.change["start"])
                assert candidate.goal == pool.root(slot).goal
                report(curriculum, "candidate", 4, slot)
            assert stages[-1] == "in_hand"
            assert set(stages[:-1]) <= {"at_station", "in_view"}
            # and back: mastered again and again it is at the root in as many steps, or by way of a stage in between
            for _ in range(4):
                if pool.active(slot).id == pool.root(slot).id:
                    break
                report(curriculum, "active", 8, slot)
                report(curriculum, "candidate", 4, slot)
            assert pool.active(slot).id == pool.root(slot).id


def test_operators_are_checked_when_they_are_given(pool):
    with pytest.raises(UnknownOperator, match="choose from"):
        Curriculum(pool, operators=("fly",))
    with pytest.raises(CurriculumError, match="give them to the rewriter"):
        Curriculum(pool, ScriptedRewriter(), operators=("start",))
    for roots in (-0.1, 1.1, float("nan")):
        with pytest.raises(CurriculumError, match="roots must be a share"):
            Curriculum(pool, roots=roots)
    assert Curriculum(pool).rewriter.operators is None
    assert Curriculum(pool, operators=["start"]).rewriter.operators == ("start",)
