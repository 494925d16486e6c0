"""Speed-up by workers, by judging during the rollouts, and by rollouts during the updates: an iteration in five ways.

``python -m benchmarks.overlap`` warms two small AlfWorld models up, and then does two iterations of the closed loop
again and again, from the same state each time, and times the second:

* in one process;
* two workers on Ray play, and the process of the loop judges afterwards (``workers.judge: after``);
* it judges finished groups while the workers still play (``meanwhile``);
* workers that have nothing to play any more judge (``workers``);
* the same, and the workers play the next iteration while the models are updated (``rollout.ahead``).

First with environments as they are, then with some that wait ``--wait`` milliseconds at each step, as desktops and
other machines do. Every round does each of them once, in an order that changes, so that all meet the same machine;
ratios are medians of each round's ratio to the one process of the same round. All but the last must come to the same
metrics, to the last bit: if they do not, it says so, and the exit code is 1. Times are by the clock; the load is
printed before and after.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any, SupportsFloat, cast

import gymnasium as gym
import torch
from rich.console import Console
from rich.table import Table
from transformers.utils import logging as transformers_logging

from rlanything_agents.config import RunConfig, WorkersConfig
from rlanything_agents.rollout.workers.process import RolloutWorker
from rlanything_agents.rollout.workers.ray import RayWorkers
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.loop import Loop
from rlanything_agents.runs.parts import RunParts
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.warm_start import warm_start
from rlanything_envs.curriculum import ScriptedRewriter
from rlanything_task_pools import TaskPool

ALONE = "one process"
AHEAD = "and play ahead"
WAYS = {
    ALONE: None,
    "play on workers": "after",
    "and judge meanwhile": "meanwhile",
    "and judge there": "workers",
    AHEAD: "workers",
}
"""Place of the judge queries in each way."""
SHARDS = 4
"""Into how many shards the episodes of an iteration are cut."""


class Waiting(gym.Wrapper[Any, Any, Any, Any]):
    """An environment whose steps wait without computing."""

    def __init__(self, env: gym.Env[Any, Any], seconds: float) -> None:
        super().__init__(env)
        self._seconds = seconds

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Wait, and step."""
        time.sleep(self._seconds)
        return self.env.step(action)


def waiting_worker(seconds: float) -> type[RolloutWorker]:
    """A worker whose environments wait."""

    class WaitingWorker(RolloutWorker):
        def environments(self, count: int) -> list[gym.Env[Any, Any]]:
            return [Waiting(env, seconds) for env in super().environments(count)]

    return WaitingWorker


