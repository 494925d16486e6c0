"""Reads task folders with the real harbor: prints what it understood of each as a line of JSON."""

import json
import sys
from pathlib import Path

from harbor.models.task.task import Task
from harbor.models.task.verifier_mode import resolve_task_verifier_mode

for folder in sorted(Path(sys.argv[1]).iterdir()):
    task = Task(folder)
    found = {
        "name": task.name,
        "valid": Task.is_valid_dir(folder),
        "mode": resolve_task_verifier_mode(task.config).value,
        "instruction": task.instruction,
        "artifacts": task.config.artifacts,
        "solve": task.paths.discovered_solve_path is not None,
    }
    print(json.dumps(found))
