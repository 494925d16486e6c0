"""The whole run, small: every part is the real one. A killed run reaches the state of one that was not."""

import gzip
import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from preloaded import Preloaded
from rich.console import Console
from safetensors.torch import load_file

from rlanything_agents.config import RunConfig, load_config
from rlanything_agents.rollout.episode import Episode
from rlanything_agents.runs.folder import RunFolder, RunFolderError
from rlanything_agents.runs.progress import Reporter, duration
from rlanything_agents.runs.train import open_run, train
from rlanything_envs.llm.errors import RunMustStop
from rlanything_task_pools import TaskPool

TINY = """
name: tiny
seed: 5
threads: 1
iterations: 6
env_steps: 260
policy: {hidden_size: 32, layers: 1}
reward_model: {hidden_size: 32, layers: 1}
warm_start: {demonstrations: 60, max_steps: 8, epochs: 6, batch_size: 8, judge_steps: 200, judge_epochs: 1}
rollout: {tasks: 4, rollouts: 4, max_steps: 8}
feedback: {policy_band: null, judge_band: null, balance: false}
judge: {votes: 3, steps: 40, scope: all}
policy_trainer: {warmup_updates: 2, schedule: linear}
curriculum: {pool_size: 6, knobs: {rooms: [Bathroom], kinds: [simple, clean]}}
evaluation: {episodes: 16, max_steps: 8, judge_episodes: 8, every: 2, every_episodes: 6}
"""


@pytest.fixture(scope="module")
def tiny_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("config") / "tiny.yaml"
    path.write_text(TINY)
    return path


@pytest.fixture(scope="module")
def config(tiny_file: Path) -> RunConfig:
    return load_config(tiny_file)


def run(config: RunConfig, path: Path) -> tuple[dict[str, Any], str]:
    output = io.StringIO()
    summary = train(config, RunFolder(path), Reporter(Console(file=output, width=200)), command="rlanything train")
    return summary, output.getvalue()


