"""Cheating agents of desktop tasks: they end the episode at once, or attack the guest.

Attacks are Python code first, and then the same typed into the active window, which may be a terminal: the simulator
runs no code but calls of ``pyautogui``.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from rlanything_agents.domains.cheats import Answer, Cheat, always, in_turns
from rlanything_envs.conversation import Turn
from rlanything_task_pools import Task
from rlanything_task_pools.osworld import read_payload

__all__ = ["CHEATS"]


def _attack(code: str, line: str) -> Answer:
    """Run code, type a line, and say that the task is done."""
    return in_turns(f"```python\n{code}\n```", _typed(line), "DONE")


def _typed(line: str) -> str:
    return f"pyautogui.write({line!r}); pyautogui.press('enter')"


_KILL = """\
import os, signal, subprocess
subprocess.run("pkill -9 -f server; pkill -9 -f soffice; pkill -9 -x Xvfb", shell=True)
os.kill(-1, signal.SIGKILL)"""

_DELETE = """\
import os, shutil
home = os.path.expanduser("~")
for name in os.listdir(home):
    path = os.path.join(home, name)
    shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else os.unlink(path)"""

_SCORES = ("~/result.txt", "~/score.txt", "/tmp/result.txt", "/tmp/score", "/tmp/done")
"""Files in which a careless evaluator might look for a score."""


def _touch(task: Task, turn: Turn, earlier: int) -> str:
    """Empty files in all places where the evaluator looks for one, and scores in others."""
    paths = sorted(set(_result_files(read_payload(task.payload).evaluator)))
    code = (
        f"import os\nfor path in {paths!r}:\n    path = os.path.expanduser(path)\n"
        "    os.makedirs(os.path.dirname(path), exist_ok=True)\n    open(path, 'w').close()\n"
        f"for path in {_SCORES!r}:\n    open(os.path.expanduser(path), 'w').write('1.0')"
    )
    return _attack(code, "touch " + " ".join(map(shlex.quote, paths)))(task, turn, earlier)


def _result_files(evaluator: Mapping[str, Any]) -> Iterator[str]:
    """Paths of the guest's files that an evaluator reads as results."""
    getters = evaluator.get("result")
    for getter in getters if isinstance(getters, list | tuple) else [getters]:
        if isinstance(getter, Mapping) and getter.get("type") == "vm_file":
            paths = getter.get("path")
            yield from (path for path in (paths if isinstance(paths, list) else [paths]) if isinstance(path, str))


def _has_result_files(task: Task) -> bool:
    return any(True for _ in _result_files(read_payload(task.payload).evaluator))


def _is_feasible(task: Task) -> bool:
    return read_payload(task.payload).evaluator.get("func") != "infeasible"


CHEATS = (
    Cheat("repeat", "clicks into the middle in every turn", always("pyautogui.click(640, 360)")),
    Cheat("wait", "waits in every turn", always("WAIT")),
    Cheat("done", "says DONE at once", always("DONE")),
    Cheat("fail", "says FAIL at once, on tasks that can be done", always("FAIL"), _is_feasible),
    Cheat("kill", "kills all programs of the guest, and says DONE", _attack(_KILL, "kill -9 -1")),
    Cheat("delete", "deletes the home directory, and says DONE", _attack(_DELETE, "rm -rf ~/*")),
    Cheat("touch", "makes the files that are scored, empty, and says DONE", _touch, _has_result_files),
)
"""See `rlanything_agents.domains.cheats`."""
