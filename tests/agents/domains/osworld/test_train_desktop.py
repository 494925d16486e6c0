"""The closed loop on desktops, small: every part is the real one, and a run depends on its seed alone."""

import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console
from safetensors.torch import load_file

from rlanything_agents.config import load_config
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.train import train
from rlanything_task_pools import TaskPool

QUICKSTART = Path(__file__).parents[4] / "configs" / "osworld-quickstart.yaml"
KINDS = "{kinds: [count_lines], difficulty: 0}"
SMALL = "{hidden_size: 48, layers: 2, heads: 2, intermediate_size: 96}"
TINY = [
    "name=tiny",
    "seed=3",
    "threads=1",
    "environment.backend=simulator",
    "iterations=2",
    f"policy={SMALL}",
    f"reward_model={SMALL}",
    "warm_start.demonstrations=100",
    "warm_start.epochs=4",
    "warm_start.learning_rate=0.005",
    "warm_start.judge_steps=60",
    f"warm_start.knobs={KINDS}",
    "warm_start.max_steps=8",
    "rollout={tasks: 3, rollouts: 4, max_steps: 4}",
    "judge={votes: 2}",
    "curriculum.pool_size=3",
    f"curriculum.knobs={KINDS}",
    f"evaluation.knobs={KINDS}",
    "evaluation.panels=[valid_seen]",
    "evaluation.episodes=6",
    "evaluation.judge_episodes=4",
    "evaluation.max_steps=4",
]


def run(path: Path, more: Sequence[str] = ()) -> tuple[dict[str, Any], str]:
    threads, output = torch.get_num_threads(), io.StringIO()
    reporter = Reporter(Console(file=output, width=250))
    summary = train(load_config(QUICKSTART, [*TINY, *more]), RunFolder(path), reporter, command="rlanything train")
    torch.set_num_threads(threads)
    return summary, output.getvalue()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], str]:
    path = tmp_path_factory.mktemp("runs") / "tiny"
    return path, *run(path)


def test_the_quickstart_is_a_configuration() -> None:
    config = load_config(QUICKSTART)
    assert config.domain == "osworld"
    assert config.environment == {"backend": "bwrap"}
    assert config.rollout.environments == config.rollout.threads == 8
    assert config.curriculum.operators == ("evaluator", "hints")


@pytest.mark.slow
def test_success_and_judge_are_reported_before_and_after(finished: tuple[Path, dict[str, Any], str]) -> None:
    path, summary, said = finished
    for when in ("before", "after"):
        assert summary[when]["panels"]["valid_seen"]["episodes"] == 6
        assert summary[when]["judge"]["steps"] > 0
    assert "success" in said
    assert "Count all lines" in (path / "report.html").read_text()


def test_both_models_learn_and_tasks_adapt(finished: tuple[Path, dict[str, Any], str]) -> None:
    path, _, _ = finished
    rows = RunFolder(path).rows()
    assert [row["iteration"] for row in rows] == [1, 2]
    assert all(row["feedback"]["masked"] == 0 for row in rows)
    for role in ("policy", "judge"):
        before = load_file(path / "stages" / "warm_start" / role / "model.safetensors")
        after = load_file(path / "checkpoints" / "0002" / role / "model.safetensors")
        assert any(not torch.equal(before[key], after[key]) for key in before), role
    with gzip.open(path / "trajectories" / "0001.jsonl.gz", "rt") as file:
        episodes = [json.loads(line) for line in file]
    assert len(episodes) >= 12
    for episode in episodes:
        assert episode["opening"].startswith("Task: ")
        assert all(turn["action"].split() for turn in episode["turns"])
        assert all(len(turn["votes"]) in (0, 2) for turn in episode["turns"])
    with TaskPool.open(path / "pool.sqlite") as pool:
        assert len(pool.outcomes()) >= 2 * 12
        assert pool.counts().keys() >= {"accepted", "rejected"}


@pytest.mark.slow
def test_a_run_depends_on_its_seed_alone(finished: tuple[Path, dict[str, Any], str], tmp_path: Path) -> None:
    path, summary, _ = finished
    again, _ = run(tmp_path / "tiny", ["rollout.environments=5"])
    assert again["table"] == summary["table"]
    for role in ("policy", "judge"):
        one = load_file(path / "checkpoints" / "0002" / role / "model.safetensors")
        two = load_file(tmp_path / "tiny" / "checkpoints" / "0002" / role / "model.safetensors")
        for key, weight in one.items():
            torch.testing.assert_close(weight, two[key], rtol=1e-3, atol=1e-4)


@pytest.mark.slow
def test_the_same_loop_on_real_desktops_one_of_which_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A guest whose server dies in the second iteration is no reward, and its environment goes on with another one."""
    from rlanything_envs.osworld.desktop import DesktopError, MissingPackages, make_desktop
    from rlanything_envs.osworld.env import OSWorldEnv

    try:
        desktop = make_desktop("bwrap", screen=(1280, 720))
        desktop.start()
    except MissingPackages as error:
        pytest.skip(str(error))
    except DesktopError as error:
        if "made no sandbox" in str(error):
            pytest.skip(str(error))
        raise
    desktop.close()
    small = ["rollout={tasks: 2, rollouts: 2, max_steps: 5, environments: 2, threads: 2}", "curriculum.pool_size=2"]
    small += ["warm_start.demonstrations=8", "warm_start.judge_steps=8", "warm_start.epochs=20"]
    small += ["evaluation.episodes=2", "evaluation.judge_episodes=2", "evaluation.max_steps=5"]
    step, failed = OSWorldEnv.step, list[OSWorldEnv]()

    def step_on_a_dead_one(env: OSWorldEnv, action: str) -> Any:
        if not failed and (tmp_path / "real" / "checkpoints" / "0001").exists():
            failed.append(env)
            env._machine._desktop._running._process.kill()  # type: ignore[union-attr]
        return step(env, action)

    monkeypatch.setattr(OSWorldEnv, "step", step_on_a_dead_one)
    summary, _ = run(tmp_path / "real", ["environment.backend=bwrap", *small])
    rows = RunFolder(tmp_path / "real").rows()
    assert [row["iteration"] for row in rows] == [1, 2]
    assert [row["feedback"]["masked"] for row in rows] == [0, 1]
    assert summary["after"]["panels"]["valid_seen"]["episodes"] == 2
