"""What a curriculum knows of the pool's logs: the same read piece by piece, at once, and counted by hand."""

import numpy as np
import pytest

from rlanything_envs.curriculum import Curriculum, Tally
from rlanything_envs.curriculum.ledger import WINDOW, Ledger
from rlanything_task_pools import Outcome, TaskPool


def group(assignment, wins, errors=0):
    made = [True] * wins + [False] * (8 - wins - errors) + [None] * errors
    return [Outcome(success=won, score=float(bool(won)), steps=5, actor="test", role=assignment.role) for won in made]


@pytest.mark.parametrize("acceptance", ["paper", "recommended"])
def test_piece_by_piece_or_at_once(tasks, tmp_path, acceptance):
    pool = TaskPool.create(tmp_path / "pool", tasks)
    curriculum, other = (Curriculum(pool, acceptance=acceptance) for _ in range(2))
    often = Ledger(pool, 8)
    rng = np.random.default_rng(5)
    for number in range(30):
        player = (curriculum, other)[number % 2]  # as two processes would
        for assignment in player.assign(4, rng):
            player.report(assignment, group(assignment, int(rng.integers(9)), errors=int(rng.random() < 0.1))[:8])
        often.read()
    once = Ledger(pool, 8)
    once.read()
    assert pool.counts()["accepted"] >= 3
    assert once.pending == often.pending == [s for s in once.pending if pool.candidate(s)]
    assert sorted(once.pending) == [slot for slot in pool.slots if pool.candidate(slot)]
    for slot in pool.slots:
        one, two = once.slot(slot), often.slot(slot)
        assert one == two
        assert one.events == len(pool.events(slot))
        records = pool.outcomes(slot, pool.active(slot).id, errors=False)
        assert one.recent(WINDOW) == Tally.of([record.outcome for record in records][-WINDOW:])
        if one.trial is not None:
            candidate, event = pool.candidate(slot), pool.events(slot, kind="proposed")[-1]
            assert one.trial.proposed == event
            played = pool.outcomes(slot, candidate.id, role="candidate", errors=False)
            since = [record.outcome for record in played if record.event >= event.index]
            assert one.trial.tried(candidate.id) == Tally.of(since)


def test_reading_on_reads_only_what_is_new(tasks, tmp_path, monkeypatch):
    pool = TaskPool.create(tmp_path / "pool", tasks)
    curriculum = Curriculum(pool)
    ledger = Ledger(pool, 8)
    seen = []
    outcomes = pool.outcomes
    monkeypatch.setattr(pool, "outcomes", lambda **asked: seen.append(len(found := outcomes(**asked))) or found)
    for _ in range(3):
        (assignment,) = curriculum.assign(1, np.random.default_rng(0))
        curriculum.record(assignment, group(assignment, 4))
        seen.clear()
        ledger.read()
        assert seen == [8]


def test_evaluations_are_nobodys_business(tasks, tmp_path):
    pool = TaskPool.create(tmp_path / "pool", tasks)
    pool.record(0, tasks[0].id, [Outcome(success=True, score=1.0, steps=1, actor="test", role="eval")])
    ledger = Ledger(pool, 8)
    ledger.read()
    assert ledger.slot(0).recent(8) == Tally(0, 0)
