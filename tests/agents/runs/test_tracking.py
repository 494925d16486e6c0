"""Trackers against the real packages, offline: what was logged is read back, also after a run was cut off."""

import io
import json
import math
import os
import sqlite3
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_values import JSON
from rich.console import Console
from typer.testing import CliRunner

from rlanything_agents.config import ConfigError, load_config
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.tracking import Tracking, evaluation_metrics, flatten, iteration_metrics
from rlanything_agents.tools.cli import app
from rlanything_task_pools import MissingExtra, UnknownName

TINY = """
name: tiny
seed: 5
threads: 1
iterations: 3
policy: {hidden_size: 32, layers: 1}
reward_model: {hidden_size: 32, layers: 1}
warm_start: {demonstrations: 20, max_steps: 8, epochs: 1, batch_size: 8, judge_steps: 60, judge_epochs: 1}
rollout: {tasks: 2, rollouts: 2, max_steps: 4}
curriculum: {pool_size: 3, knobs: {rooms: [Bathroom], kinds: [simple]}}
evaluation: {episodes: 6, max_steps: 4, judge_episodes: 4, every: 2, every_episodes: 4, panels: [valid_seen]}
"""
STEPS = 5


def values(step: int) -> dict[str, float]:
    return {"success/active": step / 10, "policy/loss": -float(step)}


def scalars(folder: Path, tag: str) -> list[tuple[int, float]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder / "tensorboard"), size_guidance={"scalars": 0})
    events.Reload()
    return [(event.step, round(event.value, 4)) for event in events.Scalars(tag)]


def track(names: list[str], folder: Path, done: int, upto: int, end: bool = False) -> list[str]:
    said: list[str] = []
    tracking = Tracking(names, said.append)
    tracking.start("run", folder, {"seed": 1, "rollout": {"tasks": 2}}, done)
    tracking.reach(upto, values)
    report = folder / "report.html"
    report.write_text("<h1>report</h1>")
    if end:
        tracking.finish(report)
    else:
        tracking.finish()
    return said


# -- names ---------------------------------------------------------------------------------------------------


def test_names_are_ways_in_the_tree() -> None:
    row = {
        "success": {"active": 0.5, "candidate": None},
        "curriculum": {"rejected": {"not easier!": 2}, "far": [1]},
        "feedback": {"mu": math.nan, "kept": True},
        "goal": "text",
    }
    assert flatten(row) == {"success/active": 0.5, "curriculum/rejected/not_easier_": 2.0, "feedback/kept": 1.0}
    panel = {"rate": 0.5, "low": 0.4, "high": 0.6, "episodes": 9, "errors": 0, "outcomes": [1], "tasks": "ab"}
    found = evaluation_metrics({"panels": {"valid_seen": panel}, "judge": {"outcome_auc": None, "process": 0.7}})
    assert found["evaluation/valid_seen/rate"] == 0.5
    assert found["evaluation/judge/process"] == 0.7
    assert len(found) == 6


def test_alarms_are_curves_of_noughts_and_ones() -> None:
    found = iteration_metrics({"iteration": 3, "alarms": {"judge_collapse": ["one answer for all", "by chance"]}})
    assert found["alarms/judge_collapse"] == 1.0
    assert found["alarms/task_drift"] == 0.0
    assert "iteration" not in found


@given(st.dictionaries(st.text(), JSON))
def test_any_tree_gives_finite_numbers(tree: dict[str, Any]) -> None:
    for name, value in flatten(tree).items():
        assert math.isfinite(value)
        assert name.isascii()
        assert name.isprintable()


# -- the trackers --------------------------------------------------------------------------------------------


def test_tensorboard_reads_back_and_forgets_what_was_rewound(tmp_path: Path) -> None:
    assert track(["tensorboard"], tmp_path, 0, STEPS) == []
    assert track(["tensorboard"], tmp_path, 3, 3) == []  # two iterations were lost
    assert track(["tensorboard"], tmp_path, 3, 4, end=True) == []
    assert scalars(tmp_path, "success/active") == [(step, step / 10) for step in range(5)]
    assert scalars(tmp_path, "policy/loss") == [(step, -float(step)) for step in range(5)]


