"""Which desktop tasks work: reset, full score by a solution of mouse and keyboard, nothing for doing nothing.

``python -m benchmarks.osworld_tasks`` plays the easiest task of each generated kind, and the published ones of OSWorld
that are at hand, on the real desktop. Solutions of generated tasks are in `benchmarks.osworld_mouse`: they click only
what the text of the observation names. Those of published tasks are in `benchmarks.osworld_solutions`; without one, a
published task is reset and scored untouched. Each row is written to ``--out`` at once, and a run that was ended goes on
behind it.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.osworld_mouse import MOUSE, easiest, solve
from benchmarks.osworld_solutions import PUBLISHED, data_folders, play
from rlanything_envs.osworld.env import OSWorldEnv
from rlanything_task_pools import Task
from rlanything_task_pools.osworld import load, read_payload

Row = dict[str, Any]
Solution = Callable[[OSWorldEnv], float]


def tasks() -> Iterator[tuple[str, Task, Solution | None]]:
    """Name, task and what plays its solution; None where no solution is written down."""
    for kind in MOUSE:
        task = easiest(kind)
        yield kind, task, partial(solve, kind=kind, task=task)
    for path in sorted(path for folder in data_folders() for path in folder.glob("*/*.json")):
        name, task = f"{path.parent.name}/{path.stem[:8]}", load(path)
        if read_payload(task.payload).evaluator["func"] == "infeasible":
            yield f"{name} (infeasible)", task, partial(play, task=task, lines=["FAIL"])
        else:
            lines = PUBLISHED[name][2] if name in PUBLISHED else None
            yield name, task, None if lines is None else partial(play, task=task, lines=lines)


def tried(env: OSWorldEnv, name: str, task: Task, solution: Solution | None) -> Row:
    """What became of a task: ``idle`` and ``solved`` are scores or reasons; None where nothing was tried."""
    row: Row = {"task": name, "reset": True, "idle": None, "solved": None}
    try:
        row["idle"] = play(env, task, [])
    except Exception as error:  # a row says what failed
        return row | {"reset": _reason(error)}
    if solution is not None:
        try:
            row["solved"] = solution(env)
        except Exception as error:
            row["solved"] = _reason(error)
    return row


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0][:160]


def line_of(row: Row) -> str:
    """A row of the table."""
    if row["reset"] is not True:
        return f"| {row['task']} | no: {row['reset']} | not tried | not tried |"
    solved = "not tried" if row["solved"] is None else row["solved"]
    return f"| {row['task']} | yes | {row['idle']:g} | {solved if isinstance(solved, str) else f'{solved:g}'} |"


def main() -> int:
    """Print the table; 1 where a solution did not win or doing nothing did."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[""], help="parts of the names of tasks")
    parser.add_argument("--out", type=Path, default=Path("runs/osworld-tasks.jsonl"))
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in args.out.read_text().splitlines()] if args.out.is_file() else []
    known = {row["task"] for row in rows}
    with OSWorldEnv(200, observation=("accessibility_text",)) as env:
        for name, task, solution in tasks():
            if name in known or not any(part in name for part in args.only):
                continue
            rows.append(tried(env, name, task, solution))
            with args.out.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
            print(line_of(rows[-1]), file=sys.stderr)
    print(f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores")
    print("\n| task | reset works | doing nothing scores | a solution by mouse and keys scores |\n|---|---|---|---|")
    print("\n".join(line_of(row) for row in sorted(rows, key=lambda row: row["task"])))
    good = all(row["reset"] is True and row["idle"] == 0 and row["solved"] in (1, None) for row in rows)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
