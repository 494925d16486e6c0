"""The closed loop on real desktops in text, small: every part is the real one, but for the size of the models."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from families import checkpoint
from rich.console import Console
from safetensors.torch import load_file

from rlanything_agents.config import RunConfig, load_config
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.train import train
from rlanything_agents.tools.planning.checks import dry_run
from rlanything_envs.osworld.desktop import Desktop
from rlanything_envs.osworld.env import OSWorldEnv
from rlanything_task_pools import TaskPool

QUICKSTART = Path(__file__).parents[4] / "configs" / "osworld-quickstart.yaml"
SMALL = [
    "name=tiny",
    "threads=1",
    "rollout={tasks: 2, rollouts: 2, max_steps: 2, environments: 2, threads: 2}",
    "judge={votes: 2, scope: all}",
    "large_rates=true",  # models of random weights stand in for checkpoints
    "feedback={policy_band: null, judge_band: null, balance: false}",
    "curriculum={pool_size: 2, acceptance: paper, knobs: {kinds: [edit_text], difficulty: 0}}",
    "evaluation={panels: [valid_seen], episodes: 2, judge_episodes: 2, max_steps: 2, knobs: {kinds: [edit_text]}}",
]


def settings(folder: Path) -> RunConfig:
    """The quick start with two models of random weights."""
    models = [
        f"{role}={{checkpoint: {checkpoint('qwen3', folder / role)}, dtype: float32, max_tokens: 12, context: 4096}}"
        for role in ("policy", "reward_model")
    ]
    return load_config(QUICKSTART, [*SMALL, *models])


@pytest.mark.usefixtures("bwrap_desktop")
def test_the_quickstart_can_be_run(tmp_path: Path) -> None:
    config = load_config(QUICKSTART)
    assert (config.domain, config.view) == ("osworld", "full")
    assert config.rollout.environments == config.rollout.threads == 8
    found = dry_run(settings(tmp_path), RunFolder(tmp_path / "run"))
    assert [finding for finding in found if finding.good is False] == []


@pytest.mark.slow
def test_two_iterations_on_real_desktops_one_of_which_fails(
    bwrap_desktop: Desktop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A guest whose server dies in the second iteration is no reward, and its environment goes on with another one."""
    path, step, failed = tmp_path / "run", OSWorldEnv.step, list[OSWorldEnv]()

    def step_on_a_dead_one(env: OSWorldEnv, action: str) -> Any:
        if not failed and (path / "checkpoints" / "0001").exists():
            failed.append(env)
            env._machine._desktop._running._process.kill()  # type: ignore[union-attr]
        return step(env, action)

    monkeypatch.setattr(OSWorldEnv, "step", step_on_a_dead_one)
    reporter = Reporter(Console(file=io.StringIO(), width=250))
    summary = train(settings(tmp_path), RunFolder(path), reporter, command="rlanything train")
    rows = RunFolder(path).rows()
    assert [row["iteration"] for row in rows] == [1, 2]
    assert [row["feedback"]["masked"] for row in rows] == [0, 1]
    assert summary["after"]["panels"]["valid_seen"]["episodes"] == 2
    with gzip.open(path / "trajectories" / "0001.jsonl.gz", "rt") as file:
        episodes = [json.loads(line) for line in file]
    assert len(episodes) >= 4
    for episode in episodes:
        assert "Mousepad" in episode["opening"]
        assert all(len(turn["votes"]) in (0, 2) for turn in episode["turns"])
    one, two = (load_file(next((path / "checkpoints" / f"{n:04d}" / "judge").glob("*.safetensors"))) for n in (1, 2))
    assert one.keys() == two.keys()
    with TaskPool.open(path / "pool.sqlite") as pool:
        assert len(pool.outcomes()) >= 7
