"""Checkers that an output can break are refused before a task with them is played."""

import pytest

from rlanything_task_pools.coding.payload import read_payload
from rlanything_task_pools.coding.screen import checker_flaw

VERDICT = "file=sys.stderr)"
OPEN = "import json, sys\ntest = json.loads(input())\nprint(test['stdin'], flush=True)\n"


INT = "import json, sys\nt = json.load(sys.stdin)\nprint('AC' if int(t['actual']) == int(t['expected']) else 'WA')"


def flaw(kind: str, source: str, *more: dict[str, str]) -> str | None:
    tests = [{"stdin": "7", "stdout": "8"}, *more]
    checker = {"kind": kind, "source": source}
    return checker_flaw(read_payload({"statement": "s" * 50, "public": [], "hidden": tests, "checker": checker}))


@pytest.mark.parametrize(
    ("kind", "source", "words"),
    [
        ("python", "import json, sys\nprint('AC' if json.load(sys.stdin)['actual'] == '8' else 'WA')", None),
        ("python", "import json, sys\nprint('AC' if int(json.load(sys.stdin)['actual']) == 8 else 'WA')", None),
        ("python", "1 / 0", "the checker does not decide on the expected output: "),
        ("interactor", OPEN + "print('AC' if sys.stdin.readline() == '8\\n' else 'WA', " + VERDICT, None),
        ("interactor", OPEN + "print('AC' if input() == '8' else 'WA', " + VERDICT, None),
        ("interactor", OPEN + "print('AC' if int(input()) == 8 else 'WA', " + VERDICT, "not decide on garbage: "),
        ("interactor", OPEN + "input()", "not decide on garbage: "),
        ("interactor", OPEN + "print('AC' if sys.stdin.readline()[0] == '8' else 'WA', " + VERDICT, "on nothing: "),
        (
            "interactor",
            OPEN + "line = sys.stdin.readline()\nprint('WA' if len(line) < 99 else line[2 * 10**6], " + VERDICT,
            "on a megabyte: ",
        ),
    ],
)
def test_a_checker_decides_on_any_output(kind: str, source: str, words: str | None) -> None:
    found = flaw(kind, source)
    assert found is None if words is None else words in (found or ""), found


@pytest.mark.parametrize(
    ("kind", "source", "words"),
    [
        ("python", INT, "test 2: the checker does not decide on the expected output: "),
        (
            "interactor",
            OPEN + "print('AC' if sys.stdin.readline() == str(int(test['expected'])) else 'WA', " + VERDICT,
            "test 2: the interactor does not decide on nothing: ",
        ),
    ],
)
def test_a_checker_decides_on_every_test(kind: str, source: str, words: str) -> None:
    assert flaw(kind, source, {"stdin": "8", "stdout": "9"}) is None
    assert words in (flaw(kind, source, {"stdin": "8", "stdout": "dunno"}) or "")
