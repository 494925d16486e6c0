"""``python -m studies``: the real thing with models of a few thousand weights, killed and continued."""

import json
import subprocess
import time
from pathlib import Path

import pandas as pd
import pytest
import torch
from preloaded import Preloaded
from safetensors.torch import load_file
from typer.testing import CliRunner

from studies.__main__ import app

ARMS = ("before", "outcome", "full")


@pytest.fixture(scope="module")
def python(preloaded: Preloaded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that has PyTorch imported, for a study and its workers."""
    return preloaded.command(tmp_path_factory.mktemp("bin") / "python")


def command(python: Path, *words: str) -> list[str]:
    code = f"import sys; sys.executable = {str(python)!r}; from studies.__main__ import app; app()"
    return [str(python), "-c", code, *words]


def study(python: Path, file: Path, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    words = command(python, "table1", "--file", str(file), "--out", str(folder), "--workers", "1", *more)
    return subprocess.run(words, capture_output=True, text=True, check=False)


def check_numbers(folder: Path, seeds: int, arms: tuple[str, ...] = ARMS) -> None:
    """The tables say what the run folders hold."""
    results = pd.read_parquet(folder / "results.parquet")
    for arm in arms:
        for seed in range(seeds):
            run = folder / "runs" / "small" / f"seed-{seed}" / arm
            stage = json.loads((run / "stages" / f"{'before' if arm == 'before' else 'after'}.json").read_text())
            mine = results[(results.arm == arm) & (results.seed == seed)].set_index(["panel", "metric"]).value
            for split in ("valid_seen", "valid_unseen"):
                assert mine[split, "success"] == stage["panels"][split]["rate"]
            if arm == "full":
                assert mine["judge", "process_balanced"] == stage["judge"]["process_balanced"]
                rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
                assert mine["loop", "env_steps"] == sum(row["env_steps"] for row in rows)
                assert mine["loop", "accepted"] == rows[-1]["tasks"]["accepted"]
    table = (folder / "table.md").read_text()
    for arm in arms:
        chosen = results[(results.arm == arm) & (results.panel == "valid_seen")]
        assert f"| {arm} | {seeds} | {100 * chosen.value.mean():.1f} |" in table


def test_a_small_study_from_beginning_to_end(python: Path, micro_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    few = [
        "--seeds",
        "1",
        "--arms",
        "before,full",
        "--set",
        "evaluation.episodes=4",
        "--set",
        "evaluation.every_episodes=4",
    ]
    done = study(python, micro_file, folder, *few, "--set", "iterations=1")
    assert done.returncode == 0, done.stdout + done.stderr
    check_numbers(folder, 1, ("before", "full"))
    warm, start = (
        load_file(folder / "runs/small/seed-0" / arm / "stages/warm_start/policy/model.safetensors")
        for arm in ("before", "full")
    )
    assert all(torch.equal(warm[key], start[key]) for key in warm)
    assert (folder / "command.txt").read_text().startswith("python -m studies table1 --file")
    assert "torch" in json.loads((folder / "versions.json").read_text())
    assert (folder / "table.md").exists()

    words = ["table1", "--file", str(micro_file), "--out", str(folder), *few]
    again = CliRunner().invoke(app, [*words, "--set", "iterations=1"])
    assert again.exit_code == 0
    assert "2 of 2 jobs were done before" in again.output
    other = CliRunner().invoke(app, words)
    assert other.exit_code == 2
    assert "holds a study with other settings (small, before: iterations)" in other.output
    stored = json.loads((folder / "study.json").read_text())
    for arm in stored["variants"].values():
        arm["votes"] = "oracle"
    (folder / "study.json").write_text(json.dumps(stored))
    other = CliRunner().invoke(app, [*words, "--set", "iterations=1"])
    assert (other.exit_code, "votes)" in other.output) == (2, True), other.output


@pytest.mark.slow
def test_a_killed_study_goes_on(preloaded: Preloaded, python: Path, micro_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    words = command(python, "table1", "--file", str(micro_file), "--out", str(folder))
    process = preloaded.start(*words[1:])
    try:
        deadline = time.monotonic() + 1200
        while not list(folder.glob("runs/small/seed-0/*/metrics.jsonl")):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, "no run came to its first iteration"
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    assert not (folder / "results.parquet").exists()
    partial = subprocess.run(command(python, "report", str(folder)), capture_output=True, text=True, check=False)
    assert partial.returncode == 0, partial.stderr
    assert (folder / "table.md").exists()

    done = study(python, micro_file, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    check_numbers(folder, 2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["table1", "--file", "absent.yaml"], "no study file absent.yaml"),
        (["table1", "--file", "FILE", "--regime", "odd"], "there is no odd"),
        (["table1", "--file", "FILE", "--set", "rollout.taks=3"], "unknown key `rollout.taks`"),
        (["report", "."], "is not the folder of a study"),
    ],
)
def test_mistakes_are_said_in_one_line(words: list[str], said: str, micro_file: Path) -> None:
    words = [str(micro_file) if word == "FILE" else word for word in words]
    result = CliRunner().invoke(app, [*words])
    assert result.exit_code == 2
    assert said in result.output
    assert "Traceback" not in result.output
