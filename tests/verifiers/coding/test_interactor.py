"""Interactive judging: what two connected programs do to each other, and whose fault it is."""

import sys
import time
from pathlib import Path

import pytest

from rlanything_verifiers.coding import (
    Job,
    JudgeError,
    Judgement,
    Limits,
    Sandbox,
    SandboxUnsupported,
    check_job,
    judge,
    judge_many,
    parse_checker,
)
from rlanything_verifiers.coding.checkers import Interactor, interactor
from rlanything_verifiers.coding.checkers.interactor import ruling
from rlanything_verifiers.coding.sandbox import Interaction, Run

if sys.platform != "linux":
    pytest.skip("worker processes need Linux", allow_module_level=True)

# A number from 1 to n is to be found with q questions "? k"; the answer is "! k".
GUESS = """
import json, sys
test = json.loads(sys.stdin.readline())
n, q, secret = map(int, test["stdin"].split())
print(n, q, flush=True)
def end(word, why=""):
    print(word, why, sep="\\n", file=sys.stderr)
    sys.exit()
for turn in range(q + 1):
    line = sys.stdin.readline()
    if not line:
        end("WA", "no answer")
    words = line.split() if len(line) < 100 else []
    if len(words) != 2 or words[0] not in ("?", "!") or not (words[1].isascii() and words[1].isdigit()):
        end("WA", "protocol")
    k = int(words[1])
    if words[0] == "!":
        end("AC") if k == secret else end("WA", f"{k} is wrong")
    if turn == q:
        end("WA", "too many questions")
    print("LESS" if secret < k else "NOT LESS", flush=True)
"""
RIGHT = """
n, q = map(int, input().split())
low, high = 1, n
while low < high:
    middle = (low + high + 1) // 2
    print("?", middle, flush=True)
    if input() == "LESS":
        high = middle - 1
    else:
        low = middle
print("!", low)
"""
TESTS = [("100 7 33", ""), ("1000000 20 999999", ""), ("5 3 5", "")]
QUICK = Limits(cpu=0.5, wall=0.8)
PATIENT = Limits(cpu=2.0, wall=60.0)


def talk(box: Sandbox, program: str, interactor: str = GUESS, limits: Limits = PATIENT, tests=None) -> Judgement:  # type: ignore[no-untyped-def]
    checker = {"kind": "interactor", "source": interactor}
    return judge(program, tests or TESTS[:1], checker=checker, limits=limits, sandbox=box)


def test_a_right_program_passes_every_test(box: Sandbox) -> None:
    judgement = talk(box, RIGHT, tests=TESTS)
    assert judgement.verdicts == ("AC", "AC", "AC"), judgement.details
    assert all(0 < seconds < 2 for seconds in judgement.cpu)
    assert not any(judgement.details)


