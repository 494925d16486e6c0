"""Summary of a run as plain data, for ``summary.json`` and the report."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rlanything_agents.config import RunConfig
from rlanything_agents.feedback.metrics import SuccessRate
from rlanything_agents.feedback.percent import interval, percent, points
from rlanything_agents.reward_models.reviewer import Reviewer
from rlanything_agents.runs.monitors import apart, health, verdict
from rlanything_task_pools import TaskPool

__all__ = ["accepted_rewrites", "at_service", "installed_versions", "summarise"]

PACKAGES = ("rlanything-envs", "torch", "transformers", "trl", "gymnasium", "numpy")
EXTRAS = ("peft", "ray", "tinker", "vllm")
ACTIONS = ("readable", "admissible")
"""Shares of turns in an evaluation."""
NOT_YET = "–"
"""Value of a result that a run has not reached, or that had nothing to be measured on."""
UNCHANGED = {"change": NOT_YET, "clear": ""}
"""Change of such a result."""


def summarise(
    config: RunConfig,
    warm_start: Mapping[str, Any],
    before: Mapping[str, Any],
    after: Mapping[str, Any] | None,
    rows: Sequence[Mapping[str, Any]],
    counts: Mapping[str, int],
    command: str,
    reviewer: Reviewer[Any],
    curve: Sequence[Mapping[str, Any]] = (),
    stopped: str = "",
) -> dict[str, Any]:
    """Combine the results of a run's stages.

    Args:
        config: All settings.
        warm_start: Result of the warm start.
        before: Evaluation before the loop.
        after: Evaluation after the loop; None of an unfinished run.
        rows: Metrics, one row per iteration.
        counts: Counts of the pool at the end.
        command: Command line of the user.
        reviewer: Names the reported measures of the reward model.
        curve: Evaluations during the loop, each with its ``iteration`` and ``env_steps``.
        stopped: Reason of an early end; empty without one.
    """
    measured = [before, *curve, *([after] if after else [])]
    found = health(rows)
    panels = {split: [point["panels"][split] for point in measured] for split in config.evaluation.panels}
    loop_seconds = sum(sum(row["seconds"].values()) for row in rows)
    return {
        "name": config.name,
        "domain": config.domain,
        "seed": config.seed,
        "feedback": config.feedback.label,
        "iterations": len(rows),
        "env_steps": sum(row["env_steps"] for row in rows),
        "seconds": sum(part["seconds"] for part in (warm_start, before, *curve, after or {}) if part) + loop_seconds,
        "command": command,
        "before": _brief(before),
        "curve": [_brief(point) for point in curve],
        "after": None if after is None else _brief(after),
        "stopped": stopped,
        "tasks": counts,
        "verdict": asdict(verdict(panels, found, len(rows), finished=after is not None)),
        "health": [line.to_dict() for line in found],
        "table": _table(config, before, after, counts, reviewer),
        "note": reviewer.note,
        "service": at_service([warm_start, before, *rows, *curve, after or {}]),
        "versions": installed_versions(),
    }


def at_service(parts: Iterable[Mapping[str, Any]]) -> str:
    """Tokens that a service counts for, of finished stages and iterations, as a sentence; empty without one."""
    if not (counted := [part["service"] for part in parts if "service" in part]):
        return ""
    sums = {name: sum(count[name] for count in counted) for name in ("prefill", "sampled", "trained")}
    return (
        f"At the service: {sums['prefill']:,} prompt tokens, {sums['sampled']:,} sampled, {sums['trained']:,} trained"
    )


def _brief(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """An evaluation without the outcome of each episode, which its stage holds."""
    panels = {
        split: asdict(_success(evaluation, split)) | {name: panel.get(name) for name in ACTIONS}
        for split, panel in evaluation["panels"].items()
    }
    return {**evaluation, "panels": panels}


def _success(evaluation: Mapping[str, Any], split: str) -> SuccessRate:
    panel = evaluation["panels"][split]
    return SuccessRate(**{field.name: panel[field.name] for field in fields(SuccessRate)})


def accepted_rewrites(pool: TaskPool) -> Iterator[dict[str, Any]]:
    """Accepted tasks in order, with the success rates of the trial; None without one."""
    for event in pool.events(kind="accepted"):
        task = pool.task(event.task_id)
        parent = pool.task(task.parent) if task.parent else None
        yield {
            "slot": event.slot,
            "direction": task.rewrite.direction if task.rewrite else event.reason,
            "before": parent.goal if parent else "",
            "after": task.goal,
            "parent_success": event.stats.get("parent"),
            "success": event.stats["successes"] / event.stats["n"] if event.stats["n"] else None,
        }


def _table(
    config: RunConfig,
    before: Mapping[str, Any],
    after: Mapping[str, Any] | None,
    counts: Mapping[str, int],
    reviewer: Reviewer[Any],
) -> list[dict[str, str]]:
    names = (f"{reviewer.success}, in-domain", f"{reviewer.success}, out-of-domain")
    lines = []
    for number, split in enumerate(config.evaluation.panels):
        old, new = _success(before, split), None if after is None else _success(after, split)
        lines.append(
            {
                "what": names[number] if number < len(names) else f"{reviewer.success}, {split}",
                "on": f"{(new or old).episodes} generated tasks, {split}",
                "before": str(old),
                "after": str(new) if new else NOT_YET,
                **(_change(old.rate, new.rate, apart((old.low, old.high), (new.low, new.high))) if new else UNCHANGED),
            }
        )
    lines += _action_lines(config, before, after)
    for measure in reviewer.measures:
        old_judge, new_judge = before["judge"], after["judge"] if after else {}
        if not old_judge:
            continue
        old_value, new_value = old_judge.get(measure.key), new_judge.get(measure.key)
        limits = [judge.get(f"{measure.key}_interval") for judge in (old_judge, new_judge)]
        lines.append(
            {
                "what": measure.what,
                "on": reviewer.measured_on(new_judge or old_judge),
                "before": _share(old_judge, measure.key),
                "after": _share(new_judge, measure.key),
                **_change(old_value, new_value, measure.better * apart(*limits)),
            }
        )
    lines.append(
        {
            "what": "tasks rewritten",
            "on": f"pool of {counts['slots']}",
            "before": "0",
            "after": f"{counts['accepted']} accepted, {counts['rejected']} rejected",
            "change": f"{counts['proposed']} proposed, {counts['pending']} on trial",
            "clear": "",
        }
    )
    return lines


def _action_lines(
    config: RunConfig, before: Mapping[str, Any], after: Mapping[str, Any] | None
) -> Iterator[dict[str, str]]:
    """Table lines for the shares of readable and of admissible actions on the first panel, where one is below 1."""
    split = config.evaluation.panels[0]
    for name in ACTIONS:
        old = before["panels"][split].get(name)
        new = after["panels"][split].get(name) if after else None
        if old is None or (after is not None and new is None) or {old, new} <= {1.0, None}:
            continue
        yield {
            "what": f"{name} actions",
            "on": f"all turns, {split}",
            "before": percent(old),
            "after": NOT_YET if new is None else percent(new),
            **_change(old, new, 0),
        }


def _change(old: float | None, new: float | None, better: int) -> dict[str, str]:
    """Difference of two shares as text; ``clear`` is ``better`` or ``worse`` where their intervals are apart."""
    if old is None or new is None:
        return UNCHANGED
    clear = ("", "better", "worse")[better]
    return {"change": points(new - old) + (", intervals apart" if clear else ""), "clear": clear}


def _share(judge: Mapping[str, Any], key: str) -> str:
    """A share from a measurement of the reward model as text, with its interval where there is one."""
    if judge.get(key) is None:
        return NOT_YET
    limits = judge.get(f"{key}_interval")
    return interval(judge[key], *limits) if limits else percent(judge[key])


def installed_versions() -> dict[str, str]:
    """Versions of Python and of the packages that results depend on; of extras only where they are installed."""
    return {"python": platform.python_version(), **dict(_versions())}


def _versions() -> Iterator[tuple[str, str]]:
    for name in (*PACKAGES, *EXTRAS):
        try:
            yield name, version(name)
        except PackageNotFoundError:
            if name in PACKAGES:
                raise
