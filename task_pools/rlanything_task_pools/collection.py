"""Collections: the tasks of a file or folder that others made, in a form that a domain reads, or of a pool."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol, runtime_checkable

from rlanything_task_pools.domain import Domain, get_domain
from rlanything_task_pools.errors import PoolError
from rlanything_task_pools.export import is_export, read_export
from rlanything_task_pools.file import POOL_FILE
from rlanything_task_pools.pool import TaskPool
from rlanything_task_pools.task import Task

__all__ = ["Collection", "Importer", "import_collection", "read_collection"]

_SQLITE = b"SQLite format 3\0"
"""First bytes of a pool's file."""


@dataclass(frozen=True, slots=True)
class Collection:
    """Tasks of a file or folder.

    Attributes:
        tasks: The tasks in an order that is the same on every machine, each once.
        refused: Reason by place, for what is no task.
    """

    tasks: tuple[Task, ...]
    refused: Mapping[str, str]


@runtime_checkable
class Importer(Protocol):
    """Domain that reads folders of tasks."""

    def load_all(self, source: str | os.PathLike[str]) -> Collection:
        """All tasks of a file or of a folder and the folders below it, each proved where that is possible."""
        ...


@cache
def read_collection(domain: str, source: str) -> Collection:
    """The tasks of a file or folder; read once in a process.

    A pool's file, the folder of a run and a folder that `export_pool` wrote have the active task of each slot, without
    its lineage.

    Args:
        domain: Name of the domain.
        source: Path of the file or folder; ``$NAME`` and ``~`` stand for environment variables and the home folder.

    Raises:
        UnknownName: The domain is not installed.
        PoolError: There is no such file, none of it is a task, or the domain reads no folders.
    """
    reader = get_domain(domain)
    path = Path(os.path.expandvars(source)).expanduser()
    if not path.exists():
        unset = ", a variable of which is not set" if "$" in str(path) else ""
        raise PoolError(f"there is no file or folder {path}{unset}")
    try:
        if _is_pool(path):
            found = _of_pool(path, reader)
        elif isinstance(reader, Importer):
            found = reader.load_all(path)
        else:
            raise PoolError(f"the domain {domain} reads no folders of tasks: it needs a method load_all")
    except PoolError:
        raise
    except (OSError, ValueError, sqlite3.DatabaseError) as error:  # the errors of the importers are ValueErrors
        raise PoolError(f"{path} cannot be read: {error}") from error
    if not found.tasks:
        first = next((f"; {place}: {reason}" for place, reason in found.refused.items()), "")
        raise PoolError(f"{path} holds no task of the domain {domain}{first}")
    return found


def _is_pool(path: Path) -> bool:
    """Whether a path names a pool: its file, the folder of a run, or an exported one."""
    if path.is_dir():
        return (path / POOL_FILE).is_file() or is_export(path)
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _of_pool(path: Path, domain: Domain) -> Collection:
    """The active tasks of a pool; those with a proof are proved."""
    with read_export(path, replay=False) if is_export(path) else TaskPool.open(path) as pool, pool.snapshot():
        active = {(task := pool.active(slot)).id: task.as_root() for slot in pool.slots}
    tasks, refused = [], {}
    for task in active.values():
        if task.domain != domain.name:
            refused[task.id] = f"a task of the domain {task.domain}"
        elif task.proof and (flaw := domain.verify(task)) is not None:
            refused[task.id] = flaw
        else:
            tasks.append(task)
    return Collection(tuple(tasks), refused)


def import_collection(
    domain: str, source: str, path: str | os.PathLike[str], *, replay: bool = True
) -> tuple[TaskPool, Mapping[str, str]]:
    """Make a pool of the tasks of a file or folder, each in its own slot.

    Args:
        domain: Name of the domain.
        source: See `read_collection`.
        path: The new pool's file.
        replay: Whether the domain verifies every task's proof; a task without one is then left out.

    Returns:
        The pool, and the reason by place or task for what was left out.

    Raises:
        UnknownName, PoolError: See `read_collection`; or no task is left.
        PoolError: There is a file at the path.
    """
    if Path(path).exists():
        raise PoolError(f"{path} exists: choose another path for the imported pool")
    found = read_collection(domain, source)
    tasks, refused = [], dict(found.refused)
    for task in found.tasks:
        if replay and (flaw := get_domain(domain).verify(task)) is not None:
            refused[task.id] = flaw
        else:
            tasks.append(task)
    if not tasks:
        first = next(f"; {place}: {reason}" for place, reason in refused.items())
        raise PoolError(f"{source} holds no task of the domain {domain} that can be proved{first}")
    return TaskPool.create(path, tasks), refused
