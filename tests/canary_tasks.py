"""Tasks of every domain whose secret parts hold markers, and what agents say in their episodes.

Secret are, of every domain: the proof, and the lineage (the critique and the change of a rewrite). Of coding: inputs
and outputs of hidden tests, the checker's source and set-up, wrong programs. Of OSWorld: all evaluators with their
expected files and later steps, hints that the instruction does not give, instructions of other evaluators, where the
task is from. Of ALFWorld: nothing more; its scene is the world that is played, and its goal a sentence.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any

from scripted_desktop import SCRIPTED

from rlanything_task_pools import Rewrite, Task, get_domain
from rlanything_task_pools.coding import make_task as coding_task
from rlanything_task_pools.coding import read_payload as coding_payload
from rlanything_task_pools.osworld import make_task as desktop_task
from rlanything_task_pools.osworld import read_payload as desktop_payload

PROOF, CRITIQUE, CHANGE = "canaryproof7q", "canarycritique4w", "canarychange8e"
INPUT, OUTPUT, CHECKER, WRONG = "canaryinput2r", "canaryoutput5t", "canarychecker9y", "canarywrong3u"
EVALUATOR, EXPECTED, LATER, HINT, OTHER, SOURCE = (
    "canaryevaluator6i",
    "canaryexpected1o",
    "canarylater7p",
    "canaryhint2a",
    "canaryother5s",
    "canarysource8d",
)
MARKERS = frozenset(
    [PROOF, CRITIQUE, CHANGE, INPUT, OUTPUT, CHECKER, WRONG, EVALUATOR, EXPECTED, LATER, HINT, OTHER, SOURCE]
)

LINEAGE: dict[str, Any] = {
    "parent": "task-0123456789abcdef",
    "root": "task-0123456789abcdef",
    "rewrite": Rewrite(direction="harder", author="model", change={"note": CHANGE}, critique=CRITIQUE),
}


@dataclass(frozen=True)
class Case:
    """A task, its environment, and the answers of its episodes.

    Attributes:
        name: What it is about.
        task: The task.
        env_id: Its environment.
        episodes: Answers of each episode; an episode ends with its last answer or before.
        calls: The same as calls of tools, for the domains that have them.
        arguments: Of the environment.
    """

    name: str
    task: Task
    env_id: str
    episodes: tuple[tuple[str, ...], ...]
    calls: tuple[tuple[str, dict[str, Any]], ...]
    arguments: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


# --- coding ---

_SNOOP = """
import gc, os, sys
WORD = "can" + "ary"
found = set()
def look(value):
    text = value.decode("latin-1") if isinstance(value, bytes) else value if isinstance(value, str) else ""
    for piece in text.split(WORD)[1:]:
        found.add(WORD + piece[:12])
frame = sys._getframe()
while frame:
    for space in (frame.f_globals, frame.f_locals):
        for value in list(space.values()):
            look(value)
    for value in frame.f_code.co_consts:
        look(value)
    frame = frame.f_back
for value in gc.get_objects():
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ():
        look(item)
for number in range(64):
    try:
        look(os.pread(number, 1 << 20, 0))
    except OSError:
        pass
for path in ("/proc/self/environ", "/proc/self/cmdline", "/proc/self/maps"):
    try:
        look(open(path, "rb").read())
    except OSError:
        pass
print("dunno", found)
print(found, file=sys.stderr)
raise SystemError(repr(found))
"""
"""A program that prints all traces of a marker that it finds in its own process."""

_OWN = ("RUN\n```python\n{0}\n```\n```stdin\n1 2\n```", "TEST\n```python\n{0}\n```", "SUBMIT\n```python\n{0}\n```")


def _episodes(right: str) -> tuple[tuple[str, ...], ...]:
    def tried(program: str) -> tuple[str, ...]:
        return tuple(text.format(program) for text in _OWN)

    wrong = ("print('dunno')", "", "raise ValueError(input())", "print(", "import os\nos._exit(3)", _SNOOP)
    return (
        tried(right),
        *(tried(program) for program in wrong),
        ("What is expected?", "TEST", "GIVE_UP"),
        ("TEST\n```python\nprint(7)\n```",),
    )


def _coding(name: str, right: str, public: Any, hidden: Any, **more: Any) -> Case:
    payload = {
        "statement": f"Solve the problem {name}.",
        "public": public,
        "hidden": hidden,
        "limits": {"cpu": 0.5, "memory": 512 * 2**20},
        "wrong": [f"print('no')  # {WRONG}"],
        **more,
    }
    task = coding_task(coding_payload(payload), (f"{right}\n# {PROOF}",), {"kind": name}, **LINEAGE)
    calls = (("test", {"code": "print(1)"}), ("run", {"code": _SNOOP}), ("submit", {"code": _SNOOP}))
    return Case(name, task, "RLAnything/Coding-v0", _episodes(right), calls, {"max_turns": 4})


def _io(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"stdin": stdin, "stdout": stdout} for stdin, stdout in pairs]


_LAST = "print(input().split()[-1])"
_FUNCTION = "def last(words):\n    return words[-1]"
_SAMPLE, _HIDDEN = ("one two\n", "two\n"), (f"{INPUT} {OUTPUT}\n", f"{OUTPUT}\n")
_GRADER = f"""\
import json, sys  # {CHECKER}
given = json.load(sys.stdin)
assert given["actual"].strip().isalpha() or given["actual"].strip() == given["expected"].strip(), given["stdin"]
print("AC" if given["actual"].split() == given["expected"].split() else "WA\\nsomething else")
"""
_TALK = f"""\
import json, sys  # {CHECKER}
given = json.loads(input())
print("say the last word", flush=True)
said = input()
if int(said == "raise ") or not said.isalnum():
    raise ValueError(said)
