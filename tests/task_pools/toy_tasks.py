"""The smallest tasks a pool can hold, for the tests of the pool."""

import sqlite3
from pathlib import Path

from rlanything_task_pools import Outcome, Rewrite, Task, TaskPool

__all__ = ["child", "dump", "history", "outcome", "root"]


def root(number: int) -> Task:
    return Task(domain="toy", goal=f"reach {number}", payload={"target": number}, proof=("go",), traits={"n": number})


def child(parent: Task, target: int, direction: str = "easier") -> Task:
    rewrite = Rewrite(direction=direction, author="scripted", change={"target": target}, critique="too far")
    return Task(
        domain="toy", goal=f"reach {target}", payload={"target": target}, proof=("go", "on"),
        parent=parent.id, root=parent.root or parent.id, rewrite=rewrite,
    )  # fmt: skip


def outcome(success: bool | None = True, role: str = "active", actor: str = "policy-1") -> Outcome:
    return Outcome(success=success, score=float(bool(success)), steps=4, actor=actor, role=role)


def dump(path: Path) -> list[str]:
    """All that a file of a pool holds."""
    with sqlite3.connect(path) as db:
        return list(db.iterdump())


def history(pool: TaskPool, slot: int) -> list[Task]:
    """The tasks that were active in a slot, from the first to the current one."""
    return [version.task for version in pool.versions(slot) if version.state in ("root", "accepted")]
