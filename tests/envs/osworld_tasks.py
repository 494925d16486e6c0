"""Small desktop tasks for tests: a text file to change, and ways to end."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rlanything_task_pools import Task
from rlanything_task_pools.osworld import load, make_task, read_payload

ROOT = Path(__file__).resolve().parents[2]
PATH = "/home/user/Desktop/a.txt"
INSTRUCTION = "Add the word you at the end of a.txt and save it."
HAS_TEXT = {
    "func": "compare_text_file",
    "result": {"type": "vm_file", "path": PATH, "dest": "a.txt"},
    "expected": {"type": "cloud_file", "path": "data:;base64,aGVsbG8geW91", "dest": "gold.txt"},
}
"""1 where the file has ``hello you``."""
INFEASIBLE = {"func": "infeasible"}
SETUP = [
    {"type": "write_file", "parameters": {"path": PATH, "text": "hello"}},
    {"type": "open", "parameters": {"path": PATH}},
]
SOLUTION = ["pyautogui.press('end')", "pyautogui.write(' you')", "pyautogui.hotkey('ctrl', 's')"]


def make(
    evaluator: dict[str, Any] = HAS_TEXT, config: Sequence[dict[str, Any]] = SETUP, instruction: str = INSTRUCTION
) -> Task:
    """A task with one evaluator."""
    payload = {
        "instruction": instruction,
        "config": list(config),
        "evaluators": {"evaluator1": evaluator},
        "instructions": {"evaluator1": instruction},
        "current": "evaluator1",
    }
    return make_task(read_payload(payload))


def published(name: str) -> Task:
    """A task file of OSWorld, from ``$RLANYTHING_TEST_DATA`` or ``shared/data``; else the test is skipped."""
    named = os.environ.get("RLANYTHING_TEST_DATA")
    for place in [Path(named)] if named else [ROOT / "shared" / "data", ROOT.parent / "shared" / "data"]:
        for path in sorted((place / "osworld" / "upstream").glob(f"{name}*.json")):
            return load(path)
    pytest.skip("no published tasks: set RLANYTHING_TEST_DATA to a folder with osworld/upstream/*/*.json")