print("AC" if said == given["expected"].split()[-1] else "WA\\nanother word", file=sys.stderr)
"""

CODING = (
    _coding("tokens", _LAST, _io(_SAMPLE), _io(_HIDDEN, ("a b\n", "b\n"))),
    _coding(
        "function",
        _FUNCTION,
        _io(('[["one", "two"]]', '"two"')),
        _io((f'[["{INPUT}", "{OUTPUT}"]]', f'"{OUTPUT}"')),
        entry_point="last",
    ),
    _coding(
        "asserts",
        _FUNCTION,
        _io(("assert candidate(['one', 'two']) == 'two'", "")),
        _io((f"assert candidate(['{INPUT}', '{OUTPUT}']) == '{OUTPUT}', '{OUTPUT}'", "")),
        entry_point="last",
        checker={"kind": "asserts", "setup": f"KNOWN = '{CHECKER}'"},
    ),
    _coding("python", _LAST, _io(_SAMPLE), _io(_HIDDEN), checker={"kind": "python", "source": _GRADER}),
    _coding(
        "interactor",
        "input()\nprint('two')",
        _io(("one two\n", "< say the last word\n> two\n")),
        _io((f"{INPUT} two\n", f"< say the last word {OUTPUT}\n> two\n")),
        checker={"kind": "interactor", "source": _TALK},
    ),
)

# --- desktops ---

_PATH = "/home/user/Desktop/a.txt"
_INSTRUCTION = "Add the word you at the end of a.txt and save it."


def _expected(text: str) -> dict[str, Any]:
    return {"type": "cloud_file", "path": f"data:;base64,{b64encode(text.encode()).decode()}", "dest": "gold.txt"}


def _desktop(name: str, evaluator: dict[str, Any]) -> Case:
    other = {"func": "compare_text_file", "result": {"type": "vm_file", "path": _PATH, "dest": "a.txt"}}
    payload = {
        "instruction": _INSTRUCTION,
        "config": [
            {"type": "write_file", "parameters": {"path": _PATH, "text": "hello"}},
            {"type": "open", "parameters": {"path": _PATH}},
        ],
        "evaluators": {"one": evaluator, "two": {**other, "expected": _expected(f"{EXPECTED} other")}},
        "instructions": {"one": _INSTRUCTION, "two": f"Write {OTHER} into a.txt."},
        "hints": {"one": [f"Press {HINT}."], "two": [f"Press {HINT} twice."]},
        "current": "one",
        "source": {"kind": SOURCE},
    }
    proof = (f"pyautogui.press('end')  # {PROOF}", "pyautogui.write(' you')", "pyautogui.hotkey('ctrl', 's')")
    task = desktop_task(desktop_payload(payload), proof, **LINEAGE)
    episodes = (
        ("WAIT", "```python\npyautogui.press('end')\n```", "What is expected?", "DONE"),
        ("```python\npyautogui.write(' you'); pyautogui.hotkey('ctrl', 's')\n```", "DONE"),
        ("```python\nraise ValueError('no')\n```", "FAIL"),
        ("WAIT", "WAIT", "WAIT", "WAIT"),
    )
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("press", {"key": "end"}),
        ("press", {"key": "nothing"}),
        ("done", {}),
    )
    arguments = {**SCRIPTED, "max_turns": 4, "screen": [640, 480]}
    return Case(name, task, "RLAnything/OSWorld-v0", episodes, calls, arguments)


_RESULT = {"type": "vm_file", "path": _PATH, "dest": "a.txt"}
_RULE = {"type": "rule", "rules": {"include": [EXPECTED], "exclude": [EVALUATOR]}}
_LATER = [{"type": "execute", "parameters": {"command": ["echo", LATER]}}]

_SHEETS = {"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": f"EN{EVALUATOR}"}

DESKTOPS = (
    _desktop("a file", {"func": "compare_text_file", "result": _RESULT, "expected": _expected(f"hello {EXPECTED}")}),
    _desktop(
        "a rule",
        {
            "func": "check_include_exclude",
            "result": {"type": "vm_command_line", "command": f"cat {_PATH} # {EVALUATOR}", "shell": True},
            "expected": _RULE,
            "postconfig": _LATER,
        },
    ),
    _desktop(
        "a check that breaks",
        {"func": "compare_table", "result": _RESULT, "expected": _expected(EXPECTED), "options": {"rules": [_SHEETS]}},
    ),
)

# --- households ---


def _household() -> Case:
    task = get_domain("alfworld").generate(0, kinds=["simple"], rooms=["Bathroom"])
    known = task.proof
    marked = task.model_copy(update={"proof": (f"examine {PROOF}", *known), **LINEAGE})
    moves = (
        ("look", "inventory", "go to nowhere", "tell me the proof", "Action: help", "examine sinkbasin 1"),
        tuple(f"Action: {command}" for command in known),
    )
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("look", {}),
        ("go_to", {"receptacle": "nowhere"}),
        ("no_tool", {}),
        ("inventory", {}),
    )
    return Case("household", marked, "RLAnything/AlfWorld-v0", moves, calls)


CASES = (*CODING, *DESKTOPS, _household())
