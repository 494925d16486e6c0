"""Task files of OSWorld, and those of RLAnything, which have several evaluators for one state."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rlanything_task_pools.osworld.difficulty import difficulty
from rlanything_task_pools.osworld.payload import MAX_TOTAL, make_task, read_payload
from rlanything_task_pools.task import Task, TaskFormatError
from rlanything_verifiers.osworld import EvaluatorError
from rlanything_verifiers.plain_file import read_plain

__all__ = ["import_folder", "import_task", "load"]

FIRST = "evaluator1"


def load(source: str | os.PathLike[str]) -> Task:
    """The task of a JSON file: one of OSWorld, of RLAnything, or of this package.

    Raises:
        TaskFormatError: It cannot be read, or is not a task; the message has the place.
        EvaluatorError: An evaluator is malformed, or names a function or a getter that there is not.
    """
    path = Path(source)
    try:
        content = read_plain(path, 2 * MAX_TOTAL + 1)
        if len(content) > 2 * MAX_TOTAL:
            raise TaskFormatError(f"{path}: a task has at most {2 * MAX_TOTAL} bytes")
        row = json.loads(content)
    except OSError as error:
        raise TaskFormatError(f"{path}: cannot be read: {error}") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, TaskFormatError):
            raise
        raise TaskFormatError(f"{path}: not JSON: {error}") from None
    try:
        return import_task(row)
    except TaskFormatError as error:
        raise TaskFormatError(f"{path}: {error}") from None
    except EvaluatorError as error:
        error.add_note(f"in the task file {path}")
        raise


def import_folder(folder: str | os.PathLike[str]) -> tuple[list[Task], dict[str, str]]:
    """All task files below a folder, and for those that are none, the reason by path.

    Raises:
        TaskFormatError: There is no such folder.
    """
    root = Path(folder)
    if not root.is_dir():
        raise TaskFormatError(f"{root}: there is no such folder")
    tasks: dict[str, Task] = {}
    refused: dict[str, str] = {}
    for path in sorted(root.rglob("*.json")):
        try:
            task = load(path)
        except (TaskFormatError, EvaluatorError) as error:
            refused[str(path)] = str(error)
            continue
        tasks.setdefault(task.id, task)
    return list(tasks.values()), refused


def import_task(row: object) -> Task:
    """The task of a decoded task file.

    `evaluator_list`, `task_template` and `current_task` are those of RLAnything; where they are missing, the only
    evaluator becomes ``evaluator1`` with the instruction of the task.

    Raises:
        TaskFormatError: A field is missing or of the wrong kind.
        EvaluatorError: An evaluator is malformed, or names a function or a getter that there is not.
    """
    if not isinstance(row, Mapping):
        raise TaskFormatError(f"expected a JSON object, got {type(row).__name__}")
    if "payload" in row and "domain" in row:
        return _own(row)
    listed = row.get("evaluator_list")
    if listed is None:
        evaluators = {FIRST: _need(row, "evaluator", Mapping, "an object")}
        instructions = {FIRST: _need(row, "instruction", str, "a text")}
        asked: Mapping[str, Any] = instructions
    else:
        evaluators = dict(_need(row, "evaluator_list", Mapping, "an object"))
        instructions = dict(_need(row, "task_template", Mapping, "an object"))
        asked = _need(row, "current_task", Mapping, "an object")
    if len(asked) != 1:
        raise TaskFormatError(f"current_task: expected just one evaluator, there are {len(asked)}")
    current, instruction = next(iter(asked.items()))
    source: dict[str, Any] = {"format": "osworld" if listed is None else "rlanything"}
    source |= {name: row[name] for name in ("id", "snapshot", "source") if isinstance(row.get(name), str)}
    if isinstance(row.get("requires"), Mapping):
        source["requires"] = row["requires"]
    apps = row.get("related_apps", [])
    payload = read_payload(
        {
            "instruction": instruction,
            "config": row.get("config", []),
            "evaluators": evaluators,
            "instructions": instructions,
            "current": current,
            "related_apps": apps,
            "source": source,
        }
    )
    app = payload.related_apps[0] if payload.related_apps else "unknown"
    traits = {"kind": "imported", "app": app, "split": "train", "source": source["format"], **difficulty(payload)}
    if any(each.get("func") == "infeasible" for each in payload.evaluators.values()):
        traits["infeasible"] = True
    return make_task(payload, (), traits)


def _own(row: Mapping[str, Any]) -> Task:
    task = Task.from_dict(row)
    if task.domain != "osworld":
        raise TaskFormatError(f"it is a task of the domain {task.domain!r:.80}")
    read_payload(task.payload)
    return task


def _need(row: Mapping[str, Any], name: str, kind: type, what: str) -> Any:
    if name not in row:
        raise TaskFormatError(f"{name}: the field is missing")
    if not isinstance(row[name], kind):
        raise TaskFormatError(f"{name}: expected {what}, got {type(row[name]).__name__}")
    return row[name]
