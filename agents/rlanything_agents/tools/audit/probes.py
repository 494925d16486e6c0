"""Panels of an audit of the judge itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rlanything_agents.domains.coding import probes as coding
from rlanything_agents.domains.osworld import probes as osworld
from rlanything_task_pools import Task
from rlanything_task_pools.panel import Entry, Panel

__all__ = ["PROBES", "probe_panel"]

PROBES: dict[str, tuple[str, Callable[[], tuple[Task, ...]], dict[str, Any]]] = {
    "coding-probes": ("coding", coding.probes, {"max_turns": 2}),
    "osworld-probes": ("osworld", osworld.probes, {"max_turns": 4, "observation": "text"}),
}
"""Name of each panel: its domain, its tasks, and arguments of their environment."""


def probe_panel(name: str = "coding-probes", limit: int | None = None) -> Panel:
    """A panel with a task for each way to judge a program, or for metrics that run or unpack what an agent made."""
    domain, tasks, arguments = PROBES[name]
    entries = tuple(Entry(task) for task in tasks())
    return Panel(name, "Tasks for attacks on the judge.", domain, arguments, entries[:limit], len(entries))
