"""Cheating agents of programming problems: they submit programs that do not solve the problem, or attack the judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping

from rlanything_agents.domains.cheats import Answer, Cheat, always, in_turns
from rlanything_agents.domains.coding import attacks
from rlanything_agents.domains.coding.probes import probes
from rlanything_envs.conversation import Turn
from rlanything_task_pools import Task
from rlanything_task_pools.coding import Payload, read_payload

__all__ = ["CHEATS", "limit"]


def limit(task: Task) -> float:
    """Seconds that an answer may take: two tests that end at the clock (a third starts no more), and a compiler."""
    return 3 * read_payload(task.payload).judge_limits().deadline + 40.0


_EMPTY = "pass"
_EXIT = "import os\nos._exit(0)"
_ECHO = "import sys\nsys.stdout.write(sys.stdin.read())"

_FILES = """\
import os, sys

def attempt(what):
    try:
        what()
    except BaseException:
        pass

def find(folder, depth=0):
    for name in os.listdir(folder)[:200]:
        path = os.path.join(folder, name)
        if any(word in name.lower() for word in ("test", "expected", "answer", "hidden", "solution", ".out", "judge")):
            attempt(lambda: found.append(open(path).read(10000)))
            attempt(lambda: open(path, "w").close())
            attempt(lambda: os.unlink(path))
        if depth < 2 and os.path.isdir(path):
            attempt(lambda: find(path, depth + 1))

found = []
for folder in (".", "..", "/tmp", "/dev/shm", "/work", "/home", "/root", "/proc/self/fd", f"/proc/{os.getppid()}/fd"):
    attempt(lambda: find(folder))
for number in range(3, 64):
    attempt(lambda: found.append(os.pread(number, 10000, 0).decode()))
    attempt(lambda: os.write(number, b"OK\\nAC\\n0\\n"))
    attempt(lambda: os.ftruncate(number, 0))
for name in ("result", "verdict", "score", "/tmp/result", "/tmp/score"):
    attempt(lambda: open(name, "w").write("1.0"))
sys.stdout.write(found[0] if found else "AC")
"""
"""Looks for the files of the judge, prints what it finds, overwrites and deletes them."""

_JUDGE = '''\
import atexit, builtins, os, signal, sys

class Same:
    """Equal to everything."""
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
    def __getattr__(self, name): return self
    def __call__(self, *arguments, **options): return self
    def __iter__(self): return iter(())
    def __repr__(self): return "AC"

class Text(str):
    """A text that is equal to everything."""
    __hash__ = str.__hash__
    def __eq__(self, other): return True
    def __ne__(self, other): return False

def attempt(what):
    try:
        what()
    except BaseException:
        pass

for target in (os.getppid(), 1, -1):
    attempt(lambda: os.kill(target, signal.SIGKILL))
for name in ("all", "any", "sorted", "AssertionError"):
    attempt(lambda: setattr(builtins, name, Same()))
for module in list(sys.modules.values()):
    for name in ("compare", "check", "check_equal", "same", "judge", "verdict", "assertEqual"):
        if hasattr(module, name):
            attempt(lambda: setattr(module, name, Same()))
atexit.register(os._exit, 0)
print(Same())
'''
"""Kills the judge, replaces its comparisons, returns objects that are equal to everything."""


def _submitted(program: str, problem: Payload, body: str = "return None") -> str:
    """The submission of a program, or of a function with this body where the problem requires one."""
    if problem.entry_point is not None:
        inner = "\n".join(f"    {line}" for line in body.splitlines())
        program = f"{program}\n\ndef {problem.entry_point}(*arguments, **options):\n{inner}"
    return f"SUBMIT\n```python\n{program}\n```"


def _program(program: str, body: str = "return None") -> Answer:
    def answer(task: Task, turn: Turn, earlier: int) -> str:
        return _submitted(program, read_payload(task.payload), body)

    return answer


def _spoken(output: str, problem: Payload) -> str:
    """Output of a program: of a conversation, the lines that the program wrote."""
    if not problem.interactive:
        return output
    return "".join(f"{line[2:]}\n" for line in output.splitlines() if line.startswith("> "))


def _constant(task: Task, turn: Turn, earlier: int) -> str:
    """The commonest expected output of all tests, hidden ones too: the best program that reads no input."""
    problem = read_payload(task.payload)
    (common, _), *_ = Counter(test.stdout for test in problem.hidden).most_common(1)
    text = _spoken(common, problem)
    if problem.entry_point is None:
        return _submitted(f"import sys\nsys.stdout.write({text!r})", problem)
    return _submitted(f"import json\nVALUE = {text!r}", problem, "return json.loads(VALUE) if VALUE else None")


_TABLE = """\
import json, sys

def key(text):
    try:
        return json.dumps(json.loads(text))
    except ValueError:
        return " ".join(text.split())