@pytest.fixture(scope="module")
def finished(config: RunConfig, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    threads = torch.get_num_threads()
    path = tmp_path_factory.mktemp("runs") / "tiny"
    summary, output = run(config, path)
    path.with_name("output.txt").write_text(output)
    torch.set_num_threads(threads)
    return path, summary


def test_the_summary_says_what_was_measured(finished: tuple[Path, dict[str, Any]]) -> None:
    path, summary = finished
    assert json.loads((path / "summary.json").read_text()) == json.loads(json.dumps(summary))
    assert summary["seed"] == 5
    rows = RunFolder(path).rows()
    assert [row["iteration"] for row in rows] == [1, 2, 3]
    assert summary["env_steps"] == sum(row["env_steps"] for row in rows)
    assert all(row["actions"] == {"readable": 1.0, "admissible": 1.0} for row in rows), "decoding is constrained"
    assert summary["after"]["panels"]["valid_seen"]["admissible"] == 1.0
    for when in ("before", "after"):
        for panel in ("valid_seen", "valid_unseen"):
            assert summary[when]["panels"][panel]["episodes"] == 16
    assert [(point["iteration"], point["panels"]["valid_seen"]["episodes"]) for point in summary["curve"]] == [(2, 6)]
    with TaskPool.open(path / "pool.sqlite") as pool:
        assert pool.counts() == summary["tasks"]
        assert len(pool.outcomes()) == 3 * 4 * 4


def test_the_first_iteration_tells_how_long_the_rest_takes(
    finished: tuple[Path, dict[str, Any]], config: RunConfig
) -> None:
    path, summary = finished
    first = RunFolder(path).rows()[0]
    assert config.env_steps is not None
    more = (config.env_steps / first["env_steps"] - 1) * sum(first["seconds"].values())
    during = config.evaluation.share_during(round(config.env_steps / first["env_steps"]), 1)
    measured = summary["before"]["seconds"] * (1 + during)
    said = [line for line in path.with_name("output.txt").read_text().splitlines() if line.startswith("About")]
    parts = f"{duration(more)} of iterations, {duration(measured)} of evaluations"
    assert said == [f"About {duration(more + measured)} left: {parts}"]


def test_the_loop_ends_with_the_iteration_that_reaches_the_budget(finished: tuple[Path, dict[str, Any]]) -> None:
    path, summary = finished
    steps = [row["env_steps"] for row in RunFolder(path).rows()]
    assert sum(steps[:-1]) < 260 <= sum(steps) == summary["env_steps"]
    assert summary["iterations"] == len(steps) < 6


def test_evaluations_keep_what_pairs_them(finished: tuple[Path, dict[str, Any]]) -> None:
    folder = RunFolder(finished[0])
    before, after, between = (folder.stage(name) for name in ("before", "after", "iteration-0002"))
    assert before is not None
    assert after is not None
    assert between is not None
    for split, panel in before["panels"].items():
        assert len(panel["outcomes"]) == 16
        assert sum(panel["outcomes"]) == panel["successes"]
        assert panel["tasks"] == after["panels"][split]["tasks"] != between["panels"][split]["tasks"]
        assert "outcomes" not in finished[1]["before"]["panels"][split]
    assert before["panels"]["valid_seen"]["tasks"] != before["panels"]["valid_unseen"]["tasks"]


def test_every_turn_is_stored_with_every_judgement(finished: tuple[Path, dict[str, Any]]) -> None:
    path, _ = finished
    with gzip.open(path / "trajectories" / "0002.jsonl.gz", "rt") as file:
        episodes = [json.loads(line) for line in file]
    assert len(episodes) == 16
    for episode in episodes:
        assert episode["outcome"] in (1, -1)
        assert 1 <= len(episode["turns"]) <= 8
        for turn in episode["turns"]:
            assert len(turn["judgements"]) == len(turn["votes"]) == 3
            assert set(turn["votes"]) <= {-1, 0, 1}


def test_both_models_moved(finished: tuple[Path, dict[str, Any]]) -> None:
    path, _ = finished
    for role in ("policy", "judge"):
        before = load_file(path / "stages" / "warm_start" / role / "model.safetensors")
        after = load_file(path / "checkpoints" / "0003" / role / "model.safetensors")
        assert any(not torch.equal(before[key], after[key]) for key in before), role


def test_the_report_is_one_escaped_page(finished: tuple[Path, dict[str, Any]]) -> None:
    path, summary = finished
    page = (path / "report.html").read_text()
    assert page.count("<svg") >= 4
    assert summary["table"][0]["before"] in page
    assert "<script" not in page
    assert 'http-equiv="Content-Security-Policy"' in page


def test_an_outage_during_an_evaluation_is_no_result(config: RunConfig, tmp_path: Path) -> None:
    folder, begin = RunFolder(tmp_path / "run"), Episode.reset

    def lost(episode: Episode) -> None:
        begin(episode)
        if episode.number % 3:
            episode.fail(OSError("the sandbox is down"))

    with open_run(config, folder, Reporter.silent()) as run, pytest.MonkeyPatch.context() as patch:
        run.warm_start()
        patch.setattr(Episode, "reset", lost)
        with pytest.raises(RunMustStop, match=r"evaluation before, valid_seen: .*the sandbox is down"):
            run.evaluate("before")
        assert folder.stage("before") is None
        patch.undo()
        assert run.evaluate("before")["panels"]["valid_seen"]["errors"] == 0


def test_a_finished_run_is_not_run_again(finished: tuple[Path, dict[str, Any]], config: RunConfig) -> None:
    path, summary = finished
    again, output = run(config, path)
    assert again["after"] == summary["after"]
    assert "Continuing" in output
    assert "Closed loop: 1/3" not in output


def test_another_configuration_does_not_take_the_folder(
    finished: tuple[Path, dict[str, Any]], config: RunConfig
) -> None:
    path, _ = finished
    with pytest.raises(RunFolderError, match="seed"):
        run(config.model_copy(update={"seed": 6}), path)


def test_a_stopped_and_killed_run_reaches_the_same_state(
    finished: tuple[Path, dict[str, Any]], config: RunConfig, tiny_file: Path, tmp_path: Path, preloaded: Preloaded
) -> None:
    path, summary = finished
    command = ["-m", "rlanything_agents", "train", str(tiny_file), "--out", str(tmp_path / "tiny")]
    metrics = tmp_path / "tiny" / "metrics.jsonl"
    for iterations, number in ((1, signal.SIGTERM), (2, signal.SIGKILL)):
        process = preloaded.start(*command)
        deadline = time.monotonic() + 300
        while not (metrics.exists() and metrics.read_text().count("\n") >= iterations):
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < deadline, f"the run never came to iteration {iterations}"
            time.sleep(0.02)
        process.send_signal(number)
        told = process.communicate()[1]
        if number == signal.SIGTERM:
            assert (process.returncode, "the same command resumes" in told) == (143, True), told
            assert "Traceback" not in told
    assert not (tmp_path / "tiny" / "summary.json").exists()
    resumed, _ = run(config, tmp_path / "tiny")

    for role in ("policy", "judge"):
        straight = load_file(path / "checkpoints" / "0003" / role / "model.safetensors")
        killed = load_file(tmp_path / "tiny" / "checkpoints" / "0003" / role / "model.safetensors")
        for key, weight in straight.items():
            assert torch.equal(weight, killed[key]), (role, key)
    assert resumed["tasks"] == summary["tasks"]
    assert {k: v for k, v in resumed["after"].items() if k != "seconds"} == {
        k: v for k, v in summary["after"].items() if k != "seconds"
    }
    timeless = [
        [{k: v for k, v in row.items() if k != "seconds"} for row in RunFolder(p).rows()]
        for p in (path, tmp_path / "tiny")
    ]
    assert timeless[0] == timeless[1]
    events = []
    for folder in (path, tmp_path / "tiny"):
        with TaskPool.open(folder / "pool.sqlite") as pool:
            events.append(pool.events())
    assert events[0] == events[1]


LIGHT = """
import sys
from rlanything_agents.tools.cli import main
try:
    main()
finally:
    loaded = {"torch", "transformers", "trl"} & set(sys.modules)
    assert not loaded, f"what is wrong was said after {loaded} had been imported"
"""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["absent.yaml"], "no configuration file absent.yaml"),
        (["CONFIG", "--set", "rollout.taks=3"], "unknown key `rollout.taks`"),
        (["CONFIG", "--set", "domain=chess"], "no domain named 'chess'"),
        (["CONFIG", "--set", "evaluation.panels=[absent]"], "'absent' is unknown"),
        (["CONFIG", "--set", "seed=6", "--out", "FINISHED"], "another configuration (different: seed)"),
    ],
)
def test_what_is_wrong_is_said_at_once(
    finished: tuple[Path, dict[str, Any]], arguments: list[str], said: str, tiny_file: Path, tmp_path: Path
) -> None:
    """In one line, and before anything that takes seconds is imported."""
    given = {"CONFIG": str(tiny_file), "FINISHED": str(finished[0])}
    words = ["--out", str(tmp_path / "tiny"), *(given.get(word, word) for word in arguments)]
    done = subprocess.run([sys.executable, "-c", LIGHT, "train", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
