"""Statistics of a benchmark as plain data, for ``results.json`` and the reports."""

from __future__ import annotations

import math
import os
import platform
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rlanything_agents.feedback.metrics import success_rate, wilson
from rlanything_agents.tools.benchmark.compare import pair
from rlanything_agents.tools.benchmark.episode import OUTGROWN, Episode, Key, Result, broken_of
from rlanything_envs.llm.budget import Price, Usage
from rlanything_task_pools import Task
from rlanything_task_pools.panel import ADAPTED, ROOT, Panel

__all__ = ["kind_of", "row_of", "summarise", "versions"]

PACKAGES = ("rlanything-envs", "gymnasium", "numpy")


def summarise(
    panel: Panel, episodes: Sequence[Episode], results: Mapping[Key, Result], price: Price | None = None
) -> dict[str, Any]:
    """All measurements, in the order of the panel. Only values named ``seconds`` depend on the machine.

    Args:
        panel: The panel.
        episodes: All episodes of the benchmark, without those of unreadable tasks.
        results: Results of the finished episodes.
        price: Dollars per million tokens.
    """
    played = [(episode, results[episode.key]) for episode in episodes if episode.key in results]
    by: dict[str, Callable[[Episode], str]] = {
        "group": lambda episode: episode.group,
        "kind": lambda episode: kind_of(episode.task),
        "split": lambda episode: str(episode.task.traits.get("split", "")),
    }
    parts = {
        name: {value: row_of([r for e, r in played if part(e) == value], price) for value in values}
        for name, part in by.items()
        if len(values := sorted({part(episode) for episode, _ in played}, key=_roots_first)) > 1
    }
    broken = broken_of(panel, 1 + max((episode.number for episode in episodes), default=0))
    tasks = _tasks(panel, results, broken)
    left = sum(results[e.key].outcome is None if e.key in results else True for e in episodes)
    return {
        "episodes": len(episodes) + len(broken),
        "left": left + len(broken),
        "total": row_of([*(result for _, result in played), *broken], price),
        "by": parts,
        "adapted": _adapted(tasks),
        "tasks": tasks,
        "agent_crashes": sum(bool(result.agent_crash) for _, result in played),
        "errors": [
            {"task": r.task, "group": r.group, "episode": r.episode, "error": r.error}
            for r in [*broken, *(result for _, result in played)]
            if r.outcome is None
        ],
    }


def kind_of(task: Task) -> str:
    """Kind of a task within its domain."""
    return str(task.traits.get("kind") or task.traits.get("family") or "")


def versions(more: Sequence[str] = ()) -> dict[str, str]:
    """The machine, and versions of Python, of the packages that every result depends on, and of ``more`` packages."""
    found = {"machine": _machine(), "python": platform.python_version()}
    for name in (*PACKAGES, *more):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # used from a source tree
            found[name] = "unknown"
    return found


def _machine() -> str:
    """Processor, and the GPU where PyTorch has one in use."""
    torch = sys.modules.get("torch")
    gpu = f", {torch.cuda.get_device_name(0)}" if torch is not None and torch.cuda.is_available() else ""
    return f"{os.cpu_count()} cores, {platform.machine()}{gpu}"


def row_of(results: Sequence[Result], price: Price | None) -> dict[str, Any]:
    """Numbers of one row of a table; None where nothing was measured."""
    ended = [result for result in results if result.outcome is not None]
    by_task: dict[tuple[str, str], list[float]] = {}
    for result in ended:
        by_task.setdefault((result.group, result.task), []).append(float(result.outcome == 1))
    success: dict[str, Any] = {"successes": 0, "episodes": 0, "rate": None, "low": None, "high": None}
    if ended:
        success = asdict(success_rate([result.outcome for result in ended]))
    if len(ended) > len(by_task):
        success |= _over_tasks([sum(won) / len(won) for won in by_task.values()], len(ended))
    counted = [result.usage for result in results if result.usage is not None]
    usage = sum(counted, Usage())
    return {
        "tasks": len({(result.group, result.task) for result in results}),
        **success,
        "errors": len(results) - len(ended),
        **{reason: sum(result.outgrown == reason for result in results) for reason in OUTGROWN},
        "score": _mean(result.score for result in ended),
        "steps": _mean(result.steps for result in ended),
        "steps_won": _mean(result.steps for result in ended if result.outcome == 1),
        "readable": _share(results, "readable"),
        "admissible": _share(results, "admissible"),
        "tokens_in": usage.prompt_tokens if counted else None,
        "tokens_out": usage.completion_tokens if counted else None,
        "tokens_estimated": usage.estimated,
        "dollars": round(price.dollars(usage), 6) if price and counted else None,
        "seconds": round(sum(result.seconds for result in results), 3),
    }


def _over_tasks(rates: Sequence[float], episodes: int) -> dict[str, float]:
    """Mean success rate of the tasks, and its Wilson interval with correlated episodes within tasks.

    The effective number of episodes is the one whose binomial variance equals the variance seen between tasks: at least
    one per task, at most all.

    Args:
        rates: Share of solved episodes of each task.
        episodes: Number of all episodes.
    """
    rate, n = statistics.fmean(rates), len(rates)
    spread = statistics.variance(rates) / n if n > 1 else math.inf
    within = rate * (1 - rate)
    size = min(max(within / spread, n), episodes) if spread else (episodes if within else n)
    return dict(zip(("rate", "low", "high"), (rate, *wilson(rate * size, size)), strict=True))


def _tasks(panel: Panel, results: Mapping[Key, Result], broken: Sequence[Result]) -> list[dict[str, Any]]:
    """One entry per task in the order of the panel, each with its episodes in order."""
    played: dict[tuple[str, str], list[Result]] = {}
    for result in sorted([*results.values(), *broken], key=lambda result: result.episode):
        played.setdefault((result.group, result.task), []).append(result)
    tasks = [
        {
            "task": entry.task.id,
            "group": entry.group,
            "kind": kind_of(entry.task),
            "goal": entry.task.goal[:300],
            "root": entry.task.root or entry.task.id,
            "outcomes": [result.outcome for result in played.get((entry.group, entry.task.id), ())],
            "scores": [result.score for result in played.get((entry.group, entry.task.id), ())],
            "steps": [result.steps for result in played.get((entry.group, entry.task.id), ())],
        }
        for entry in panel.entries
    ]
    for game in panel.unreadable:
        ended = played[("", game.task)]
        about = {"task": game.task, "group": "", "kind": "", "goal": "", "root": game.task}
        tasks.insert(
            game.place,
            about | {"outcomes": [None] * len(ended), "scores": [0.0] * len(ended), "steps": [0] * len(ended)},
        )
    return tasks


def _adapted(tasks: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Adapted tasks paired with their roots; None where the panel has none."""
    roots = {task["task"]: task for task in tasks if task["group"] == ROOT}
    adapted = [task for task in tasks if task["group"] == ADAPTED and task["root"] in roots]
    return pair([(roots[task["root"]], task) for task in adapted]) if adapted else None


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return round(sum(found) / len(found), 4) if found else None


def _share(results: Sequence[Result], name: str) -> float | None:
    """Share of answers with this property, over the episodes that counted it; None where none did."""
    counted = [(getattr(result, name), result.steps) for result in results if getattr(result, name) is not None]
    steps = sum(steps for _, steps in counted)
    return round(sum(count for count, _ in counted) / steps, 4) if steps else None


def _roots_first(value: str) -> tuple[bool, str]:
    return value != ROOT, value
