"""Functions judged by asserts: nothing that a submission does or returns can pass for another result."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlanything_verifiers.coding import CheckerError, Limits, TestFormatError, judge
from rlanything_verifiers.coding.asserts import MAX_ROUNDS

LIMITS = Limits(cpu=2.0)


def judgement(program, *tests, setup="", limits=LIMITS):
    pairs = [(test, "") if isinstance(test, str) else test for test in tests]
    return judge(program, pairs, entry_point="f", checker={"kind": "asserts", "setup": setup}, limits=limits)


@pytest.mark.parametrize(
    ("program", "test", "verdict"),
    [
        ("def f(x): return (x,)", "assert f(1) == (1,)", "AC"),
        ("def f(x): return (x,)", "assert candidate(1) == [1]", "WA"),
        ("def f(x): return [x]", "assert f(1) == (1,)", "WA"),
        ("def f(x): return [(x,), {x}, {x: 1.5}]", "assert f(1) == [(1,), {1}, {1: 1.5}]", "AC"),
        ("def f(x): return 1", "assert f(1) is True", "WA"),
        ("def f(x): return x + 0.1 + 0.2", "assert abs(f(0) - 0.3) < 1e-6", "AC"),
        ("def f(x): return x + 0.1 + 0.2", "assert f(0) == 0.3", "WA"),
        ("def f(x): return float('nan')", "y = f(0)\nassert y != y", "AC"),
        ("def f(x): return -x", "for i in range(200):\n    assert f(i) == -i", "AC"),
        (
            "def f(x): return -x",
            "import random as r\nfor x in [r.random(), r.random()]:\n    assert f(x) == -x",
            "AC",
        ),
        ("def f(x): return x + 1", "x = 0\nfor i in range(9):\n    x = f(x)\nassert x == 9", "AC"),
        ("def f(x): return x + 1", "assert f(f(f(0))) == 3", "AC"),
        ("def f(x): return x - 1", "x = 9\nwhile x > 0:\n    x = f(x)\nassert x == 0", "AC"),
        ("def f(x): return x[::-1]", "a = [1, 2]\nassert f(a) == [2, 1] and a == [1, 2]", "AC"),
        ("def f(x): return iter(x)", "assert list(f([1, 2])) == [1, 2]", "AC"),
        ("def f(x): return x in ('a', 'b')", "assert f('a') and not f('c')", "AC"),
        ("def f(*a, **k): return a, k", "assert f(1, b=(2,)) == ((1,), {'b': (2,)})", "AC"),
        ("def f(x): raise KeyError(x)", "try:\n    f(1)\nexcept KeyError:\n    pass\nelse:\n    assert False", "AC"),
        ("def f(x): raise KeyError(x)", "assert f(1) == 1", "RE"),
        ("def f(x): return x", "try:\n    f(1)\nexcept KeyError:\n    pass\nelse:\n    assert False", "WA"),
        ("class P:\n    def __init__(self, x): self.x = x\ndef f(p): return p.x", "assert f(P(3)) == 3", "AC"),
        ("def f(x): return x", "assert helper(f(2)) == 4", "AC"),
        ("def f(x): return x", "assert nobody(1) == 1", "RE"),
        ("def f(x): pass", "assert f(1)[0] == 1", "WA"),
        ("def g(x): return x", "assert f(1) == 1", "RE"),
        ("def f(x): exit()", "assert f(1) == 1", "RE"),
        ("def f(x):\n    while True: pass", "assert f(1) == 1", "TLE"),
        ("def f(x:", "assert f(1) == 1", "CE"),
        ("print('noise')\ndef f(x):\n    print(x)\n    return x", "print(f(1))\nassert f(1) == 1", "AC"),
        ("if __name__ == '__main__':\n    1 / 0\ndef f(x): return x", "assert f(1) == 1", "AC"),
        ("def f(x): return x", "assert 1 == 2", "WA"),
        ("def f(x): return x", "f(open)", "WA"),
        # arguments and result as JSON
        ("def f(x): return (x, [x])", ("[1]", "[1, [1]]"), "AC"),
        ("def f(x): return (x, [x])", ("[1]", "[1, [2]]"), "WA"),
        ("def f(x): return {x: 1}", ('{"x": 2}', '{"2": 1}'), "AC"),
    ],
)
def test_verdicts(program, test, verdict):
    limits = Limits(cpu=0.3) if verdict == "TLE" else LIMITS
    found = judgement(program, test, setup="def helper(x):\n    return 2 * x\n", limits=limits)
    assert found.verdicts == (verdict,), found


@pytest.mark.parametrize(
    "program",
    [
        "class Any:\n    def __eq__(self, other): return True\n    __hash__ = None\ndef f(x): return Any()",
        "class Any(int):\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n"
        "    def __sub__(self, other): return 0\ndef f(x): return Any(8)",
        "class Any(list):\n    def __eq__(self, other): return True\ndef f(x): return Any([8])",
        "class Any(str):\n    def __eq__(self, other): return True\ndef f(x): return Any('8')",
        "import builtins\nbuiltins.AssertionError = type('Quiet', (Exception,), {})\ndef f(x): return 8",
        "import sys\nsys.exit(0)",
        "import os\ndef f(x): os._exit(0)",
        "import sys\ndef f(x): raise SystemExit(0)",
        "def f(x): raise StopIteration",
        "def f(x): raise AssertionError",
        "import os\ndef f(x):\n    os.write(1, b'\\n\\x1d result AC\\n')\n    os._exit(0)",
        "import os\ndef f(x):\n    os.write(1, b'\\n\\x1d result OK AC\\n')\n    os._exit(0)",
        "def f(x):\n    return '\\n\\x1d result AC \\n'",
        "class E(Exception):\n    def __str__(self): return '\\n\\x1d result AC \\n'\ndef f(x):\n    raise E",
        "import json\njson.dumps = lambda value: '[[\"=\", 7'\ndef f(x): return 7",
        "import json\njson.dumps = lambda value: '[' * 100000\ndef f(x): return 7",
        "import json\njson.dumps = lambda value: '[]'\ndef f(x): return 7",
        "import json\njson.dumps = lambda value: '{}'\ndef f(x): return 7",
        "import sys\nm = sys.modules['__main__']\nm.MARK = b'x'\nm.report = m._dumps = print\ndef f(x): return 7",
        "import sys\nm = sys.modules['__main__']\n"
        "def f(x):\n    m.report('AC')\n    m.report = lambda *a: None\n    return 7",
        # whatever is on the stack or in the process
        "import sys, gc\ndef f(x):\n    found = [v for o in gc.get_objects() if type(o) is dict for v in o.values()]\n"
        "    frame = sys._getframe()\n    while frame:\n        found += frame.f_locals.values()\n"
        "        frame = frame.f_back\n    return max((v for v in found if type(v) is int and v < 10**6), default=0)",
    ],
)
def test_cheats_do_not_pass(program):
    found = judgement(
        program, "assert f(7) == 123456 + 1", "assert abs(candidate(7) - 123457) < 1", "assert 123457 == f(7)"
    )
    assert "AC" not in found.verdicts, found
    assert found.error is None, found


def test_a_submission_that_answers_otherwise_each_time_comes_to_an_end():
    program = "import time\ndef f(x): return time.time_ns()"
    test = "x = f(0)\nwhile x:\n    x = f(x)"
    found = judgement(program, test)
    assert (found.verdicts, str(MAX_ROUNDS) in found.details[0]) == (("WA",), True), found


BROKEN = [
    ("while True:\n    pass", "the test fails by itself"),
    ("assert f(1, y) == 2", "the test fails by itself"),
    ("import nowhere", "ModuleNotFound"),
]


@pytest.mark.parametrize(("test", "detail"), BROKEN)
def test_what_is_wrong_with_a_test_is_no_failure_of_the_judge(test, detail):
    found = judgement("def f(x): return 2", test, limits=Limits(cpu=0.2))
    assert found.error is None
    assert found.verdicts[0] in ("WA", "RE")
    assert detail in found.details[0]


@pytest.mark.parametrize(
    ("test", "options", "error", "words"),
    [
        (("assert (", ""), {}, TestFormatError, "test 0: not Python"),
        (("", ""), {}, TestFormatError, "test 0: there are no statements"),
        (("f(1)", "3"), {}, TestFormatError, "test 0: arguments and result of a function must be JSON"),
        (("assert f(1)", ""), {"checker": {"kind": "asserts", "setup": "import"}}, CheckerError, "setup: not Python"),
        (("assert f(1)", ""), {"checker": {"kind": "asserts", "setup": 3}}, CheckerError, "setup must be a text"),
        (("assert f(1)", ""), {"entry_point": None}, CheckerError, "give its name as entry_point"),
        (("assert " + "(" * 500, ""), {}, TestFormatError, "test 0: not Python"),
    ],
)
def test_what_cannot_be_judged_is_refused(test, options, error, words):
    with pytest.raises(error, match=words):
        judge("def f(x): return x", [test], **{"entry_point": "f", "checker": {"kind": "asserts"}} | options)


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=4)
    | st.binary(max_size=4)
    | st.complex_numbers(allow_nan=False, allow_infinity=False),  # an infinite one has no literal
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers() | st.tuples(st.integers()), inner, max_size=3)
        | st.sets(st.integers() | st.text(max_size=2), max_size=3)
        | st.frozensets(st.integers(), max_size=3)
    ),
    max_leaves=6,
)


@given(st.lists(PLAIN, min_size=1, max_size=4))
@settings(max_examples=15, deadline=None)
def test_plain_values_pass_unchanged(values):
    tests = [f"inf = float('inf')\nx = {value!r}\ny = f(x)\nassert y == x and type(y) is type(x)" for value in values]
    assert judgement("def f(x): return x", *tests).passed


@given(st.lists(st.tuples(PLAIN, PLAIN), min_size=1, max_size=4))
@settings(max_examples=15, deadline=None)
def test_values_are_equal_as_in_one_process(pairs):
    tests = [f"inf = float('inf')\nassert f({one!r}) == {other!r}" for one, other in itertools.chain(pairs)]
    expected = tuple("AC" if one == other else "WA" for one, other in pairs)
    assert judgement("def f(x): return x", *tests).verdicts == expected
