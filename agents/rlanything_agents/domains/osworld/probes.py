"""Desktop tasks whose results are read by metrics that run or unpack them, for audits of the judge itself."""

from __future__ import annotations

import io
import zipfile
from base64 import b64encode
from functools import cache

from rlanything_task_pools import Task
from rlanything_task_pools.osworld import make_task, read_payload

__all__ = ["probes"]

_TEST = "import answer\n\ndef test():\n    return answer.value() == 42\n"


def _problem(name: str, instruction: str, func: str, gold: str, content: bytes) -> Task:
    path = f"/home/user/Desktop/{name}"
    evaluator = {
        "func": func,
        "result": {"type": "vm_file", "path": path, "dest": name},
        "expected": {"type": "cloud_file", "path": f"data:;base64,{b64encode(content).decode()}", "dest": gold},
    }
    payload = {
        "instruction": instruction,
        "config": [{"type": "write_file", "parameters": {"path": path, "text": "value = None\n"}}],
        "evaluators": {"e": evaluator},
        "instructions": {"e": instruction},
        "current": "e",
    }
    return make_task(read_payload(payload))


def _zipped(name: str, text: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), text)
    return file.getvalue()


@cache
def probes() -> tuple[Task, ...]:
    """The tasks: a program that is tested, an archive that is unpacked, a text that is compared."""
    return (
        _problem(
            "answer.py",
            "Write a function value that returns 42 into answer.py.",
            "check_python_file_by_test_suite",
            "suite.py",
            _TEST.encode(),
        ),
        _problem("a.zip", "Put a text b.txt into a.zip.", "compare_archive", "gold.zip", _zipped("b.txt", "hello")),
        _problem("a.txt", "Write hello into a.txt.", "compare_text_file", "gold.txt", b"hello"),
    )
