"""Coding tasks as task folders of Harbor, out and in.

A folder has what Harbor asks for (``task.toml``, ``instruction.md``, ``environment/``, ``tests/``, ``solution/``). The
agent writes ``/app/solution.py`` in its container. Harbor hands that file to a second container, where the judge of
this package, a copy of which lies in ``tests/``, runs it on the hidden tests: what the agent does to its own container
changes no verdict, and no hidden test is ever in it. The task itself is ``tests/task.json`` without its proof, which is
the program in ``solution/``.
"""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import rlanything_verifiers.coding
from rlanything_task_pools.coding import harbor_judge
from rlanything_task_pools.coding.draft import ImportFormatError
from rlanything_task_pools.coding.payload import MAX_PROGRAM, read_payload
from rlanything_task_pools.coding.problem_files import read_text
from rlanything_task_pools.coding.problem_text import problem_text
from rlanything_task_pools.errors import ExportError
from rlanything_task_pools.task import MAX_JSON_BYTES, Task

__all__ = ["DEFAULT_IMAGE", "matches", "read", "write"]

DEFAULT_IMAGE = "python:3.12-slim"
AGENT_S = 900
"""Seconds of an agent, as Harbor's own template has them."""
STARTING_S = 120
"""Seconds of the verifier besides its tests."""
FREE_MIB = 1024
"""MiB of a container besides the address space of one program."""
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,254}")

_CONFIG = """\
schema_version = "1.4"
artifacts = ["/app/solution.py"]

[task]
name = "rlanything/{id}"

[agent]
timeout_sec = {agent:.1f}

[verifier]
timeout_sec = {verifier:.1f}
environment_mode = "separate"

[environment]
cpus = 1
memory_mb = {memory}
"""
_ENDING = "\n\nWrite it to the file /app/solution.py, which is judged on hidden tests when you are done.\n"


def write(task: Task, folder: Path, image: str = DEFAULT_IMAGE) -> None:
    """Write a task to a new folder.

    Args:
        task: The task; Harbor's oracle agent needs its proof.
        folder: The folder, which must not exist.
        image: Image of both containers; has ``python3`` of version 3.11 or newer.

    Raises:
        ExportError: The task cannot be written in Python, its text is no Unicode, or the name of the image is none.
        CodingTaskError: It is not a coding task.
    """
    if not _IMAGE.fullmatch(image):
        raise ExportError(f"{image!r:.80} is not the name of an image, such as {DEFAULT_IMAGE}")
    problem = read_payload(task.payload)
    if "python" not in problem.languages:
        raise ExportError(f"task {task.id} is solved in {', '.join(problem.languages)}; Harbor's form has Python alone")
    limits = problem.judge_limits()
    config = _CONFIG.format(
        id=task.id,
        agent=AGENT_S,
        verifier=STARTING_S + limits.deadline * len(problem.hidden),
        memory=FREE_MIB + (limits.memory >> 20),
    )
    files = {
        "task.toml": config,
        "instruction.md": problem_text(problem) + _ENDING,
        "environment/Dockerfile": f"FROM {image}\nWORKDIR /app\n",
        "tests/test.sh": "#!/bin/sh\nexec python3 /tests/judge.py\n",
        "tests/task.json": task.model_copy(update={"proof": ()}).to_json(),
    }
    if task.proof:
        files["solution/solution.py"] = task.proof[0]
        files["solution/solve.sh"] = "#!/bin/sh\nmkdir -p /app && cp /solution/solution.py /app/solution.py\n"
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            path.write_text(text, encoding="utf-8", newline="")
        except UnicodeEncodeError as error:
            raise ExportError(f"task {task.id}: {name} cannot be written: {error}") from None
        if path.suffix == ".sh":
            path.chmod(0o755)
    _write_judge(folder / "tests")


def _write_judge(folder: Path) -> None:
    shutil.copyfile(harbor_judge.__file__, folder / "judge.py")
    package = Path(rlanything_verifiers.coding.__file__).parent
    for path in [package.parent / "__init__.py", *sorted(package.rglob("*.py"))]:
        target = folder / path.relative_to(package.parents[1])
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def matches(folder: Path) -> bool:
    """Whether a folder is one of Harbor's."""
    return (folder / "task.toml").is_file()


def read(folder: Path) -> Mapping[str, Any]:
    """The fields of the task in a folder that `write` made, unchecked.

    Raises:
        ImportFormatError: A file cannot be read, or the folder is another Harbor task.
    """
    folder = folder.resolve()
    path = folder / "tests" / "task.json"
    if not path.is_file():
        reason = (
            "only folders that `rlanything pool export --format harbor` wrote can be read: this one has no such file"
        )
        raise ImportFormatError("tests/task.json", reason)
    try:
        fields = json.loads(read_text(folder, path, MAX_JSON_BYTES))
    except (ValueError, RecursionError) as error:
        if isinstance(error, ImportFormatError):
            raise
        raise ImportFormatError("tests/task.json", f"not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise ImportFormatError("tests/task.json", f"expected a JSON object, got {type(fields).__name__}")
    proof = folder / "solution" / "solution.py"
    if proof.is_file():
        fields["proof"] = [read_text(folder, proof, 4 * MAX_PROGRAM)]
    return fields