def settings(args: argparse.Namespace) -> RunConfig:
    """A run whose shards are the same in one process and on workers."""
    episodes = args.tasks * args.rollouts
    return RunConfig.model_validate(
        {
            "name": "overlap",
            "threads": 1,
            "warm_start": {"demonstrations": 100, "epochs": 2, "judge_steps": 400},
            "rollout": {
                "tasks": args.tasks,
                "rollouts": args.rollouts,
                "max_steps": args.steps,
                "environments": max(1, episodes // SHARDS),
            },
            "curriculum": {"pool_size": args.tasks},
            "judge": {"steps": 64},
            "feedback": {"policy_band": None, "judge_band": None},
        }
    )


def measure(parts: RunParts, wait: float, rounds: int, workers: int) -> tuple[dict[str, list[dict[str, float]]], bool]:
    """Seconds of each phase, in each way and round; and whether all ways came to the same."""
    start, rollout = parts.folder.path / "start", parts.config.rollout
    if not start.exists():
        parts.learners.save(start)
    # Where steps wait, all environments of a shard wait at once.
    threads = rollout.environments if wait else None
    config = parts.config.model_copy(update={"rollout": rollout.model_copy(update={"threads": threads})})
    ahead = config.model_copy(update={"rollout": config.rollout.model_copy(update={"ahead": True})})
    tasks = parts.train_tasks("pool", config.curriculum.pool_size)
    envs = [Waiting(env, wait) for env in parts.envs] if wait else parts.envs
    found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    metrics = []
    kind = waiting_worker(wait) if wait else RolloutWorker
    with RayWorkers.open(config, WorkersConfig(number=workers), parts.learners, kind) as others:

        def iterate(way: str) -> dict[str, Any]:
            parts.learners.load(start)
            judge = WAYS[way]
            if judge is not None:
                others.judge = cast(Any, judge)
            with tempfile.TemporaryDirectory() as folder, TaskPool.create(Path(folder) / "pool.sqlite", tasks) as pool:
                who = None if judge is None else others
                own = ahead if way == AHEAD else config
                loop = Loop(own, parts.learners, parts.reviewer, pool, list(envs), ScriptedRewriter(), who)
                return loop.iterate([loop.iterate([]).metrics]).metrics

        order = list(WAYS)
        for turn in range(rounds + 1):
            for way in order[turn % len(order) :] + order[: turn % len(order)]:
                row = iterate(way)
                seconds = row.pop("seconds")
                if way != AHEAD:
                    metrics.append(json.dumps(row, sort_keys=True))
                if turn:  # in the first, models are tried out and environments made
                    found[way].append(seconds)
    return found, len(set(metrics)) == 1


def summary(rows: dict[str, list[dict[str, float]]], of: Callable[[dict[str, float]], float]) -> dict[str, Any]:
    """Median seconds of each way, and how many times as fast as one process: median, lowest, highest."""
    base = [of(row) for row in rows[ALONE]]
    table = {}
    for way, some in rows.items():
        ratios = [alone / of(row) for alone, row in zip(base, some, strict=True)]
        table[way] = {"seconds": median(map(of, some)), "ratio": [median(ratios), min(ratios), max(ratios)]}
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--tasks", type=int, default=8, help="of an iteration")
    parser.add_argument("--rollouts", type=int, default=8, help="episodes on each task")
    parser.add_argument("--steps", type=int, default=20, help="most steps of an episode")
    parser.add_argument("--wait", type=float, default=20.0, help="milliseconds that slow environments take for a step")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    transformers_logging.disable_progress_bar()
    torch.set_num_threads(1)
    console, before, tables, same = Console(width=110), os.getloadavg()[0], {}, True
    config = settings(args)
    with tempfile.TemporaryDirectory() as path:
        folder = RunFolder(Path(path) / "run")
        folder.prepare(config.model_dump(mode="json"))
        with closing(RunParts.assemble(config, folder, Reporter.silent())) as parts:
            warm_start(parts)
            for name, wait in (("environments as they are", 0.0), (f"steps of {args.wait:g} ms", args.wait / 1000)):
                rows, alike = measure(parts, wait, args.rounds, args.workers)
                same &= alike
                tables[name] = {
                    "playing and judging": summary(rows, lambda seconds: seconds["rollout"] + seconds["judge"]),
                    "an iteration": summary(rows, lambda seconds: sum(seconds.values())),
                }
                if not args.json:
                    show(console, name, tables[name])
    machine = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": [round(load, 1) for load in (before, os.getloadavg()[0])],
        "rounds": args.rounds,
        "workers": args.workers,
        "same": same,
    }
    if args.json:
        print(json.dumps({**machine, "tables": tables}, indent=2))
        return 0 if same else 1
    console.print(
        f"Python {machine['python']}, {os.cpu_count()} cores, load {machine['load'][0]} before and "
        f"{machine['load'][1]} after; {args.rounds} rounds, {args.workers} workers"
    )
    console.print("all but the last came to the same, to the last bit" if same else "NOT all came to the same")
    return 0 if same else 1


def show(console: Console, name: str, parts: dict[str, dict[str, Any]]) -> None:
    """A table of what `summary` gave."""
    table = Table(title=f"{name}: seconds, and how many times as fast as one process")
    for column in ("", *(column for part in parts for column in (part, "times"))):
        table.add_column(column)
    for way in WAYS:
        cells = []
        for part in parts.values():
            middle, low, high = part[way]["ratio"]
            cells += [f"{part[way]['seconds']:.2f}", f"{middle:.2f} [{low:.2f}, {high:.2f}]"]
        table.add_row(way, *cells)
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
