"""Folders that others made: runs, results of benchmarks; and what a browser sends to the viewer."""

from __future__ import annotations

import atexit
import gzip
import json
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import torch
from fuzz_table import Target, of_file

from rlanything_agents.config.seeds import seed_of
from rlanything_agents.models.checkpoint import CheckpointError
from rlanything_agents.runs.manifest import damage
from rlanything_agents.runs.storage import RunFolderError
from rlanything_agents.runs.stored.episodes import read_episodes
from rlanything_agents.runs.stored.folder import SafeFolder
from rlanything_agents.tools.audit.card import panel_card, read_measured
from rlanything_agents.tools.benchmark.compare import compare_results
from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_agents.tools.benchmark.record import ResultFolder
from rlanything_agents.tools.benchmark.reverify import reverify
from rlanything_agents.tools.doctor.run import examine_run
from rlanything_agents.tools.view.run import RunView
from rlanything_agents.training.ranks.sharding import read_state, write_state
from rlanything_task_pools import Task, TaskPool, UnknownName, get_domain
from rlanything_task_pools.panel import panel_hash, read_recipe

__all__ = ["TARGETS"]

TURN = {
    "thought": "",
    "action": "look",
    "observation": "a room",
    "judgements": ["\\boxed{1}"],
    "votes": [1],
    "reward": 1.0,
    "advantage": 0.5,
}
EPISODE = {
    "iteration": 1,
    "slot": 0,
    "role": "active",
    "goal": "put a mug on a shelf",
    "task_id": "alfworld-0123456789abcdef",
    "outcome": 1,
    "error": "",
    "score": 1.0,
    "opening": "you are in a room",
    "turns": [TURN],
}
METRICS = {
    "iteration": 1,
    "env_steps": 20,
    "success": {"active": 0.5, "candidate": None},
    "tasks": {"accepted": 1, "rejected": 0},
    "seconds": {"rollout": 1.5},
    "policy": {"loss": 0.1},
}
CONFIG = {"name": "a", "domain": "alfworld", "iterations": 1}
STAGE = {"panels": {"in": {"rate": 0.5, "low": 0.4, "high": 0.6, "episodes": 10, "errors": 0}}, "judge": {"auc": 0.5}}
RESULTS = {
    "agent": "random",
    "panel": {"hash": "0" * 16, "name": "p"},
    "settings": {"seed": 0},
    "tasks": [
        {
            "group": "",
            "task": "alfworld-0123456789abcdef",
            "kind": "pick",
            "goal": "put a mug on a shelf",
            "outcomes": [1, -1],
            "steps": [3, 5],
            "scores": [1.0, 0.0],
        }
    ],
}
RECIPES = tuple(map(read_recipe, ("alfworld-easy", "coding-generated")))
ROW = {
    "agent": "silent",
    "episodes": 1,
    "successes": 0,
    "rate": 0.0,
    "low": 0.0,
    "high": 0.8,
    "steps": 3.0,
    "seconds": 1.0,
}
MEASURED = {
    **{"panel": {"name": "alfworld-easy", "hash": panel_hash(RECIPES[0].tasks[:1]), "tasks": 1}},
    **{"agent": "random", "settings": {"seed": 0}, "command": "rlanything audit", "versions": {"machine": "a"}},
    **{"total": ROW, "tasks": [{"task": "a", "outcomes": [1], "steps": [3]}], "agents": [ROW], "cheats": ROW},
    **{"findings": [{"topic": "play alfworld", "state": "ok", "said": "a"}], "voided": [], "held": []},
}
"""A file that is of all three kinds."""
RESULT = {
    "group": "",
    "task": "alfworld-0123456789abcdef",
    "episode": 0,
    "outcome": 1,
    "score": 1.0,
    "steps": 3,
    "usage": None,
    "seconds": 0.5,
    "error": "",
}


def _bytes(value: Any) -> bytes:
    return json.dumps(value).encode()


def _run(look: Callable[[Path], None]) -> Callable[[bytes], None]:
    """A look at a small run, one of whose files is the content, each in turn."""

    def of_bytes(content: bytes) -> None:
        files = {
            "config.json": _bytes(CONFIG),
            "metrics.jsonl": _bytes(METRICS) + b"\n",
            "stages/before.json": _bytes(STAGE),
            "summary.json": b"{}",
            "trajectories/0001.jsonl.gz": gzip.compress(_bytes(EPISODE) + b"\n", 1, mtime=0),
        }
        for name in files:
            with tempfile.TemporaryDirectory() as place:
                for other, data in files.items():
                    path = Path(place, other)
                    path.parent.mkdir(exist_ok=True)
                    packed = other.endswith(".gz") and not content.startswith(b"\x1f\x8b")
                    hostile = gzip.compress(content + b"\n", 1, mtime=0) if packed else content
                    path.write_bytes(hostile if other == name else data)
                look(Path(place))

    return of_bytes


