"""Functions judged by their results."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlanything_verifiers.coding import JudgeError, Limits, judge


def verdicts(program, *tests, entry_point="f", **options):
    return judge(program, list(tests), entry_point=entry_point, **options).verdicts


def test_arguments_by_place_and_by_name():
    program = "def f(a, b=10): return a + b"
    assert verdicts(program, ("[1, 2]", "3"), ("[5]", "15"), ('{"b": 1, "a": 4}', "5"), ("[1, 2]", "4")) == (
        "AC",
        "AC",
        "AC",
        "WA",
    )


@pytest.mark.parametrize(
    ("program", "verdict", "detail"),
    [
        ("def f(x): return x", "AC", ""),
        ("f = lambda x: x", "AC", ""),
        ("class f:\n    def __new__(cls, x): return x", "AC", ""),
        ("from __future__ import annotations\ndef f(x: Y) -> Z: return x", "AC", ""),
        ("print('noise', end='')\ndef f(x):\n    print(x)\n    return x", "AC", ""),
        ("def f(x): return x\nif __name__ == '__main__':\n    print(f(int(input())))", "AC", ""),
        ("import math\ndef f(x): return math.gcd(x, x)", "AC", ""),
        ("import sys\ndef f(x):\n    sys.stdout = None\n    return x", "AC", ""),
        ("import sys\ndef f(x):\n    sys.stdout.close()\n    return x", "AC", ""),
        ("import atexit\natexit.register(print, 'late')\ndef f(x): return x", "AC", ""),
        ("def f(x): return x + 1", "WA", "expected 7, got 8"),
        ("def f(x): pass", "WA", "expected 7, got null"),
        ("def g(x): return x", "RE", "defines no function f"),
        ("f = 7", "RE", "defines no function f"),
        ("def f(): return 7", "RE", "TypeError"),
        ("def f(x): raise KeyError(x)", "RE", "KeyError: 7"),
        ("def f(x): return {1, 2}", "RE", "not JSON serializable"),
        ("def f(x): yield x", "RE", "not JSON serializable"),
        ("def f(x): exit()", "RE", "ended before the function returned"),
        ("import os\nos._exit(0)", "RE", "ended before the function returned"),
        ("def f(x):\n    while True: pass", "TLE", ""),
        ("def f(x:", "CE", "SyntaxError"),
        ("def f(x): return x\x00", "CE", "null bytes"),
        (b"\xff", "CE", ""),
        ("#" * 3000, "CE", "limit"),
    ],
)
def test_programs(program, verdict, detail):
    judgement = judge(program, [("[7]", "7")], entry_point="f", limits=Limits(cpu=0.5, source=2000))
    assert judgement.verdicts == (verdict,), judgement
    assert detail in judgement.details[0]


@pytest.mark.parametrize(
    "program",
    [
        # an object that equals everything
        "class Any:\n    def __eq__(self, other): return True\n    __hash__ = None\ndef f(x): return Any()",
        "class Any(int):\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n"
        "def f(x): return Any(8)",
        "class Any(list):\n    def __eq__(self, other): return True\ndef f(x): return Any([8])",
        # a forged result
        "def f(x):\n    print('\\n\\x1d result OK 8')\n    return 9",
        "import os\nos.write(1, b'\\n\\x1d result OK true\\n')\nos._exit(0)",
        "import json\njson.dumps = lambda value: '[7'\ndef f(x): return 7",
        "import json\njson.dumps = lambda value: '[' * 100000\ndef f(x): return 7",
        "import json\njson.dumps = lambda value: '\\ud800'\ndef f(x): return 7",
        "import json\njson.dumps = lambda value: 'NaN'\ndef f(x): return 7",
        # whatever is on the stack
        "import sys\ndef f(x):\n    frame = sys._getframe()\n    found = []\n    while frame:\n"
        "        found += [v for v in frame.f_locals.values() if isinstance(v, int)]\n        frame = frame.f_back\n"
        "    return max(found, default=0)",
    ],
)
def test_tricks_do_not_pass(program):
    judgement = judge(program, [("[7]", "123456")], entry_point="f", checker={"kind": "tokens"})
    assert judgement.outcome is False, judgement


def test_results_are_compared_as_data():
    same = [("(1, 2)", "[1, 2]"), ("[(1,)]", "[[1]]"), ("{1: 2}", '{"1": 2}'), ("1.0", "1"), ("True", "true")]
    same += [("10 ** 5000", "1" + "0" * 5000), ("None", "null"), ("'\\ud800'", '"\\ud800"'), ("'ä'", '"ä"')]
    for value, expected in same:
        assert verdicts(f"def f(): return {value}", ("[]", expected)) == ("AC",), value
    for value, expected in [("1", "2"), ("'1'", "1"), ("[1]", "[1, 2]"), ("10 ** 17 + 1", "1" + "0" * 17)]:
        assert verdicts(f"def f(): return {value}", ("[]", expected)) == ("WA",), value
    assert verdicts("def f(): return 0.1 + 0.2", ("[]", "0.3")) == ("WA",)
    assert verdicts("def f(): return 0.1 + 0.2", ("[]", "0.3"), checker={"kind": "float"}) == ("AC",)
    assert verdicts("def f(): return float('nan')", ("[]", "0.3"), checker={"kind": "float"}) == ("WA",)
    assert verdicts("def f(): return [2, 1]", ("[]", "[1, 2]"), checker={"kind": "unordered"}) == ("AC",)


def test_a_python_checker_sees_json():
    source = (
        "import json, sys\nd = json.load(sys.stdin)\n"
        "print('AC' if json.loads(d['actual'])[::-1] == json.loads(d['stdin']) else 'WA')"
    )
    checker = {"kind": "python", "source": source}
    tests = [("[1, 2]", "null")]
    assert verdicts("def f(a, b): return (b, a)", *tests, checker=checker) == ("AC",)
    assert verdicts("def f(a, b): return [a, b]", *tests, checker=checker) == ("WA",)


def test_each_test_starts_afresh():
    program = "seen = []\ndef f(x):\n    seen.append(x)\n    return seen"
    assert verdicts(program, ("[1]", "[1]"), ("[2]", "[2]")) == ("AC", "AC")


@pytest.mark.parametrize(
    ("tests", "options", "error", "words"),
    [
        ([("1 2", "3")], {}, JudgeError, "test 0: arguments and result of a function must be JSON"),
        ([("[1]", "1"), ("[1]", "")], {}, JudgeError, "test 1: arguments and result"),
        ([("[" * 100_000, "1")], {}, JudgeError, "test 0"),
        ([("7", "7")], {}, JudgeError, "must be a JSON list"),
        ([("[7]", "7")], {"checker": {"kind": "lines"}}, JudgeError, "compares texts"),
        ([("[7]", "7")], {"entry_point": "f()"}, JudgeError, "not the name of a function"),
        ([("[7]", "7")], {"entry_point": "class"}, JudgeError, "not the name of a function"),
        ([("[7]", "7")], {"entry_point": ""}, JudgeError, "not the name of a function"),
        ([("[7]", "7")], {"entry_point": 7}, JudgeError, "not the name of a function"),
    ],
)
def test_what_cannot_be_judged_is_refused(tests, options, error, words):
    with pytest.raises(error, match=words):
        judge("def f(x): return x", tests, **{"entry_point": "f"} | options)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(JSON, min_size=1, max_size=4))
@settings(max_examples=25)
def test_any_json_goes_through_a_function_unchanged(values):
    tests = [(json.dumps([value]), json.dumps(value)) for value in values]
    assert judge("def identity(x): return x", tests, entry_point="identity").passed
