"""Which desktop tasks work: reset, full score by a scripted solution, nothing for doing nothing.

``python -m benchmarks.osworld_tasks`` plays one task of each generated kind, and the published ones of OSWorld that are
at hand and need no download, on the real desktop. A solution sends keys and clicks through the environment, as an agent
does: that of a generated task is its own oracle's, those of published tasks are in `benchmarks.osworld_solutions`.
Published tasks without one are reset and scored untouched. Each row is written to ``--out`` at once, and a run that was
ended goes on behind it.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.osworld_solutions import PUBLISHED, Line, data_folders, play
from rlanything_envs.osworld.env import OSWorldEnv
from rlanything_task_pools import Task
from rlanything_task_pools.osworld import generate, keys, load, read_payload
from rlanything_task_pools.osworld.generate import HELD_OUT
from rlanything_task_pools.osworld.kinds import KINDS

Row = dict[str, Any]


def tasks(seed: int) -> Iterator[tuple[str, Task, Sequence[Line] | None]]:
    """Name, task and the actions that solve it; None where no solution is written down."""
    for kind in KINDS:
        task = generate(seed, "valid_unseen" if kind in HELD_OUT else "train", kinds=kind)
        yield kind, task, keys(task)
    for path in sorted(path for folder in data_folders() for path in folder.glob("*/*.json")):
        name = f"{path.parent.name}/{path.stem[:8]}"
        task = load(path)
        if read_payload(task.payload).evaluator["func"] == "infeasible":
            yield f"{name} (infeasible)", task, ["FAIL"]
        else:
            yield name, task, PUBLISHED[name][2] if name in PUBLISHED else None


def tried(env: OSWorldEnv, name: str, task: Task, lines: Sequence[Line] | None) -> Row:
    """What became of a task: ``reset``, ``idle`` and ``solved`` are scores or reasons; None where nothing was tried."""
    row: Row = {"task": name, "idle": None, "solved": None, "actions": None if lines is None else len(lines)}
    try:
        row["idle"] = play(env, task, [])
    except Exception as error:  # a row says what failed
        return row | {"reset": f"{type(error).__name__}: {error}"[:200]}
    row["reset"] = True
    if lines is not None:
        try:
            row["solved"] = play(env, task, lines)
        except Exception as error:
            row["solved"] = f"{type(error).__name__}: {error}"[:200]
    return row


def line_of(row: Row) -> str:
    """A row of the table."""
    if row["reset"] is not True:
        return f"| {row['task']} | no: {row['reset']} | | |"
    solved = "not tried" if row["solved"] is None else row["solved"]
    by = "" if row["actions"] is None else f" ({row['actions']} actions)"
    score = f"{solved:g}{by}" if isinstance(solved, float) else solved
    return f"| {row['task']} | yes | {row['idle']:g} | {score} |"


def main() -> int:
    """Print the table; 1 where a solution did not win or doing nothing did."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[""], help="parts of the names of tasks")
    parser.add_argument("--out", type=Path, default=Path("runs/osworld-tasks.jsonl"))
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in args.out.read_text().splitlines()] if args.out.is_file() else []
    known = {row["task"] for row in rows}
    with OSWorldEnv(200, observation=("screenshot",)) as env:
        for name, task, lines in tasks(args.seed):
            if name in known or not any(part in name for part in args.only):
                continue
            rows.append(tried(env, name, task, lines))
            with args.out.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
            print(line_of(rows[-1]), file=sys.stderr)
    print(f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores")
    print("\n| task | reset works | doing nothing scores | keys and clicks of the solution score |\n|---|---|---|---|")
    print("\n".join(map(line_of, rows)))
    good = all(row["reset"] is True and row["idle"] == 0 and row["solved"] in (1, None) for row in rows)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
