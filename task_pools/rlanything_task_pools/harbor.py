"""Pools as folders of Harbor tasks: one folder for each active task, of the domains that have such a form."""

import os
from pathlib import Path
from typing import Protocol, runtime_checkable

from rlanything_task_pools.domain import get_domain
from rlanything_task_pools.errors import ExportError
from rlanything_task_pools.export import new_folder
from rlanything_task_pools.reader import PoolReader
from rlanything_task_pools.task import Task

__all__ = ["HarborWriter", "export_harbor"]


@runtime_checkable
class HarborWriter(Protocol):
    """Domain whose tasks are files in and a file out, so that an agent with a shell can do them."""

    def write_harbor(self, task: Task, folder: Path, image: str | None = None) -> None:
        """Write a task folder of Harbor.

        Args:
            task: The task.
            folder: The folder, which must not exist.
            image: Image of the container; None for the domain's own.

        Raises:
            ExportError: This task has no such form.
        """
        ...


def export_harbor(pool: PoolReader, folder: str | os.PathLike[str], image: str | None = None) -> Path:
    """Write the active tasks of a pool to a new folder, each to the folder of its id.

    Args:
        pool: The pool.
        folder: The folder, which appears complete or not at all.
        image: Image of the containers; None for the domain's own.

    Raises:
        PoolExists: The path exists.
        ExportError: A task's domain has no form for Harbor, or the task has none.
    """
    with new_folder(folder) as scratch:
        for task in {task.id: task for slot in pool.slots for task in [pool.active(slot)]}.values():
            domain = get_domain(task.domain)
            if not isinstance(domain, HarborWriter):
                raise ExportError(
                    f"task {task.id}: the domain {task.domain} has no form for Harbor, whose agents have a shell "
                    "and no environment to ask; use `rlanything serve` instead"
                )
            domain.write_harbor(task, scratch / task.id, image)
    return Path(folder)
