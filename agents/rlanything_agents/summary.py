"""The numbers of a finished run, as plain data: what ``summary.json`` and the report hold."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from rlanything_agents.config import RunConfig
from rlanything_agents.metrics import SuccessRate
from rlanything_task_pools import TaskPool

__all__ = ["accepted_rewrites", "installed_versions", "summarise"]

PACKAGES = ("rlanything-envs", "torch", "transformers", "trl", "gymnasium", "numpy")


def summarise(
    config: RunConfig,
    warm_start: Mapping[str, Any],
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    counts: Mapping[str, int],
    command: str,
) -> dict[str, Any]:
    """Put the results of a run's stages together.

    Args:
        config: The run's settings.
        warm_start: Result of the warm start.
        before: Evaluation before the loop.
        after: Evaluation after it.
        rows: Metrics, one row per iteration.
        counts: What the pool holds at the end.
        command: What the user typed.
    """
    loop_seconds = sum(sum(row["seconds"].values()) for row in rows)
    return {
        "name": config.name,
        "domain": config.domain,
        "seed": config.seed,
        "feedback": config.feedback.label,
        "iterations": config.iterations,
        "env_steps": sum(row["env_steps"] for row in rows),
        "seconds": warm_start["seconds"] + before["seconds"] + loop_seconds + after["seconds"],
        "command": command,
        "before": before,
        "after": after,
        "tasks": counts,
        "table": _table(config, before, after, counts),
        "versions": installed_versions(),
    }


def accepted_rewrites(pool: TaskPool) -> Iterator[dict[str, Any]]:
    """Accepted rewrites in order, with the success rates the decision was made on."""
    for event in pool.events(kind="accepted"):
        task = pool.task(event.task_id)
        parent = pool.task(task.parent) if task.parent else None
        yield {
            "slot": event.slot,
            "direction": task.rewrite.direction if task.rewrite else "",
            "before": parent.goal if parent else "",
            "after": task.goal,
            "parent_success": event.stats.get("parent"),
            "success": event.stats["successes"] / event.stats["n"],
        }


def _table(
    config: RunConfig, before: Mapping[str, Any], after: Mapping[str, Any], counts: Mapping[str, int]
) -> list[dict[str, str]]:
    names = ("success, in-domain", "success, out-of-domain")
    lines = []
    for number, split in enumerate(config.evaluation.panels):
        old, new = (SuccessRate(**result["panels"][split]) for result in (before, after))
        clear = ", intervals apart" if new.above(old) else ""
        lines.append(
            {
                "what": names[number] if number < len(names) else f"success, {split}",
                "on": f"{new.episodes} generated games, {split}",
                "before": str(old),
                "after": str(new),
                "change": f"{100 * (new.rate - old.rate):+.1f} points{clear}",
            }
        )
    for what, key in (
        ("judge, process accuracy (balanced)", "process_balanced"),
        ("judge, process accuracy (plain)", "process"),
        ("judge, outcome accuracy", "outcome"),
        ("judge, outcome AUC", "outcome_auc"),
    ):
        old_value, new_value = before["judge"][key], after["judge"][key]
        if old_value is None or new_value is None:
            continue
        lines.append(
            {
                "what": what,
                "on": f"{after['judge']['steps']} steps, {after['judge']['trajectories']} trajectories",
                "before": f"{old_value:.1%}",
                "after": f"{new_value:.1%}",
                "change": f"{100 * (new_value - old_value):+.1f} points",
            }
        )
    lines.append(
        {
            "what": "tasks forged",
            "on": f"pool of {counts['slots']}",
            "before": "0",
            "after": f"{counts['accepted']} accepted, {counts['rejected']} rejected",
            "change": f"{counts['proposed']} proposed, {counts['pending']} on trial",
        }
    )
    return lines


def installed_versions() -> dict[str, str]:
    """Versions of Python and of the packages a result depends on."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
