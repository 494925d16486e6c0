"""The arm that samples its tasks by a profile, for two iterations."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlanything_agents.runs.folder import RunFolder
from rlanything_task_pools import TaskPool
from studies.jobs import run_path
from studies.plan import StudyFile, make_plan
from studies.study import run_study


@pytest.mark.slow
@pytest.mark.usefixtures("in_process")
def test_an_arm_samples_by_the_profile_that_it_paid_for(micro: StudyFile, tmp_path: Path) -> None:
    plan = make_plan(micro, arms=["outcome", "profile"], seeds=1, overrides=["evaluation.every=null"])
    assert run_study(plan, tmp_path, workers=1, command="") == 0
    run, other = (RunFolder(run_path(tmp_path, "small", arm, 0)) for arm in ("profile", "outcome"))
    rows = run.rows()
    assert len(rows) == len(other.rows()) == 2
    with TaskPool.open(run.pool) as pool:
        records = pool.outcomes()
        measured = [record.outcome for record in records if record.outcome.actor == "profile"]
        assert [record.slot for record in records[: len(measured)]] == [slot for slot in pool.slots for _ in range(2)]
        steps = sum(record.outcome.steps for record in records)
        assert sum(row["env_steps"] for row in rows) == steps
        assert rows[0]["env_steps"] > sum(outcome.steps for outcome in measured) > 0
        solved = {slot: sum(o.success is True for o in measured[2 * slot : 2 * slot + 2]) for slot in pool.slots}
        first = {record.slot for record in records[len(measured) :][:16]}
        spread = {slot for slot, count in solved.items() if count == 1}
        assert first <= spread or not spread