def test_a_gap_is_filled(tmp_path: Path) -> None:
    """A run that was killed after its checkpoint, before the tracker was told, or that is tracked only now."""
    track(["tensorboard"], tmp_path, 4, 4)
    assert [step for step, _ in scalars(tmp_path, "policy/loss")] == [0, 1, 2, 3, 4]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "home"))
    for name in ("TRACKIO_SPACE_ID", "TRACKIO_SERVER_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path / "home"


SCRIPT = """
import sys
from pathlib import Path
from tests.agents.runs.test_tracking import track
print(track(sys.argv[1].split(","), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), len(sys.argv) > 5))
"""


def process(*words: str) -> str:
    """In a process of its own: these packages read their settings when they are imported, and keep threads."""
    command, env = [sys.executable, "-c", SCRIPT, *words], {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=Path(__file__).parents[3], env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_trackio_resumes_without_doubles(home: Path, tmp_path: Path) -> None:
    pytest.importorskip("trackio", reason="trackio is not installed (extra: trackers)")
    assert process("trackio", str(tmp_path), "0", "3") == "[]\n"
    assert process("trackio", str(tmp_path), "3", str(STEPS), "end") == "[]\n"
    with sqlite3.connect(home / "rlanything.db") as db:
        rows = db.execute("SELECT run_name, run_id, step, metrics FROM metrics ORDER BY id").fetchall()
    names = {row[0] for row in rows}
    assert len(names) == len({row[1] for row in rows}) == 1
    assert names.pop().startswith("run-")
    curve = [(step, json.loads(metrics)) for _, _, step, metrics in rows]
    assert [(step, row["success/active"]) for step, row in curve if "success/active" in row] == [
        (step, step / 10) for step in range(STEPS + 1)
    ]
    assert "report" in curve[-1][1]


@pytest.mark.slow
def test_wandb_offline_keeps_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="wandb is not installed (extra: trackers)")
    monkeypatch.setenv("WANDB_MODE", "offline")
    assert process("wandb", str(tmp_path), "0", "2") == "[]\n"
    assert process("wandb", str(tmp_path), "2", str(STEPS), "end") == "[]\n"
    files = sorted((tmp_path / "wandb").glob("offline-run-*/run-*.wandb"))
    known_as = json.loads((tmp_path / "trackers.json").read_text())["id"]
    assert [file.stem for file in files] == [f"run-run-{known_as}"] * 2
    assert [step for file in files for step in steps_of(file)] == [0, 1, 2, 3, 4, 5]
    assert (tmp_path / "wandb" / "last-step").read_text() == "5"


def steps_of(file: Path) -> list[int]:
    """The steps in which an offline file has the curve: a log of blocks of 32 KiB, as LevelDB's, of W&B's records."""
    from wandb.proto.wandb_internal_pb2 import Record

    content, place, begun, found = file.read_bytes(), 7, b"", []
    while place + 7 <= len(content):
        if (left := 32768 - place % 32768) < 7:
            place += left
            continue
        length, kind = struct.unpack("<HB", content[place + 4 : place + 7])
        part = content[place + 7 : place + 7 + length]
        begun = part if kind in (1, 2) else begun + part
        place += 7 + length
        if kind in (1, 4):
            record = Record()
            record.ParseFromString(begun)
            found += [
                round(10 * float(i.value_json))
                for i in record.history.item
                if list(i.nested_key)[:1] == ["success/active"]
            ]
    return found


# -- failures ------------------------------------------------------------------------------------------------


def test_a_tracker_that_fails_is_left_out_and_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from accelerate.tracking import TrackioTracker

    class Failing(TrackioTracker):  # type: ignore[misc]
        def start(self) -> None:
            raise ConnectionError("the network is down\nfor long")

    monkeypatch.setattr("accelerate.tracking.TrackioTracker", Failing)
    said = track(["trackio", "tensorboard"], tmp_path, 0, 3, end=True)
    assert len(said) == 1
    assert "trackio failed" in said[0]
    assert "the network is down" in said[0]
    assert [step for step, _ in scalars(tmp_path, "policy/loss")] == [0, 1, 2, 3]


def test_a_tracker_that_fails_later_is_left_out_and_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from accelerate.tracking import TensorBoardTracker

    log = TensorBoardTracker.log

    def failing(self: Any, values: Any, step: int, **more: Any) -> None:
        if step == 2:
            raise OSError("no space left")
        log(self, values, step, **more)

    monkeypatch.setattr(TensorBoardTracker, "log", failing)
    said: list[str] = []
    tracking = Tracking(["tensorboard"], said.append)
    tracking.start("run", tmp_path, {}, 0)
    for step in range(STEPS):
        tracking.reach(step, values)
    tracking.finish()
    assert len(said) == 1
    assert "no space left" in said[0]
    monkeypatch.undo()
    track(["tensorboard"], tmp_path, STEPS, STEPS)
    assert [step for step, _ in scalars(tmp_path, "policy/loss")] == list(range(STEPS + 1)), "the next start fills it"


def test_a_package_that_is_not_installed_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rlanything_agents.runs.tracking.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install -e '.*\[trackers\]"):
        Tracking(["wandb"], print)


def test_what_can_be_known_before_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="choose from tensorboard"):
        Tracking(["../x"], print)
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY)
    with pytest.raises(ConfigError, match="trackers"):
        load_config(file, ["trackers=[mlflow]"])
    result = CliRunner().invoke(app, ["train", str(file), "--tracker", "mlflow"])
    assert result.exit_code == 2
    assert "trackers" in result.output


def test_trackers_are_no_part_of_a_run(tmp_path: Path) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY)
    watched = load_config(file, ["trackers=[tensorboard]"])
    assert watched.trackers == ("tensorboard",)
    assert watched.model_dump(mode="json") == load_config(file).model_dump(mode="json")


@pytest.mark.slow
def test_a_run_is_tracked_across_an_interruption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rlanything_agents.runs.train import train

    file = tmp_path / "tiny.yaml"
    file.write_text(TINY)
    config = load_config(file, ["trackers=[tensorboard]"])
    folder = RunFolder(tmp_path / "runs" / "tiny")
    output = io.StringIO()
    write = RunFolder.append_metrics

    def interrupted(self: RunFolder, row: Any) -> None:
        write(self, row)
        if row["iteration"] == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "append_metrics", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(config, folder, Reporter(Console(file=output)), command="")
    assert [step for step, _ in scalars(folder.path, "env_steps")] == [1, 2]
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    again = subprocess.run(
        [sys.executable, "-m", "rlanything_agents", "train", str(file), "--out", str(folder.path),
         "--tracker", "tensorboard", "--json"],
        capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    summary = json.loads(again.stdout)
    assert summary["iterations"] == 3
    assert "Closed loop" in again.stderr
    rows = folder.rows()
    assert scalars(folder.path, "env_steps") == [(row["iteration"], row["env_steps"]) for row in rows]
    rates = scalars(folder.path, "evaluation/valid_seen/rate")
    assert [step for step, _ in rates] == [0, 2, 3]
    assert rates[-1][1] == round(summary["after"]["panels"]["valid_seen"]["rate"], 4)
