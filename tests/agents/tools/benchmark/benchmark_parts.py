"""What the tests of benchmarks share: a service that plays like an expert, and results without what clocks say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scripted_desktop import KINDS, SCRIPTED
from scripted_service import Asked, Handler, Service, answer, served

from rlanything_agents.domains.solutions import solution_of
from rlanything_task_pools import Task, TaskPool, get_domain
from rlanything_task_pools.osworld import generate
from rlanything_task_pools.panel import Entry, Panel

__all__ = ["adapted_pool", "desktop_panel", "expert_service", "timeless"]


def desktop_panel(count: int) -> Panel:
    """Generated tasks of text files, on a stand-in of a desktop."""
    tasks = [generate(seed, "valid_seen", kinds=KINDS) for seed in range(count)]
    return Panel("desktops", "", "osworld", SCRIPTED, tuple(map(Entry, tasks)), count)


def timeless(value: Any) -> Any:
    """The same without the values called ``seconds``."""
    if isinstance(value, Mapping):
        return {key: timeless(item) for key, item in value.items() if key != "seconds"}
    return [timeless(item) for item in value] if isinstance(value, list) else value


@contextmanager
def expert_service(panel: Panel) -> Iterator[Service]:
    """A chat service whose model knows the solution of every task of a panel.

    It recognises a task by its goal, which the first message holds, and says what its answers so far lead on to.
    """
    tasks = [entry.task for entry in panel.entries]

    def solve(handler: Handler, asked: Asked) -> None:
        messages = asked.body["messages"]
        known = (task for task in tasks if task.goal.strip() in messages[0]["content"])
        task = max(known, key=lambda task: len(task.goal))
        found = solution_of(task)([message["content"] for message in messages if message["role"] == "assistant"])
        text = "I do not know." if found is None else found
        handler.reply(answer(text, usage=(sum(len(message["content"]) for message in messages), len(text))))

    with served() as service:
        service.default = solve
        yield service


def adapted_pool(path: Path, slots: int = 3) -> Path:
    """A pool in which every second task was adapted."""
    domain, rng = get_domain("alfworld"), np.random.default_rng(0)
    with TaskPool.create(path, [domain.generate(seed) for seed in range(slots)]) as pool:
        for slot in range(0, slots, 2):
            root = pool.root(slot)
            found = (
                domain.validate(root, proposal, direction=direction, author="scripted")
                for direction in ("easier", "harder")
                for proposal in domain.propose(root, direction, rng)
            )
            pool.propose(slot, next(task for task in found if isinstance(task, Task)))
            pool.accept(slot, "test")
    return path
