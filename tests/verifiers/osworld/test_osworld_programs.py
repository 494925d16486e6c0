"""Programs of an agent, tested in the sandbox."""

import importlib.util
import json
import time

import pytest
from osworld_desk import Desk, Web

from rlanything_verifiers.osworld import MissingRequirement, check_evaluator, evaluate, libraries
from rlanything_verifiers.osworld.metrics import programs

PYGAME = importlib.util.find_spec("pygame") is not None
SECONDS = 20.0
"""Within which a hostile program has its 0, the limit of processor time aside."""

TEST = b"""
from snake import Snake
import settings

def test():
    return Snake().length == settings.LENGTH

def share():
    return 0.25

def broken():
    raise KeyError
"""
GOOD = {"snake.py": b"import settings\nclass Snake:\n    length = settings.LENGTH\n", "settings.py": b"LENGTH = 3\n"}


@pytest.fixture(autouse=True)
def without_pygame(request, monkeypatch):
    """What does not need it is tested where it is not installed, too."""
    if not PYGAME and "asks" not in request.node.name:
        monkeypatch.setattr(programs, "_LIBRARIES", ())
        monkeypatch.setitem(libraries._FUNCTIONS, "check_python_file_by_test_suite", ())


def score(files, test=TEST, **options):
    names = ["snake.py", "settings.py"]
    evaluator = {
        "func": "check_python_file_by_test_suite",
        "result": {"type": "vm_file", "path": [f"/{name}" for name in names], "dest": names, "multi": True},
        "expected": {"type": "cloud_file", "path": "u", "dest": "test_suite.py"},
        "options": options,
    }
    check_evaluator(evaluator)
    desk = Desk({f"/{name}": data for name, data in files.items()})
    return evaluate(evaluator, desk, last_action="DONE", files=Web(u=test))


def test_programs():
    assert score(GOOD) == 1
    assert score(GOOD, test_function_name="share") == 0.25
    assert score(GOOD, test_function_name="broken") == score(GOOD, test_function_name="absent") == 0
    assert score(GOOD | {"snake.py": b"class Snake:\n    length = 4\n"}) == 0
    assert score(GOOD | {"snake.py": b"class Snake(:"}) == 0
    assert score({"settings.py": GOOD["settings.py"]}) == 0, "the first file is not there"


@pytest.mark.parametrize(
    "program",
    [
        b"import os\nos._exit(0)\n",
        b"raise SystemExit\n",
        b"print('{\"score\": 1.0}')\nimport os\nos._exit(0)\n",
        b"open('/etc/hostname').read()\nclass Snake:\n    length = 3\n",
        b"import socket\nsocket.create_connection(('127.0.0.1', 80))\n",
        b"import a_library_that_is_not_there\n",
    ],
)
def test_a_program_that_does_something_else_scores_nothing(program):
    assert score(GOOD | {"snake.py": program}) == 0


def test_it_asks_for_the_libraries_of_osworld_whatever_the_program_imports():
    if PYGAME:
        assert score(GOOD | {"snake.py": b"import pygame\n" + GOOD["snake.py"]}) == 1
        return
    for program in (GOOD["snake.py"], b"import pygame\n", b"raise ModuleNotFoundError(name='pygame')\n"):
        with pytest.raises(MissingRequirement, match="pip install pygame"):
            score(GOOD | {"snake.py": program})


FORGE = """
import os, sys
frame = sys._getframe()
while "given" not in frame.f_globals:
    frame = frame.f_back
given = frame.f_globals["given"]
os.write(1, (given["mark"] + REPORT).encode())
os._exit(0)
"""
REPORTS = (
    *("[]", "1", "null", '"1"', "{}", "", "{", "[" * 100_000, '{"missing": "pygame"}', '{"missing": ["pygame"]}'),
    *(
        json.dumps({"score": value})
        for value in (None, "1", [1], {"score": 1}, True, float("nan"), float("inf"), -1, 2)
    ),
    *('{"score": 1' + "0" * 5000 + "}", '{"score": 1e999}', '{"score": 0.5, "x": "' + "x" * 1000 + '"}'),
)


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report[:30])
def test_a_report_that_is_none_scores_nothing(report):
    """The agent's modules run in the process of the report, as upstream's do: they can write any."""
    begin = time.monotonic()
    assert score(GOOD | {"snake.py": f"REPORT = {report!r}\n{FORGE}".encode()}) == 0
    assert time.monotonic() - begin < SECONDS


DEEDS = {
    "exit by an exception": "raise SystemExit(0)",
    "interrupt": "raise KeyboardInterrupt",
    "group": "raise BaseExceptionGroup('x', [SystemExit(), KeyboardInterrupt()])",
    "own exception": "class Odd(BaseException):\n    def __str__(self): raise Odd\nraise Odd",
    "module not found": "raise ModuleNotFoundError(name='pygame')",
    "no module at all": "raise ModuleNotFoundError",
    "closed streams": "import os\nos.closerange(0, 100)",
    "fork that keeps the pipe": "import os, time\nif os.fork() == 0:\n    time.sleep(1000)\nos._exit(0)",
    "stopped": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "recursion": "def f(): f()\nf()",
    "crash": "import ctypes\nctypes.string_at(0)",
    "ignored signals": "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nraise SystemExit",
    "output without end": "import os\nwhile True: os.write(1, b'x' * 65536)",
    "memory": "x = []\nwhile True: x.append(bytearray(1 << 24))",
    "replaced json": "import json\njson.dumps = lambda *_: '[' * 1000",
    "replaced exit": "import os\nos._exit = lambda *_: None",
    "exit hook": "import atexit, os\natexit.register(os.write, 1, b'{}')\nraise SystemExit",
    "odd answer": "class Snake:\n    length = type('L', (), {'__eq__': lambda s, o: float('nan'), '__hash__': None})()",
    "huge answer": "class Snake:\n    length = type('L', (), {'__eq__': lambda s, o: -10 ** 400})()",
    "surrogates": "class Snake:\n    length = '\\ud800'",
    "null byte": "\0",
    "nested": "x = " + "(" * 5000 + ")" * 5000,
    "no utf-8": "# coding: utf-7\n+AGY-",
}


@pytest.mark.parametrize("deed", DEEDS)
def test_a_hostile_program_scores_nothing(deed):
    begin = time.monotonic()
    assert score(GOOD | {"snake.py": DEEDS[deed].encode()}) == 0
    assert time.monotonic() - begin < (4 * SECONDS if deed == "stopped" else SECONDS)