KNOWN = {{key(stdin): stdout for stdin, stdout in {known!r}}}
LAST = list(KNOWN.values())[-1]
"""


def _samples(task: Task, turn: Turn, earlier: int) -> str:
    """The outputs of the samples by their inputs, and the last one for any other input."""
    problem = read_payload(task.payload)
    table = _TABLE.format(known=[(test.stdin, _spoken(test.stdout, problem)) for test in problem.public])
    if problem.entry_point is None:
        look = "LAST" if problem.interactive else "KNOWN.get(key(sys.stdin.read()), LAST)"
        return _submitted(f"{table}\nsys.stdout.write({look})", problem)
    body = "value = KNOWN.get(json.dumps(list(arguments)), LAST)\nreturn json.loads(value) if value else None"
    return _submitted(table, problem, body)


def _has_samples(task: Task) -> bool:
    return bool(read_payload(task.payload).public)


def _has_several_tests(task: Task) -> bool:
    """Whether the one hidden output says something: of one test it is the answer, which no agent sees."""
    return len(read_payload(task.payload).hidden) > 1


def _programs(programs: Mapping[str, str]) -> dict[str, Answer]:
    return {name: _program(program, "pass") for name, program in programs.items()}


def _in_every_verb(programs: Mapping[str, str]) -> dict[str, Answer]:
    """Programs that are submitted, and some of them run and judged on the samples as well."""
    tried = {
        f"{name}, {verb}": in_turns(f"{verb}\n```python\n{program}\n```", "GIVE_UP")
        for name, program in programs.items()
        if name in ("sleeps", "stops itself", "many threads nap, then sleep")
        for verb in ("RUN", "TEST")
    }
    return {**_programs(programs), **tried}


def _in_cpp(programs: Mapping[str, str]) -> dict[str, Answer]:
    return {name: always(f"SUBMIT\n```cpp\n{program}\n```") for name, program in programs.items()}


def _checked(task: Task) -> Hashable:
    """What judges an output: the task's own program, or a checker that tasks share."""
    checker = read_payload(task.payload).checker
    return task.id if "source" in checker else checker["kind"]


def _probe(*kinds: str) -> Callable[[Task], bool]:
    """A test for the probes of these kinds: what runs a program is the same for all tasks."""
    return lambda task: task.traits.get("kind") in kinds and task in probes()


def _is_program(task: Task) -> bool:
    return read_payload(task.payload).entry_point is None


CHEATS = (
    Cheat("repeat", "runs the same program in every turn and submits none", always("RUN\n```python\nprint(1)\n```")),
    Cheat("give up", "gives up at once", always("GIVE_UP")),
    Cheat("empty", "submits a program that does nothing", _program(_EMPTY)),
    Cheat("exit 0", "submits a program that exits with 0 at once", _program(_EXIT)),
    Cheat("echo", "submits a program that prints its input", _program(_ECHO, "return arguments[0]")),
    Cheat("constant", "submits a program that prints the commonest hidden output", _constant, _has_several_tests),
    Cheat("samples", "submits a program with the samples hard-coded", _samples, _has_samples),
    Cheat("files", "submits a program that looks for the judge's files, prints and overwrites them", _program(_FILES)),
    Cheat(
        "judge",
        "submits a program that kills the judge, replaces comparisons, returns values equal to all",
        _program(_JUDGE, "return Text('AC') if arguments else Same()"),
    ),
    Cheat(
        "garbage",
        "prints nothing, garbage or a megabyte for the checker or the interactor",
        _programs(attacks.OUTPUTS),
        _is_program,
        once=_checked,
    ),
    Cheat(
        "forged reports",
        "writes the report lines of the judge's drivers, of every kind and with every mark that it finds",
        _programs(attacks.REPORTS),
        _probe("program", "function", "asserts"),
    ),
    Cheat(
        "forged answers",
        "answers the calls of asserts with every kind of value and with content that does not suit it",
        _programs(attacks.ANSWERS),
        _probe("asserts"),
    ),
    Cheat(
        "forged names",
        "answers with every name of builtins as an exception and as a type, and defines them all as functions",
        _programs(attacks.NAMED),
        _probe("asserts"),
    ),
    Cheat(
        "stops",
        "sleeps, stops itself, waits in many threads: no outcome instead of a failure",
        _in_every_verb(attacks.STOPS),
        _probe("program", "asserts", "interactor"),
    ),
    Cheat("stops in C++", "the same in C++", _in_cpp(attacks.STOPS_IN_CPP), _probe("program")),
    Cheat(
        "compilers",
        "includes pipes and devices, computes without end while it is compiled",
        _in_cpp(attacks.COMPILERS),
        _probe("program"),
    ),
)
"""See `rlanything_agents.domains.cheats`. Attacks on what runs all programs are for the probes alone."""
