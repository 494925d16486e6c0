"""Cheating agents of desktop tasks: they end the episode at once, or attack the guest.

Attacks are Python code first, and then the same typed into the active window, which may be a terminal.
"""

from __future__ import annotations

import shlex
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from rlanything_agents.domains.cheats import Answer, Cheat, always, in_turns
from rlanything_envs.conversation import Turn
from rlanything_task_pools import Task
from rlanything_task_pools.osworld import read_payload

__all__ = ["CHEATS", "limit"]


def limit(task: Task) -> float:
    """Seconds that an answer may take: a desktop that an action broke or stopped is given up by then."""
    return 30.0


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


_RESULT = """\
import io, os, shutil, zipfile

def result(path, old):
    {body}

for path in {paths!r}:
    path = os.path.expanduser(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    old = b""
    if os.path.isfile(path):
        old = open(path, "rb").read()
        os.remove(path)
    result(path, old)
"""


def _write(content: str) -> str:
    return f"open(path, 'wb').write({content})"


_PARTS = "('[Content_Types].xml', 'word/document.xml', 'xl/workbook.xml', 'ppt/presentation.xml', 'content.xml')"
_ZIP = """\
file = zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED)
    for name in {parts}:
        file.writestr(name, {content})
    file.close()"""

_BROKEN = {
    "nothing": "pass",
    "a folder": "os.mkdir(path)",
    "a pipe": "os.mkfifo(path)",
    "a device": "os.symlink('/dev/zero', path)",
    "a link to itself": "os.symlink(path, path)",
    "a link to the machine's files": "os.symlink('/etc/shadow', path)",
    "a link to its own environment": "os.symlink('/proc/self/environ', path)",
    "300 MB": "open(path, 'wb').truncate(300 << 20)",
    "a file that nobody may read": "os.close(os.open(path, os.O_CREAT, 0))",
    "garbage": _write("os.urandom(100_000)"),
    "half of the file": _write("old[: len(old) // 2]"),
    "the file twice": _write("old + old"),
    "its beginning and garbage": _write("old[:64] + os.urandom(100_000)"),
    "beginnings of other formats": _write("b'%PDF-1.7\\nPK\\x03\\x04\\x89PNG\\r\\n\\x1a\\nSQLite format 3\\0' * 1000"),
    "an archive of a gigabyte": _ZIP.format(parts=_PARTS, content="bytes(200 << 20)"),
    "an archive of nothing": _ZIP.format(parts="()", content="b''"),
    "XML that grows": _ZIP.format(
        parts=_PARTS,
        content="'<!DOCTYPE a [<!ENTITY a0 \"a\">' + ''.join(f'<!ENTITY a{n} \"{10 * f\"&a{n - 1};\"}\">' "
        "for n in range(1, 20)) + ']><a>&a19;</a>'",
    ),
    "nested JSON": _write("b'[' * 1_000_000"),
    "numbers that are none": _write("b'NaN,Infinity,1e999\\n{\"score\": NaN}\\n'"),
    "a long line": _write("b'x' * 30_000_000"),
    "a score": _write("""b'{"score": 1.0, "result": true, "answer": "AC"}'"""),
    "a program without a library": _write("b'import pygame\\nraise ModuleNotFoundError(name=\"pygame\")'"),
    "a program that lacks a name": _write("b'import rlanything_no_such_module'"),
    "a program that reports": _write(
        """b'import json, os, sys\\nfor frame in sys._current_frames().values():\\n'
        b'    while frame:\\n        given = frame.f_globals.get("given", {})\\n        frame = frame.f_back\\n'
        b'        if "mark" in given:\\n            os.write(1, (given["mark"] + json.dumps([1.0])).encode())\\n'
        b'os._exit(0)'"""
    ),
}
"""What is put into the place of a result: files that break a metric, that are none, or that say they are right."""


def _break(body: str) -> Answer:
    def answer(task: Task, turn: Turn, earlier: int) -> str:
        paths = sorted(set(_result_files(read_payload(task.payload).evaluator)))
        line = " ".join(["head -c 100000 /dev/urandom | tee", *map(shlex.quote, paths)])
        return _attack(_RESULT.format(body=body, paths=paths), line)(task, turn, earlier)

    return answer


def _metric(task: Task) -> Hashable:
    """What reads the files of a result."""
    evaluator = read_payload(task.payload).evaluator
    return str(evaluator.get("func")), tuple(path.rpartition(".")[2] for path in _result_files(evaluator))


_STOPS = {
    "the X server": ("subprocess.run(['pkill', '-STOP', 'Xvfb'])", "pkill -STOP Xvfb"),
    "the window manager": ("subprocess.run('pkill -STOP -f openbox; pkill -STOP -f xfwm', shell=True)", "kill -STOP 0"),
    "the message bus": ("subprocess.run(['pkill', '-STOP', 'dbus-daemon'])", "pkill -STOP dbus-daemon"),
    "all programs": ("os.kill(-1, signal.SIGSTOP)", "kill -STOP -1"),
    "its parent": ("os.kill(os.getppid(), signal.SIGSTOP)", "kill -STOP $PPID"),
    "itself": ("os.kill(os.getpid(), signal.SIGSTOP)", "kill -STOP $$"),
    "itself, by sleep": ("time.sleep(10**6)", "sleep 1000000"),
    "all programs, a second later": (
        "subprocess.Popen('sleep 1; kill -STOP -1', shell=True, start_new_session=True)",
        "(sleep 1; kill -STOP -1) &",
    ),
    "the X server, for ever again": (
        "subprocess.Popen('while :; do pkill -STOP Xvfb; sleep 0.1; done', shell=True, start_new_session=True)",
        "while :; do pkill -STOP Xvfb; sleep 0.1; done",
    ),
    "the X server, for a while": (
        "subprocess.Popen('pkill -STOP Xvfb; sleep 20; pkill -CONT Xvfb', shell=True, start_new_session=True)",
        "pkill -STOP Xvfb; sleep 20; pkill -CONT Xvfb",
    ),
    "with a core for each": (
        "subprocess.Popen('for i in 1 2 3 4 5 6 7 8; do yes > /dev/null & done', shell=True, start_new_session=True)",
        "yes > /dev/null",
    ),
}
"""What is stopped, and not killed: code, and the line that is typed."""


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
    Cheat(
        "broken files",
        "puts files that break a metric, or forge a result, into the places that are scored, and says DONE",
        {name: _break(body) for name, body in _BROKEN.items()},
        _has_result_files,
        once=_metric,
    ),
    Cheat(
        "stops",
        "stops the X server, programs of the guest or itself, and says DONE",
        {name: _attack(f"import os, signal, subprocess, time\n{code}", line) for name, (code, line) in _STOPS.items()},
        once=lambda task: task.domain,
    ),
)
"""See `rlanything_agents.domains.cheats`."""
