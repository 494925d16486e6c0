"""The numbers of a study as two tables, read from its run folders: the results of each run, and its curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]

from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.stored.curves import pick
from studies.jobs import Key, has_ended, stored_runs
from studies.plan import BEFORE
from studies.tables import JUDGE_MEASURES

__all__ = ["CURVES", "read_curves", "read_results"]

CURVES = (
    "success.active",
    "success.candidate",
    "tasks.accepted",
    "tasks.proposed",
    "feedback.policy_kept",
    "feedback.mu",
    "judge_quality.process_balanced",
    "judge_quality.outcome_auc",
    "judge_quality.mid_auc",
    "policy.entropy",
    "policy.kl",
)
"""Keys of a metrics row that become curves."""


def read_results(study: Path) -> pd.DataFrame:
    """One row for each number a finished run came to.

    Returns:
        Columns regime, arm, seed, panel (a split, ``judge`` or ``loop``), metric, value, episodes. Seconds of the loop
        are without the evaluations; of `BEFORE` they are those of the warm start.
    """
    rows = [{**key._asdict(), **row} for key, folder in stored_runs(study) for row in _numbers(key, folder)]
    return pd.DataFrame(rows, columns=["regime", "arm", "seed", "panel", "metric", "value", "episodes"])


def _numbers(key: Key, folder: RunFolder) -> Iterator[dict[str, Any]]:
    if key.arm == BEFORE:
        result = folder.stage("before")
        if result is None:
            return
        warm = folder.stage("warm_start") or {"seconds": 0.0}
        loop: dict[str, float] = {"seconds": warm["seconds"]}
    else:
        result = folder.stage("after")
        if result is None or not folder.summary.exists():
            return
        lines = folder.rows()
        loop = {
            "accepted": lines[-1]["tasks"]["accepted"],
            "proposed": lines[-1]["tasks"]["proposed"],
            "env_steps": sum(line["env_steps"] for line in lines),
            "iterations": len(lines),
            "seconds": sum(sum(line["seconds"].values()) for line in lines),
        }
    for split, panel in result["panels"].items():
        yield {"panel": split, "metric": "success", "value": panel["rate"], "episodes": panel["episodes"]}
    judged = result["judge"].get("trajectories", result["judge"].get("tasks", 0))
    for metric, _ in JUDGE_MEASURES:
        if (value := result["judge"].get(metric)) is not None:
            yield {"panel": "judge", "metric": metric, "value": value, "episodes": judged}
    for metric, value in loop.items():
        yield {"panel": "loop", "metric": metric, "value": float(value), "episodes": 0}


def read_curves(study: Path) -> pd.DataFrame:
    """One row for each measured point of each run's curves, unfinished runs included.

    Returns:
        Columns regime, arm, seed, ended (whether the run has), iteration, env_steps (of all iterations up to this
        one), metric, value.
    """
    rows = [
        {**key._asdict(), "ended": has_ended(folder), **point}
        for key, folder in stored_runs(study)
        if key.arm != BEFORE
        for point in _points(folder)
    ]
    return pd.DataFrame(rows, columns=["regime", "arm", "seed", "ended", "iteration", "env_steps", "metric", "value"])


def _points(folder: RunFolder) -> Iterator[dict[str, Any]]:
    steps, last = 0, 0
    yield from _panels(folder, "before", 0, 0)
    for line in folder.rows():
        steps, last = steps + line["env_steps"], line["iteration"]
        for metric, value in _measured(line):
            yield {"iteration": last, "env_steps": steps, "metric": metric, "value": value}
        yield from _panels(folder, f"iteration-{last:04d}", last, steps)
    yield from _panels(folder, "after", last, steps)


def _panels(folder: RunFolder, stage: str, iteration: int, steps: int) -> Iterator[dict[str, Any]]:
    """Of a stage of this name, if it is there: success on the games that every point has in common, and the judge."""
    result = folder.stage(stage)
    if result is None:
        return
    common = folder.config()["evaluation"]["every_episodes"]
    for split, panel in result["panels"].items():
        ended = [won for won in panel["outcomes"][:common] if won is not None]
        if ended:
            value = sum(ended) / len(ended)
            yield {"iteration": iteration, "env_steps": steps, "metric": f"panel.{split}", "value": value}
    for metric, _ in JUDGE_MEASURES:
        if (measured := result["judge"].get(metric)) is not None:
            yield {"iteration": iteration, "env_steps": steps, "metric": f"judge.{metric}", "value": measured}


def _measured(line: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for key in CURVES:
        if (value := pick(line, key)) is not None:
            yield key, value
