"""A profile of a pool: what it records, what it does not, and what starts from it."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rlanything_agents.tools.benchmark.profile import active_panel, profile_pool
from rlanything_agents.tools.cli import app
from rlanything_envs import CurriculumSource
from rlanything_task_pools import TaskPool
from rlanything_task_pools.alfworld import DOMAIN
from rlanything_task_pools.errors import PoolError
from rlanything_task_pools.export import cut_pool, export_pool, import_pool

AGENT = """
import json
from collections import Counter
from pathlib import Path

from rlanything_envs.errors import InfrastructureError

PLANS = json.loads(Path("plans.json").read_text())
begun, playing = Counter(), []


def agent(messages):
    goal = next(goal for goal in PLANS if goal in messages[0]["content"])
    said = [message["content"] for message in messages if message["role"] == "assistant"]
    plan, won = PLANS[goal]
    if not said:
        if Path("broken").exists():
            Path("broken").unlink()
            raise InfrastructureError("the machine of the agent is gone")
        playing[:] = plan if won[begun[goal] % len(won)] else []
        begun[goal] += 1
    return playing[len(said)] if len(said) < len(playing) else "look"
"""


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pool of three tasks, of which the agent solves one never, one in half of its episodes, and one always."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    tasks = [DOMAIN.generate(seed, kinds=["simple"]) for seed in range(3)]
    plans = {task.goal: (task.proof, won) for task, won in zip(tasks, ([0], [1, 0], [1]), strict=True)}
    assert len(plans) == 3
    Path("plans.json").write_text(json.dumps(plans))
    Path(f"{tmp_path.name.replace('-', '_')}.py").write_text(AGENT)
    TaskPool.create("pool.sqlite", tasks).close()
    return tmp_path / "pool.sqlite"


def played(pool: Path, **settings: Any) -> dict[str, Any]:
    agent = f"python:{pool.parent.name.replace('-', '_')}:agent"
    with TaskPool.open(pool) as opened:
        return profile_pool(
            opened,
            active_panel(opened),
            agent,
            pool.parent / "out",
            rollouts=4,
            workers=1,
            environment={"max_episode_steps": 12},
            **settings,
        )


def rates(pool: TaskPool) -> list[float]:
    groups = [pool.last_group(slot) for slot in pool.slots]
    return [sum(outcome.success is True for outcome in group) / len(group) if group else -1.0 for group in groups]


def test_a_profile_is_recorded_once(pool: Path) -> None:
    for _ in range(2):
        assert played(pool)["left"] == 0
        with TaskPool.open(pool) as opened:
            assert rates(opened) == [0, 0.5, 1]
            records = opened.outcomes()
            assert [record.slot for record in records] == [0] * 4 + [1] * 4 + [2] * 4
            assert {record.outcome.role for record in records} == {"active"}
            assert all(record.outcome.actor.endswith(":agent, profile 0") for record in records)
            assert [record.outcome.steps for record in records if not record.outcome.success] == [12] * 6


def test_nothing_is_recorded_before_every_episode_has_an_outcome(pool: Path) -> None:
    (pool.parent / "broken").touch()
    assert played(pool)["left"] == 1
    with TaskPool.open(pool) as opened:
        assert opened.outcomes() == []
    assert played(pool)["left"] == 0
    with TaskPool.open(pool) as opened:
        assert len(opened.outcomes()) == 12


def test_a_source_starts_with_the_tasks_that_have_spread(pool: Path) -> None:
    played(pool)
    for settings in ({}, {"sampling": "profile", "skip": False}):
        with closing(CurriculumSource(pool, rollouts=4, **settings)) as source:
            assert next(source).slot == 1


def test_a_training_set_is_cut_by_the_last_profile(pool: Path, tmp_path: Path) -> None:
    with TaskPool.open(pool) as opened, pytest.raises(PoolError, match="0 of 3 tasks were played"):
        cut_pool(opened, 0.2, 0.8)
    played(pool)
    with TaskPool.open(pool) as opened:
        middle = opened.active(1)
        for low, high, count in ((0.2, 0.8, 1), (0.5, 0.5, 1), (0.0, 0.5, 2), (0.0, 1.0, 3)):
            with cut_pool(opened, low, high) as cut:
                assert len(cut.slots) == count
        with pytest.raises(PoolError, match=r"the success rate of none is from 0\.6"):
            cut_pool(opened, 0.6, 0.9)
        with cut_pool(opened, 0.2, 0.8) as cut:
            export_pool(cut, tmp_path / "cut")
    with import_pool(tmp_path / "cut", tmp_path / "cut.sqlite") as again:
        assert (again.active(0).id, again.root(0).id) == (middle.id, middle.id)
        assert rates(again) == [0.5]


def test_the_command_draws_the_histogram_and_exports_what_is_between(pool: Path) -> None:
    runner = CliRunner(env={"COLUMNS": "100", "TERM": "dumb"})
    agent = f"python:{pool.parent.name.replace('-', '_')}:agent"
    words = ["pool", "profile", str(pool), "--agent", agent, "--rollouts", "4", "--workers", "1"]
    done = runner.invoke(app, [*words, "--env", "max_episode_steps=12"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.stdout.splitlines() if line.strip()]
    assert [line[-2:] for line in lines if "█" in line[-1]] == [["1", "█" * 13]] * 3
    done = runner.invoke(app, ["pool", "export", str(pool), "--out", "cut", "--between", "0.2", "0.8"])
    assert done.stdout.startswith("cut: 1 slots, 1 tasks, 4 outcomes"), done.output
