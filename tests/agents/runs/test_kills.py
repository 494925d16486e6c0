"""A trainer killed again and again, at random moments and in the middle of its work on files, loses nothing."""

import gzip
import json
import multiprocessing
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import load_file
from small_runs import SHORT

from rlanything_agents.config import load_config
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.train import train
from rlanything_task_pools import TaskPool

KILLS = 50
FILE_EVENTS = ("open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.rmtree", "sqlite3.connect")
"""Audit events of the interpreter at which a file of the run is about to change."""

EVALUATED = {**SHORT["evaluation"], "every": 2, "every_episodes": 3}
RUN = yaml.safe_dump({**SHORT, "name": "short", "iterations": 4, "evaluation": EVALUATED})

fork = multiprocessing.get_context("forkserver")
fork.set_forkserver_preload(["rlanything_agents.runs.train", "trl.trainer.grpo_trainer", __name__])


def play(file: Path, folder: Path, dies_at: int | None) -> None:
    """The trainer in a process of its own; it kills itself before the file event of this number in its folder."""
    if dies_at is not None:
        left = dies_at

        def watch(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal left
            if event in FILE_EVENTS and str(folder) in str(arguments[0]):
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(watch)
    torch.set_num_threads(1)
    train(load_config(file), RunFolder(folder), Reporter.silent(), command="rlanything train")


def state_of(folder: Path) -> dict[str, Any]:
    """All that a run leaves, but for times and what it was called."""
    run = RunFolder(folder)
    summary = json.loads(run.summary.read_text())
    with TaskPool.open(run.pool) as pool:
        tasks = {"counts": pool.counts(), "events": pool.events()}
    return {
        "rows": [{k: v for k, v in row.items() if k != "seconds"} for row in run.rows()],
        "tasks": tasks,
        "after": {k: v for k, v in summary["after"].items() if k != "seconds"},
        "episodes": {
            file.name: gzip.decompress(file.read_bytes()) for file in sorted(run.trajectories.glob("*.jsonl.gz"))
        },
        "files": sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()),
    }


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    found = RunFolder(folder).checkpoints.latest()
    assert found is not None
    return {
        f"{role}.{name}": weight
        for role in ("policy", "judge")
        for name, weight in load_file(found[1] / role / "model.safetensors").items()
    }


@pytest.mark.slow
def test_fifty_kills_change_nothing(tmp_path: Path) -> None:
    file = tmp_path / "short.yaml"
    file.write_text(RUN)
    straight = tmp_path / "straight"
    first, started = fork.Process(target=play, args=(file, straight, None)), time.monotonic()
    first.start()
    first.join()
    assert first.exitcode == 0
    seconds = time.monotonic() - started
    expected, weights = state_of(straight), weights_of(straight)
    assert expected["episodes"]["0001.jsonl.gz"].count(b"\n") == 9, "three tasks, three rollouts each"

    rng, kills, runs = random.Random(7), 0, 0
    while kills < KILLS:
        folder, runs = tmp_path / f"killed-{runs}", runs + 1
        while not (folder / "summary.json").exists():
            at_a_file = kills < KILLS and rng.random() < 0.6
            process = fork.Process(target=play, args=(file, folder, rng.randrange(120) if at_a_file else None))
            process.start()
            process.join(None if at_a_file or kills >= KILLS else rng.uniform(0, seconds))
            process.kill()
            process.join()
            assert process.exitcode in (0, -signal.SIGKILL)
            kills += process.exitcode != 0
        assert state_of(folder) == expected
        assert all(torch.equal(weight, weights[name]) for name, weight in weights_of(folder).items())
    print(f"{kills} kills in {runs} runs")
