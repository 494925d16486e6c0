"""The closed loop on coding tasks, small: every part is the real one, and an interrupted run reaches the same state."""

import gzip
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console
from safetensors.torch import load_file

from rlanything_agents.config import ConfigError, RunConfig, load_config
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.progress import Reporter, Stage
from rlanything_agents.runs.train import train
from rlanything_task_pools import TaskPool

QUICKSTART = Path(__file__).parents[3] / "configs" / "coding-quickstart.yaml"
EASY = "{families: [list_steps], levels: {size: 8, steps: 1}}"
SMALL = "{hidden_size: 48, layers: 1}"
TINY = [
    "name=tiny",
    "seed=3",
    "threads=1",
    "iterations=2",
    f"policy={SMALL}",
    f"reward_model={SMALL}",
    "warm_start.demonstrations=200",
    "warm_start.mistakes=0.2",
    "warm_start.epochs=4",
    "warm_start.judge_steps=300",
    "warm_start.judge_epochs=4",
    "warm_start.learning_rate=0.005",
    "rollout={tasks: 3, rollouts: 4, max_steps: 1, threads: 2}",
    "judge={votes: 4, train: true, scope: all}",
    "feedback.policy_band=null",
    "feedback.unparsable_reward=-1",
    "curriculum.pool_size=4",
    f"curriculum.knobs={EASY}",
    f"evaluation.knobs={EASY}",
    "evaluation.episodes=6",
    "evaluation.judge_episodes=4",
]


class Interrupted(Exception):
    """What stops a run between two iterations."""


class Interrupting(Reporter):
    """Stops the loop when its first iteration is stored."""

    @contextmanager
    def stage(self, name: str, total: int) -> Iterator[Stage]:
        def show(done: int, note: str) -> None:
            if name == "Closed loop" and done == 1:
                raise Interrupted

        yield Stage(show)


@pytest.fixture(scope="module")
def config() -> RunConfig:
    return load_config(QUICKSTART, TINY)


@pytest.fixture(scope="module")
def finished(config: RunConfig, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], str]:
    threads, output = torch.get_num_threads(), io.StringIO()
    path = tmp_path_factory.mktemp("runs") / "tiny"
    summary = train(config, RunFolder(path), Reporter(Console(file=output, width=250)), command="rlanything train")
    torch.set_num_threads(threads)
    return path, summary, output.getvalue()


def test_the_quickstart_is_a_configuration() -> None:
    config = load_config(QUICKSTART)
    assert (config.domain, config.judge.votes, config.feedback.lam) == ("coding", 16, 0)


def test_the_three_metrics_are_reported_before_and_after(finished: tuple[Path, dict[str, Any], str]) -> None:
    path, summary, said = finished
    assert [line["what"].split(":")[0] for line in summary["table"]] == [
        *("code", "ut", "detect", "answers without a test", "tasks rewritten")
    ]
    for when in ("before", "after"):
        assert summary[when]["panels"]["valid_seen"]["episodes"] == 6
        judged = summary[when]["judge"]
        assert judged["tasks"] <= 4
        assert 0 <= judged["detect"] <= judged["ut"] <= 1
    assert "tests for" in said
    page = (path / "report.html").read_text()
    assert "Tests the reward model wrote" in page
    assert "print(" in page


def test_an_iteration_plays_tests_and_learns(finished: tuple[Path, dict[str, Any], str]) -> None:
    path, summary, _ = finished
    rows = RunFolder(path).rows()
    assert [row["iteration"] for row in rows] == [1, 2]
    assert summary["env_steps"] == 2 * 3 * 4
    for row in rows:
        assert row["feedback"]["masked"] == 0
        assert row["judge_quality"]["tests"] <= 12
    for role in ("policy", "judge"):
        before = load_file(path / "stages" / "warm_start" / role / "model.safetensors")
        after = load_file(path / "checkpoints" / "0002" / role / "model.safetensors")
        assert any(not torch.equal(before[key], after[key]) for key in before), role
    with gzip.open(path / "trajectories" / "0001.jsonl.gz", "rt") as file:
        episodes = [json.loads(line) for line in file]
    assert len(episodes) == 12
    for episode in episodes:
        (turn,) = episode["turns"]
        assert turn["action"].startswith("SUBMIT")
        assert len(turn["judgements"]) == len(turn["votes"]) == 4
    with TaskPool.open(path / "pool.sqlite") as pool:
        records = pool.outcomes()
        assert len(records) == 24
        assert all(0 <= record.outcome.score <= 1 for record in records)


@pytest.mark.slow
def test_an_interrupted_run_reaches_the_same_state(
    finished: tuple[Path, dict[str, Any], str], config: RunConfig, tmp_path: Path
) -> None:
    path, summary, _ = finished
    folder = RunFolder(tmp_path / "tiny")
    with pytest.raises(Interrupted):
        train(config, folder, Interrupting(), command="rlanything train")
    assert len(folder.rows()) == 1
    resumed = train(config, folder, Reporter.silent(), command="rlanything train")
    for role in ("policy", "judge"):
        straight = load_file(path / "checkpoints" / "0002" / role / "model.safetensors")
        again = load_file(folder.path / "checkpoints" / "0002" / role / "model.safetensors")
        for key, weight in straight.items():
            assert torch.equal(weight, again[key]), (role, key)
    assert resumed["table"] == summary["table"]
    timeless = [
        [{k: v for k, v in row.items() if k != "seconds"} for row in f.rows()] for f in (RunFolder(path), folder)
    ]
    assert timeless[0] == timeless[1]


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigError, match="threads"):
        load_config(QUICKSTART, ["rollout.threads=0"])
