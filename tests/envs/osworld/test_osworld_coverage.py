"""Coverage of task files."""

import json

import pytest

from rlanything_envs.osworld.coverage import coverage, table
from rlanything_task_pools.osworld import OSWorldTaskError

RULE = {"type": "rule", "rules": {"expected": "see https://example.org"}}
OUTPUT = {"type": "vm_command_line", "command": "ls"}
TASK = {"id": "x", "instruction": "Do.", "config": [], "related_apps": ["os"]}
EVALUATOR = {"func": "exact_match", "result": OUTPUT, "expected": RULE}
DOWNLOAD = {"type": "download", "parameters": {"files": [{"url": "https://x.org/a.txt", "path": "/home/user/a.txt"}]}}
TABS = {"type": "chrome_open_tabs", "parameters": {"urls_to_open": ["https://x.org"]}}
HERE = {"type": "execute", "parameters": {"command": "curl http://localhost:8080", "shell": True}}
GOLD = {"type": "cloud_file", "path": "https://x.org/a.txt", "dest": "a.txt"}
FILE = {"type": "vm_file", "path": "/a.txt", "dest": "a.txt"}

TASKS = {
    "os/plain": {**TASK, "evaluator": EVALUATOR},
    "os/local": {**TASK, "config": [HERE], "evaluator": EVALUATOR},
    "os/infeasible": {**TASK, "evaluator": {"func": "infeasible"}},
    "os/files": {**TASK, "config": [DOWNLOAD], "evaluator": EVALUATOR},
    "os/gold": {**TASK, "evaluator": {"func": "compare_text_file", "result": FILE, "expected": GOLD}},
    "chrome/tabs": {**TASK, "config": [TABS, DOWNLOAD], "evaluator": EVALUATOR},
    "chrome/account": {**TASK, "config": [{"type": "login", "parameters": {}}], "evaluator": EVALUATOR},
    "chrome/getter": {**TASK, "evaluator": {**EVALUATOR, "result": {"type": "page_info"}}},
    "chrome/metric": {**TASK, "evaluator": {**EVALUATOR, "func": "no_such"}},
    "vs_code/plain": {**TASK, "related_apps": ["vscode"], "evaluator": EVALUATOR},
    "vs_code/broken": {"id": "x"},
}


def test_what_files_need(tmp_path):
    for name, task in TASKS.items():
        path = tmp_path / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(task))
    found = coverage(tmp_path)
    columns = ("files", "read", "supported", "with_files", "offline", "feasible", "debian")
    assert {name: tuple(getattr(row, column) for column in columns) for name, row in found.items()} == {
        "chrome": (4, 4, 1, 0, 0, 0, 0),
        "os": (5, 5, 5, 2, 3, 2, 2),
        "vs_code": (2, 1, 1, 0, 1, 1, 0),
    }
    shown = table(found)
    assert "| all | 11 | 10 | 7 | 2 | 4 | 3 | 2 |" in shown
    for reason in ("`page_info` 1", "`no_such` 1", "the step 'login'", "broken.json"):
        assert reason in shown


def test_no_folder(tmp_path):
    with pytest.raises(OSWorldTaskError, match="no such folder"):
        coverage(tmp_path / "none")
