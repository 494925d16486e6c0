"""Programs of an agent, tested in the sandbox."""

import pytest
from osworld_desk import Desk, Web

from rlanything_verifiers.osworld import MissingLibrary, check_evaluator, evaluate

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


def test_a_library_of_osworld_that_is_not_there_gives_no_score():
    try:
        import pygame  # noqa: F401
    except ImportError:
        with pytest.raises(MissingLibrary, match="pygame"):
            score(GOOD | {"snake.py": b"import pygame\n"})
    else:
        assert score(GOOD | {"snake.py": b"import pygame\n" + GOOD["snake.py"]}) == 1