FAULTS = {
    "wrong answer": ("input()\nprint('! 4')", "WA", "4 is wrong\n< 100 7\n> ! 4"),
    "protocol": ("input()\nprint('is it 4')", "WA", "protocol"),
    "no text": ("import os\nos.write(1, b'\\xff\\xfe\\n')", "WA", "protocol"),
    "long number": ("print('!', '9' * 500000)", "WA", "protocol"),
    "too many questions": ("input()\nwhile 1:\n    print('? 1', flush=True)\n    input()", "WA", "too many"),
    "early end": ("pass", "WA", "no answer"),
    "early crash": ("input()\n1 / 0", "RE", "ZeroDivisionError"),
    "crash after the answer": ("input()\nprint('! 33', flush=True)\nimport time\ntime.sleep(.3)\n1 / 0", "RE", "Zero"),
    "flood without reading": ("import os\nwhile 1: os.write(1, b'x' * 65536)", "OLE", "1048576 bytes"),
    "flood after the answer": (
        "import os\nprint('! 33', flush=True)\nwhile 1: os.write(1, b'x' * 65536)", "OLE", "1048576 bytes"
    ),
    "standard error": ("import os\nwhile 1: os.write(2, b'x' * 65536)", "OLE", ""),
    "no program": ("print(", "CE", "never closed"),
    "memory": ("x = [0] * 10**9", "MLE", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_faults_of_the_program(box: Sandbox, name: str) -> None:
    program, verdict, reason = FAULTS[name]
    judgement = talk(box, program)
    assert judgement.verdicts == (verdict,), judgement.details
    assert reason in judgement.details[0]
    assert judgement.outcome is False
    assert talk(box, RIGHT).passed


@pytest.mark.parametrize(
    ("program", "verdict"),
    [
        ("import sys\ninput()\nsys.stdout.write('? 3\\n')\nsys.stdin.readline()", "TLE_WALL"),  # never flushed
        ("while True: input()", "TLE_WALL"),  # each waits for the other
        ("import os\nos.close(1)\nwhile True: input()", "TLE_WALL"),  # an end of the output is no end of the program
        ("while True: pass", "TLE"),
    ],
)
def test_a_program_that_does_not_end(box: Sandbox, program: str, verdict: str) -> None:
    limits = Limits(cpu=0.3, wall=60.0) if verdict == "TLE" else QUICK
    assert talk(box, program, limits=limits).verdicts == (verdict,)


BROKEN = {
    "crash": "1 / 0",
    "no verdict": "pass",
    "no program": "(",
    "flood": "while True: print('1' * 1000, flush=True)",
    "endless": "input()\nwhile True: pass",
}


@pytest.mark.parametrize("name", BROKEN)
def test_faults_of_the_interactor_are_nobody_else_s(box: Sandbox, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interactor, "CHECKER_LIMITS", Limits(cpu=0.5))
    judgement = talk(box, RIGHT, BROKEN[name])
    assert (judgement.verdicts, judgement.outcome, judgement.passed) == (("IE",), None, False), judgement.details
    assert "the interactor" in (judgement.error or "")


def test_an_interactor_that_fails_on_one_test_judges_the_others(box: Sandbox) -> None:
    judgement = talk(box, RIGHT, tests=[TESTS[0], ("no number", ""), TESTS[2]])
    assert judgement.verdicts == ("AC", "IE", "AC")
    assert judgement.outcome is None


def test_a_slow_interactor_makes_no_test_slow(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interactor, "CHECKER_LIMITS", Limits(cpu=0.3))
    slow = "if 'slow' in input():\n    while True: pass"
    judgement = talk(box, RIGHT, slow, tests=[("slow", ""), TESTS[0], TESTS[1]])
    assert (judgement.verdicts, judgement.outcome) == (("IE",) * 3, None), judgement.details


QUOTING = """
import sys
input()
said = sys.stdin.read()
print("AC" if said.startswith("42") else "WA", said, sep="\\n", file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("program", "verdict"), [("print('42' * 9000)", "AC"), (r"print('x' * 200 + '\nAC\n' + 'y' * 8185)", "WA")]
)
def test_the_verdict_is_the_first_line_however_much_is_quoted(box: Sandbox, program: str, verdict: str) -> None:
    assert talk(box, program, QUOTING, tests=[("", "")]).verdicts == (verdict,)


# An interactor as people write them: it reads a number and believes it.
NAIVE = """
import json, sys
n = int(json.loads(input())["stdin"])
print(n, flush=True)
k = int(input())
while k < 0: k -= 1
words = ["x" * 10**6] * k
for _ in range(k): print(words[0], flush=True)
print("AC" if k == n + 1 else "WA", file=sys.stderr)
"""
STUMBLING = {
    "garbage": "print('dunno')",
    "nothing": "pass",
    "a megabyte": "print('9' * 10**6)",
    "bytes": "import os\nos.write(1, b'\\xff\\n')",
    "too slow": "print(-1)",
    "too slow, and waits": "print(-1, flush=True)\ninput()\ninput()",
    "memory": "print(10**11)",
    "a flood, and waits": "print(10**4, flush=True)\nimport time\ntime.sleep(60)",
}


@pytest.mark.parametrize("name", STUMBLING)
def test_a_program_that_breaks_the_interactor_is_wrong(
    box: Sandbox, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interactor, "CHECKER_LIMITS", Limits(cpu=1.0))
    began = time.monotonic()
    judgement = talk(box, STUMBLING[name], NAIVE, limits=QUICK, tests=[("7", "")] * 4)
    assert judgement.outcome is False, judgement
    assert "IE" not in judgement.verdicts
    assert time.monotonic() - began < 60
    assert talk(box, "print(int(input()) + 1)", NAIVE, tests=[("0", "")]).passed


SLEEP = "import time\ntime.sleep(60)\n"
ANSWER = "import os\nprint(int(input()) + 1, flush=True)\n"
#: What a program may do to its streams, and where it may leave the conversation.
CONVERSATIONS = {
    "a verdict on its own error stream": "import os\nos.write(2, b'AC\\n')\nprint(0)",
    "no output any more": "import os\nos.close(1)\ninput()\ninput()",
    "no input any more": "import os\nos.close(0)\nprint(1)",
    "no streams": "import os\nos.close(0)\nos.close(1)\n" + SLEEP,
    "half a line": "import os\nos.write(1, b'1')\n" + SLEEP,
    "half a line, and an end": "import os\nos.write(1, b'1')\nos._exit(0)",
    "half a character": "import os\nos.write(1, b'1\\xf0\\x9f')\nos._exit(0)",
    "zeros": "import os\nos.write(1, b'\\0' * 1000)",
    "lines without text": "import os\nos.write(1, b'\\n' * 900_000)",
    "exactly the limit": "import os\nleft = 1 << 20\nwhile left: left -= os.write(1, b'9' * left)",
    "more than the limit": "import os\nwhile 1: os.write(1, b'9' * 70_000)",
    "both wait": "input()\ninput()",
    "the right number, and a signal": ANSWER + "os.kill(os.getpid(), 9)",
    "input as output": "import os\nos.dup2(0, 1)\nos.write(1, b'8\\n')",
    "output as input": "import os\nos.read(1, 5)",
    "error stream as output": "import os\nos.dup2(2, 1)\nprint(8)",
    "streams opened again": "import os\nfor n in 0, 1: os.write(os.open(f'/proc/self/fd/{n}', os.O_WRONLY), b'8\\n')",
    "streams that do not wait": "import os\nos.set_blocking(0, False)\nos.set_blocking(1, False)\nos.write(1, b'5\\n')",
    "packets": "import fcntl, os\nfcntl.fcntl(1, fcntl.F_SETFL, os.O_DIRECT)\nfor _ in range(9999): os.write(1, b'1')",
    "a large pipe": "import fcntl, os\nfcntl.fcntl(1, 1031, 1 << 20)\nos.write(1, b'5\\n' * 9)",
    "the opening line": 'print(\'{"stdin": "1", "expected": ""}\', flush=True)\nprint(8)',
}


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_no_way_to_leave_a_conversation_is_an_error_of_the_judge(box: Sandbox, name: str) -> None:
    began = time.monotonic()
    judgement = talk(box, CONVERSATIONS[name], NAIVE, limits=QUICK, tests=[("7", "")])
    assert "IE" not in judgement.verdicts, judgement
    assert judgement.outcome is False or name == "the right number, and a signal", judgement
    assert time.monotonic() - began < 60


def test_an_interactor_that_stumbles_leaves_the_verdict_on_the_program() -> None:
    slow, busy = Run("TLE_WALL"), Run("TLE", detail="10 s")
    assert ruling(Interaction(slow, busy, "program"))[::2] == ("TLE_WALL", True)
    assert ruling(Interaction(slow, Run("OK", stderr=b"WA\n"), "program"))[::2] == ("TLE_WALL", False)
    assert ruling(Interaction(slow, Run("OK", stderr=b"WA\n"), "interactor"))[::2] == ("WA", False)
    assert ruling(Interaction(Run("OK"), Run("OK", stderr=b"?\n"), "program"))[::2] == ("WA", True)


def test_an_interactor_may_leave_the_end_of_the_input_to_python(box: Sandbox) -> None:
    judgement = talk(box, "print('hello')", "import json\njson.loads(input())\ninput()\ninput()")
    assert judgement.verdicts == ("WA",)
    assert "ended before the conversation did" in judgement.details[0]


# What a program could try to read of the interactor: its own streams from the other side, other descriptors, other
# processes, what is left in memory.
SPY = """
import gc, os, sys
found = []
def look(data):
    if b"SECRET" in data or b"4711" in data:
        found.append(data[:40])
os.set_blocking(0, False)
for fd in range(64):
    try:
        look(os.read(fd, 65536))
    except OSError:
        pass
for name in ("/proc/self/fd/0", "/proc/self/fd/1", "/dev/stdout", "/dev/fd/1"):
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
        look(os.read(fd, 65536))
    except OSError:
        pass
try:
    for pid in os.listdir("/proc"):
        for part in ("environ", "cmdline", "fd/0", "fd/1", "fd/2", "mem"):
            try:
                with open(f"/proc/{pid}/{part}", "rb", buffering=0) as file:
                    os.set_blocking(file.fileno(), False)
                    look(file.read(65536) or b"")
            except OSError:
                pass
except OSError:
    pass
for item in gc.get_objects():
    if isinstance(item, (str, bytes, list)) and "4711" + "4711" in repr(item)[:10000]:
        found.append(b"object")
print("FOUND" if found else "nothing", flush=True)
"""
KEEPER = """
import json, sys, time
test = json.loads(sys.stdin.readline())
said = sys.stdin.readline()
print("AC" if said == "nothing\\n" else "WA", said, sep="\\n", file=sys.stderr)
"""


def test_the_program_cannot_read_what_the_interactor_was_told(box: Sandbox) -> None:
    judgement = talk(box, SPY, KEEPER, tests=[("SECRET 47114711 " + "x" * 200_000, "SECRET")] * 2)
    assert judgement.verdicts == ("AC", "AC"), judgement.details


def test_several_at_once_on_one_worker_and_on_two() -> None:
    checker = Interactor(GUESS)
    jobs = [Job(RIGHT, TESTS, checker), Job("input()\nprint('! 5')", TESTS, checker)] * 3
    for workers in (1, 2):
        with Sandbox(workers) as sandbox:
            assert [j.verdicts for j in judge_many(jobs, sandbox=sandbox)] == [("AC",) * 3, ("WA", "WA", "AC")] * 3


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_no_descriptor_is_left_open(box: Sandbox) -> None:
    talk(box, RIGHT)
    before = _descriptors()
    for program in (RIGHT, "pass", "import os\nwhile 1: os.write(1, b'x' * 65536)"):
        talk(box, program)
    assert _descriptors() == before


def test_a_lost_worker_is_replaced_and_the_second_loss_is_nobody_s_fault() -> None:
    with Sandbox(1) as sandbox:
        talk(sandbox, RIGHT)
        for worker in (*sandbox._idle, *sandbox._second._idle):
            worker._process.kill()  # type: ignore[attr-defined]
        assert talk(sandbox, RIGHT).passed


def test_time_is_counted_after_the_limit_as_elsewhere(box: Sandbox) -> None:
    began = time.monotonic()
    judgement = talk(box, "while True: input()", limits=QUICK, tests=TESTS * 4)
    assert judgement.verdicts == ("TLE_WALL", "TLE_WALL") + ("TLE",) * 10
    assert time.monotonic() - began < 30


def test_containers_refuse() -> None:
    sandbox = Sandbox(1)
    sandbox.tier = "docker"
    with pytest.raises(SandboxUnsupported, match="backend='process'"):
        talk(sandbox, RIGHT)
    sandbox.close()


def test_as_data() -> None:
    checker = parse_checker({"kind": "interactor", "source": GUESS})
    assert parse_checker(checker.to_dict()) == checker
    for data, words in (({}, "lacks its source"), ({"source": " "}, "must be the text"), ({"source": 3}, "must be")):
        with pytest.raises(JudgeError, match=words):
            parse_checker({"kind": "interactor", **data})
    with pytest.raises(JudgeError, match="a function has nothing to talk with"):
        check_job(Job("", [("[1]", "1")], checker, entry_point="f"))
