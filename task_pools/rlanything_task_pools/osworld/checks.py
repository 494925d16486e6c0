"""Evaluators in OSWorld's form, as the generated tasks use them: of files, and of nothing else."""

import json
import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from rlanything_task_pools.osworld.assets import inline_url

__all__ = [
    "both",
    "cells",
    "compared",
    "contains",
    "csv_is",
    "file",
    "folder",
    "json_is",
    "later",
    "mode_is",
    "ruled",
    "text_is",
]

Evaluator = dict[str, Any]


def ruled(func: str, result: Mapping[str, Any], rules: Any, **options: Any) -> Evaluator:
    """A function of something on the desktop and a rule."""
    made = {"func": func, "result": dict(result), "expected": {"type": "rule", "rules": rules}}
    return made | ({"options": options} if options else {})


def compared(func: str, path: str, gold: bytes, **options: Any) -> Evaluator:
    """A function of a file of the desktop and one that the task carries."""
    name = posixpath.basename(path)
    expected = {"type": "cloud_file", "path": inline_url(gold), "dest": f"gold_{name}"}
    made = {"func": func, "result": file(path), "expected": expected}
    return made | ({"options": options} if options else {})


def file(path: str) -> dict[str, Any]:
    """The getter of a file of the desktop."""
    return {"type": "vm_file", "path": path, "dest": posixpath.basename(path)}


def both(*evaluators: Mapping[str, Any]) -> Evaluator:
    """All of several evaluators."""
    if len(evaluators) == 1:
        return dict(evaluators[0])
    return {
        "func": [each["func"] for each in evaluators],
        "conj": "and",
        "result": [each["result"] for each in evaluators],
        "expected": [each.get("expected", {}) for each in evaluators],
        "options": [each.get("options", {}) for each in evaluators],
    }


def later(evaluator: Mapping[str, Any], seconds: int) -> Evaluator:
    """An evaluator before which a program is given time to write its files."""
    return {**evaluator, "postconfig": [{"type": "sleep", "parameters": {"seconds": seconds}}]}


def folder(path: str, names: Sequence[str]) -> Evaluator:
    """A folder holds just these names."""
    return ruled("check_moved_jpgs", {"type": "list_directory", "path": path}, {"expected": sorted(names)})


def text_is(path: str, content: str) -> Evaluator:
    """A file holds these lines; empty ones and blanks at their ends do not matter."""
    return compared("compare_python_pure_text", path, content.encode())


def contains(path: str, *texts: str) -> Evaluator:
    """A file holds each of these texts."""
    return ruled("file_contains", file(path), {"expected": list(texts)})


def csv_is(path: str, content: str) -> Evaluator:
    """A file holds these lines."""
    return compared("compare_csv", path, content.encode(), strict=True)


def json_is(path: str, values: Mapping[str, Any]) -> Evaluator:
    """A JSON file has these values under these keys and nothing else; 1 is no ``true``, and 0 no ``false``."""
    expect = [{"key": [key], "method": "eq", "ref": value} for key, value in values.items()]
    flags = [rf'"{key}"\s*:\s*{json.dumps(value)}\b' for key, value in values.items() if isinstance(value, bool)]
    return both(
        ruled("check_json", file(path), {"expect": expect, "unexpect": []}),
        compared("is_included_all_json_objects", path, json.dumps(values).encode()),
        ruled("check_list", file(path), {"expect": flags}),
    )


def cells(path: str, values: Mapping[str, Any]) -> Evaluator:
    """Cells of the first sheet have these values."""
    rules = [
        {"type": "check_cell", "sheet_idx": 0, "coordinate": cell, "props": {"value": _value(value)}}
        for cell, value in values.items()
    ]
    return {"func": "compare_table", "result": file(path), "options": {"rules": rules}}


def mode_is(path: str, mode: str) -> Evaluator:
    """A file has these permissions, in octal."""
    asked = {"type": "vm_command_line", "command": ["stat", "-c", "%a", path]}
    return ruled("exact_match", asked, {"expected": f"{mode}\n"})


def _value(value: Any) -> dict[str, Any]:
    return {"method": "approx:0.01", "ref": value} if isinstance(value, float) else {"method": "eq", "ref": value}
