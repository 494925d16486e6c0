"""`inspect eval` on a pinned panel.

    pip install . inspect-ai
    inspect eval examples/inspect_panel.py -T panel=alfworld-easy -T limit=8 --model openai/gpt-5
    inspect view

Without a model at hand, ``--model mockllm/model`` answers something, and fails every task.
"""

from __future__ import annotations

from typing import Any

from inspect_ai import Task, task

from rlanything_envs.adapters.inspect_ai import panel_task


@task
def rlanything(
    panel: str = "alfworld-easy",
    pool: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    environment: dict[str, Any] | None = None,
) -> Task:
    """A panel, or the tasks of a pool."""
    return panel_task(panel, pool=pool, limit=limit, seed=seed, environment=environment)
