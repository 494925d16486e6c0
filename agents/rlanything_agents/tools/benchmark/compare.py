"""Comparison of two benchmarks on the same panel, paired by task, so that the variance between tasks cancels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rlanything_agents.runs.stored.values import mapping, number
from rlanything_agents.tools.benchmark.episode import is_count
from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_agents.tools.benchmark.pairing import pair

__all__ = ["compare_results", "read_results"]

MAX_BYTES = 500_000_000
"""Most bytes of a file of results; an episode takes about 400."""


def read_results(path: Path) -> dict[str, Any]:
    """Read and check a ``results.json``, given by its folder or its own path.

    Raises:
        BenchmarkError: The file is missing, too large, or not the result of a benchmark.
    """
    file = path / "results.json" if path.is_dir() else path
    if not file.is_file():
        raise BenchmarkError(f"{path} has no results.json: name the --out folder of a benchmark that has begun")
    if file.stat().st_size > MAX_BYTES:
        raise BenchmarkError(f"{file} has more than {MAX_BYTES} bytes")
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        agent, panel = found["agent"], found["panel"]
        good = isinstance(agent, str) and isinstance(panel["hash"], str) and isinstance(panel["name"], str)
        good = good and isinstance(found["settings"], dict) and all(_is_task(task) for task in found["tasks"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise BenchmarkError(f"{file} is not the result of a benchmark: {type(error).__name__}: {error}") from None
    if not good:
        raise BenchmarkError(f"{file} is not the result of a benchmark: agent, panel, settings or tasks are malformed")
    checked: dict[str, Any] = found
    return checked


def compare_results(one: Path, other: Path) -> dict[str, Any]:
    """Compare the agent of ``other`` with that of ``one``.

    Returns:
        Differences as plain data, ``other`` minus ``one``; see `pairing.pair`.

    Raises:
        BenchmarkError: One of the two is no result, the panels differ, or no task has an outcome in both.
    """
    results = [read_results(path) for path in (one, other)]
    panels = [result["panel"] for result in results]
    if panels[0]["hash"] != panels[1]["hash"]:
        names = " and ".join(f"{panel['name']} {panel['hash']}" for panel in panels)
        raise BenchmarkError(f"different tasks were played ({names}): only results on the same panel can be compared")
    tasks = [{(task["group"], task["task"]): task for task in result["tasks"]} for result in results]
    pairs = [(task, tasks[1][key]) for key, task in tasks[0].items() if key in tasks[1]]
    whole = pair(pairs)
    if whole is None:
        raise BenchmarkError(f"no task has an outcome in both {one} and {other}: nothing can be compared")
    groups = list(dict.fromkeys(before["group"] for before, _ in pairs))
    different = sorted(
        name
        for name in {*results[0]["settings"], *results[1]["settings"]} - {"agent", "chat"}
        if results[0]["settings"].get(name) != results[1]["settings"].get(name)
    )
    return {
        "panel": panels[0],
        "agents": [result["agent"] for result in results],
        "folders": [str(one), str(other)],
        "different_settings": different,
        **{name: [_total(result, name) for result in results] for name in ("readable", "admissible")},
        **whole,
        "by_group": {group: pair([p for p in pairs if p[0]["group"] == group]) for group in groups if len(groups) > 1},
    }


def _total(result: dict[str, Any], name: str) -> float | None:
    """A share of all answers; None in a result of an earlier version, or of an environment that does not count it."""
    return number(mapping(result.get("total")).get(name))


def _is_task(task: Any) -> bool:
    texts = all(isinstance(task[name], str) for name in ("task", "group", "kind", "goal"))
    lists = [task[name] for name in ("outcomes", "steps", "scores")]
    return (
        texts
        and all(isinstance(values, list) and len(values) == len(lists[0]) for values in lists)
        and all(value in (1, -1, None) and not isinstance(value, bool | float) for value in lists[0])
        and all(map(is_count, lists[1]))
    )
