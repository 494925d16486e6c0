"""The panel of an audit of the judge itself."""

from __future__ import annotations

from rlanything_agents.domains.coding.probes import probes
from rlanything_task_pools.panel import Entry, Panel

__all__ = ["PROBES", "probe_panel"]

PROBES = "coding-probes"
"""Name of the panel."""


def probe_panel(limit: int | None = None) -> Panel:
    """A task for each way to judge a program: by tokens, calls, asserts, a checker, a validator, an interactor."""
    entries = tuple(Entry(task) for task in probes())
    return Panel(PROBES, "Tasks with every kind of checker.", "coding", {"max_turns": 2}, entries[:limit], len(entries))
