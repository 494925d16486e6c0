"""The closed loop with a small model that sees, on real desktops: nothing is a stand-in."""

import gzip
import json
import multiprocessing
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from isolated import Isolated
from safetensors.torch import load_file
from seen_desktops import config_file

from rlanything_agents.config import ConfigError, load_config
from rlanything_agents.domains.osworld.oracle import SUPERVISION
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.train import open_run, train
from rlanything_agents.training.audit import SAMPLED, read_samples
from rlanything_envs.osworld.view import View

fork = multiprocessing.get_context("forkserver")
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("bwrap_desktop")]


def play(file: Path, folder: Path) -> None:
    """The trainer, on screens without the clock of the panel: the one part of them that depends on the hour."""
    told = View.told

    def without_clock(*arguments: Any, **named: Any) -> Any:
        observation = told(*arguments, **named)
        shown = np.array(observation["screenshot"])
        shown[-30:, -60:] = 0
        return {**observation, "screenshot": shown}

    View.told = without_clock  # type: ignore[method-assign]
    torch.set_num_threads(1)
    train(load_config(file), RunFolder(folder), Reporter.silent(), command="rlanything train")
    View.told = told  # type: ignore[method-assign]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The settings of a run, and its folder."""
    home = tmp_path_factory.mktemp("seeing")
    file = config_file(home)
    play(file, home / "run")
    return file, home / "run"


def weights(run: Path, iteration: int, role: str) -> dict[str, torch.Tensor]:
    return load_file(run / "checkpoints" / f"{iteration:04d}" / role / "model.safetensors")


def test_both_models_learn_from_screens(finished: tuple[Path, Path]) -> None:
    _, run = finished
    rows = RunFolder(run).rows()
    assert [row["iteration"] for row in rows] == [1, 2]
    assert all(row["feedback"]["masked"] == 0 for row in rows)
    for role in ("policy", "judge"):
        assert all(row[role]["sampler_ratio"] < 1.01 for row in rows), "sampler and trainer read the same screens"
        before, after = weights(run, 1, role), weights(run, 2, role)
        moved = {name for name in before if not torch.equal(before[name], after[name])}
        assert moved, role
        assert not any(".visual." in name for name in moved), "the tower is frozen"
        samples = read_samples(run / "checkpoints" / "0002" / role / SAMPLED)
        assert samples
        assert all(1 <= len(sample.images) <= 2 for sample in samples)
        assert all(image.size == (640, 480) for sample in samples for image in sample.images)


def test_texts_of_the_episodes_are_those_of_a_desktop(finished: tuple[Path, Path]) -> None:
    _, run = finished
    with gzip.open(run / "trajectories" / "0001.jsonl.gz", "rt") as file:
        episodes: list[dict[str, Any]] = [json.loads(line) for line in file]
    assert len(episodes) >= 4
    for episode in episodes:
        assert episode["opening"].startswith("Task: ")
        assert "computer_use" in episode["opening"], "the first message says how to act"
        assert len(episode["turns"]) == 3
        assert all(len(turn["votes"]) == 3 for turn in episode["turns"])


def test_a_killed_run_comes_to_the_same_weights(finished: tuple[Path, Path], tmp_path: Path) -> None:
    file, straight = finished
    again = tmp_path / "killed"
    process = fork.Process(target=play, args=(file, again))
    process.start()
    while process.is_alive() and not (again / "checkpoints" / "0001").is_dir():
        time.sleep(0.2)
    time.sleep(2.0)  # into the next iteration
    process.kill()
    process.join()
    assert process.exitcode == -9
    assert not (again / "checkpoints" / "0002").exists()
    play(file, again)
    for role in ("policy", "judge"):
        one, other = weights(straight, 2, role), weights(again, 2, role)
        assert all(torch.equal(weight, other[name]) for name, weight in one.items()), role


def test_a_warm_start_on_demonstrations_of_desktops(tmp_path: Path) -> None:
    """Each turn of the keys that solve a task is a row with its screens, in the form of the run's actions."""
    lessons = {"demonstrations": 2, "epochs": 3, "batch_size": 4, "learning_rate": 3e-3}
    config = load_config(config_file(tmp_path, policy={"lessons": True}, warm_start=lessons))
    with open_run(config, RunFolder(tmp_path / "run"), Reporter.silent()) as run:
        run.warm_start()
        before = load_file(tmp_path / "model" / "model.safetensors")
        after = run.parts.learners.policy.model.state_dict()
    result = RunFolder(tmp_path / "run").stage("warm_start")
    assert result is not None
    assert result["demonstrations"] == 4, "two tasks, a command and the end in each"
    assert result["policy_losses"][-1] < result["policy_losses"][0] - 0.5
    assert any(not torch.equal(weight, after[name]) for name, weight in before.items())
    assert all(torch.equal(weight, after[name]) for name, weight in before.items() if ".visual." in name)
    form = config.model_copy(update={"environment": {"action_space": "anthropic"}})
    with pytest.raises(ConfigError, match=r"environment\.action_space"):
        SUPERVISION.experts(form)


def test_the_same_with_the_real_vllm() -> None:
    Isolated("vllm").run_tests("agents/domains/osworld/vllm_seen_run_checks.py", marks="")