def _view(path: Path) -> None:
    view = RunView(path, "a run")
    for name in ("stamp", "overview", "tasks", "slots/0", "index/1", "episodes/1/0"):
        try:
            json.loads(view.get(name))
        except (RunFolderError, UnknownName):
            continue


def _examined(path: Path) -> None:
    assert all(isinstance(finding.said, str) for finding in examine_run(path))


def _results(path: Path) -> None:
    (path.parent / "benchmark.json").write_text('{"seed": 0}')
    with ResultFolder.open(path.parent, {"seed": 0}) as folder:
        folder.results()


def _carded(content: bytes) -> None:
    """Cards of files of each kind, all with the content."""
    with tempfile.TemporaryDirectory() as place:
        for name in ("results.json", "audit.json", "doctor.json"):
            Path(place, name).write_bytes(content)
        measured = read_measured(Path(place))
    for recipe in RECIPES:
        panel_card(recipe, measured).encode()


def _compared(path: Path) -> None:
    compare_results(path, path)


def _judged_again(content: bytes) -> None:
    """A benchmark whose settings, results and record of an episode are the content, each in turn."""
    task, pool = _pool()
    name = f"episodes/{task.id}-{seed_of(0, 'episode', task.id, 0)}.json"
    files = {
        "benchmark.json": _bytes({"seed": 0}),
        "results.jsonl": _bytes({**RESULT, "task": task.id}) + b"\n",
        name: _bytes({**EPISODE, "task_id": task.id, "goal": task.goal}),
    }
    for hostile in files:
        with tempfile.TemporaryDirectory() as place, suppress(BenchmarkError, RunFolderError):
            Path(place, "episodes").mkdir()
            for other, data in files.items():
                Path(place, other).write_bytes(content if other == hostile else data)
            found = reverify(Path(place), pool=pool, workers=1)
            assert (found["judged"], found["solved"]["now"]) == (1, 0)


@cache
def _pool() -> tuple[Task, Path]:
    task = get_domain("alfworld").generate(0, kinds=["simple"], rooms=["Bathroom"])
    path = Path(tempfile.mkdtemp(), "pool.sqlite")
    atexit.register(shutil.rmtree, path.parent, ignore_errors=True)
    TaskPool.create(path, [task]).close()
    return task, path


def _optimizer() -> list[bytes]:
    with tempfile.TemporaryDirectory() as place:
        write_state(Path(place), {"updates": torch.tensor(2), "weight.exp_avg": torch.ones(2, 3)})
        return [file.read_bytes() for file in Path(place).iterdir()]


TARGETS = (
    Target(
        "optimizer state",
        of_file("optimizer/shard.safetensors", lambda path: read_state(path.parent)),
        (CheckpointError,),
        _optimizer,
        effort=10,
    ),
    Target(
        "stored episodes",
        of_file("episodes.jsonl.gz", lambda path: list(read_episodes(path))),
        (RunFolderError,),
        lambda: [gzip.compress(_bytes(EPISODE) + b"\n", mtime=0)],
    ),
    Target(
        "stored episode",
        lambda content: of_file("episode.jsonl.gz", lambda path: list(read_episodes(path)))(
            gzip.compress(content.replace(b"\n", b" ") + b"\n", 1, mtime=0)
        ),
        (RunFolderError,),
        lambda: [_bytes(EPISODE)],
    ),
    Target(
        "JSON of a run",
        of_file("config.json", lambda path: SafeFolder(path.parent).json("config.json")),
        (RunFolderError,),
        lambda: [_bytes(CONFIG)],
    ),
    Target(
        "run that is viewed",
        _run(_view),
        (),
        lambda: [_bytes(value) for value in (CONFIG, METRICS, STAGE, EPISODE)],
        effort=30,
    ),
    Target(
        "list of a folder's files",
        of_file("sealed/manifest.json", lambda path: damage(path.parent)),
        (),
        lambda: [_bytes({"files": {"manifest.json": {"bytes": 1, "sha256": "0" * 64}}})],
    ),
    Target(
        "run that is examined", _run(_examined), (), lambda: [_bytes(value) for value in (CONFIG, METRICS)], effort=30
    ),
    Target(
        "results of a benchmark, one a line",
        of_file("results/results.jsonl", _results),
        (BenchmarkError,),
        lambda: [_bytes(RESULT) + b"\n"],
    ),
    Target(
        "benchmark that is judged again",
        _judged_again,
        (),
        lambda: [_bytes(value) for value in ({"seed": 0, "environment": {"max_episode_steps": 9}}, RESULT, EPISODE)],
        effort=30,
    ),
    Target("results of a benchmark", of_file("results.json", _compared), (BenchmarkError,), lambda: [_bytes(RESULTS)]),
    Target("measured files of a card", _carded, (BenchmarkError,), lambda: [_bytes(MEASURED)], effort=10),
)
