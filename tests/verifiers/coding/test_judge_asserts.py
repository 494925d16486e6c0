"""Functions judged by asserts: nothing that a submission does or returns can pass for another result."""

import builtins
import itertools
import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlanything_verifiers.coding import Job, JudgeError, Limits, Sandbox, answers, judge, judge_many
from rlanything_verifiers.coding.checkers import Asserts
from rlanything_verifiers.coding.sandbox import Run

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
        ("def f(x): return -x", "import random as r\nfor x in [r.random(), r.random()]:\n    assert f(x) == -x", "AC"),
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
    ("program", "verdict"),
    [
        ("def f(x: List[int]): return gcd(*x)", "AC"),
        ("def f(x): return helper(x)", "RE"),
        ("def f(x): return f.__globals__['helper'](x)", "RE"),
        ("", "RE"),
        ("del List\ndef f(x: 'List'): return 2", "AC"),
    ],
)
def test_imports_of_the_set_up_are_there_for_the_submission_and_nothing_else(program, verdict):
    setup = "from math import *\nfrom typing import List\nfrom math import gcd as f\ndef helper(x):\n    return 2\n"
    found = judgement(program, "assert candidate([4, 6]) == 2", setup=setup)
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


# A submission prints answers of its choice as the driver would, and the driver prints nothing more.
FORGER = """
import os
def f(*_):
    os.write(1, b"\\n\\x1d result OK " + {answers!r} + b"\\n")
    os._exit(0)
"""
# What code would do that ran in the checking process: accept, behind all marks that it can know.
ACCEPT = r"""
import os, sys
for mark in (b"\x1d result ", globals().get("mark", b""), sys._getframe(1).f_locals.get("mark", b"")):
    os.write(1, b"\n" + mark + b"AC \n")
os._exit(0)
"""
SETUP = f"ACCEPT = {ACCEPT!r}\n"
HIDDEN = (
    "assert f(7) == 123456 + 1",
    "x = f(7)\nassert x(ACCEPT) == 3",
    "for x in map(f, [7]):\n    assert x == 123457",
)
NAMES = sorted({*dir(builtins), "__class__", "os.system", "mark", "", "Stop", "Remote", "x" * 300})


def test_no_name_of_builtins_is_code_in_an_answer():
    """An answer names exceptions and types; such a name once chose what the checking process ran."""
    forged = [json.dumps([["!", name, ACCEPT]]) for name in NAMES]
    forged += [json.dumps([["=", ["T", name]]]) for name in NAMES]
    jobs = [
        Job(FORGER.format(answers=text.encode()), [(test, "") for test in HIDDEN], Asserts(SETUP), LIMITS, None, "f")
        for text in forged
    ]
    for text, found in zip(forged, judge_many(jobs), strict=True):
        assert "AC" not in found.verdicts, (text, found)
        assert found.error is None, (text, found)


FORGED = [
    "", "0", "{}", "[]", "[[]]", "[7]", '[["="]]', '[["=",7],["=",7]]', '[["=",{"a":1}]]', '[["=",[7]]]',
    '[["=",["l"]]]', '[["=",["x",[]]]]', '[["=",[["l"],[]]]]', '[["=",["l",7]]]', '[["=",["d",[7]]]]',
    '[["=",["d",[[["l",[]],1]]]]]', '[["=",["s",[["l",[]]]]]]', '[["=",["F",[1,0]]]]', '[["=",["F",["1e999999999"]]]]',
    '[["=",["D","1E99999999999"]]]', '[["=",["c",["1","2"]]]]', '[["=",["r",[0,1,0]]]]', '[["=",["b","0"]]]',
    '[["=",["b",[1]]]]', '[["=",["o",-1]]]', '[["=",["o",[]]]]', '[["=",["T","eval"]]]', '[["=",["T",7]]]',
    '[["!","eval","1"]]', '[["!","SystemExit","0"]]', '[["!","KeyboardInterrupt",""]]', '[["!",7,""]]',
    '[["!","KeyError",7]]', '[["!","KeyError"]]', '[["=",' + "9" * 5000 + "]]",
    '[["=",' + '["l",[' * 160 + "]]" * 160 + "]]", "[" * 100_000, '[["=",["D","' + "9" * 5000 + '"]]]', "[NaN]",
    '"\\ud800"',
]  # fmt: skip


@pytest.mark.parametrize("text", FORGED, ids=range(len(FORGED)))
def test_answers_that_no_driver_writes(text):
    with pytest.raises(answers.AnswerError):
        answers.read(text.encode(), 1)
    found = judgement(FORGER.format(answers=text.encode()), "assert f(1) == 7")
    assert (found.verdicts, found.error) == (("WA",), None)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.sampled_from([*"ltsfiqdbBcrFDTo=!"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
)


@given(JSON.map(lambda value: [["=", value]]) | JSON)
@settings(deadline=None)
def test_any_json_is_an_answer_or_refused(value):
    try:
        once = answers.read(json.dumps(value).encode(), 1)
    except answers.AnswerError:
        return
    assert answers.read(once, 1) == once


#: Answers that asserts expand, hash, compare and print; the program makes them, since its text has a limit.
HEAVY = {
    "a long range": '["r", [0, 10**18, 1]]',
    "a range of thousands of digits": '["r", [10**3999, -(10**3999), -7]]',
    "numbers with one hash": '["s", [((1 << 61) - 1) * i for i in range(40_000)]]',
    "keys with one hash": '["d", [[((1 << 61) - 1) * i, 0] for i in range(40_000)]]',
    "decimals with one hash": '["s", [["D", "0E%d" % i] for i in range(40_000)]]',
    "fractions": '["l", [["F", [10**3999 + i, 3**8000 + i]] for i in range(50)]]',
    "a decimal of a gigabyte": '["D", "1E999999999"]',
    "a signalling member": '["s", [["D", "sNaN"]]]',
    "many NaN": '["s", [float("nan")] * 30_000]',
    "empty lists in lists": '["l", [["l", [["t", []]]]] * 30_000]',
    "half characters": '"\\ud800" * 1000',
    "formats": '"%s%n{0.__class__}" * 10',
    "objects": '["l", [["o", (1 << 31) - 1]] * 9]',
    "iterators": '["i", [["i", [["i", []]]]]]',
    "infinity": 'float("inf")',
}
USES = (
    "assert list(f(7)) == [1, 2]", "assert set(f(7)) == {1, 2}", "assert f(7) == 3, f'{f(7)}'",
    "assert str(f(7)) == '3'", "assert abs(f(7) - 3) < 1e-6",
    "assert int(f(7)) == 3", "assert sum(f(7)) == 3", "assert hash(f(7)) == 12345",
    "x = f(7)\nassert f(x) == x == 3", "assert type(f(7))(f(7)) == 3", "assert '%d' % f(7) == '3'",
)  # fmt: skip


@pytest.mark.parametrize("name", HEAVY)
def test_answers_that_are_a_burden(name):
    """They are wrong, and asserts that do not end with them cost no more than programs that do not end."""
    program = f"""
import json, os
def f(*_):
    text = b"\\n\\x1d result OK " + json.dumps([["=", {HEAVY[name]}]]).encode() + b"\\n"
    while text:
        text = text[os.write(1, text):]
    os._exit(0)
"""
    began = time.process_time()
    found = judgement(program, *USES, limits=Limits(cpu=0.5, output=1 << 23))
    assert found.outcome is False, found
    assert not {"AC", "IE"} & {*found.verdicts}, found
    assert sum(detail.startswith("the asserts do not end") and "(TLE" in detail for detail in found.details) <= 2
    assert time.process_time() - began < 20  # of this process


def test_results_that_are_too_long():
    program = "def f(n): return 'x' * n"
    found = judgement(program, f"assert len(f({9 << 20})) == {9 << 20}", limits=Limits(cpu=2.0, output=1 << 25))
    assert (found.verdicts, "are read" in found.details[0]) == (("WA",), True)


def test_what_ends_a_loop_of_the_asserts_is_an_error():
    found = judgement("def f(x): raise StopIteration", "for x in map(f, [1, 2]):\n    assert x == 3")
    assert found.verdicts == ("RE",), found


def test_a_result_that_differs_from_itself_can_be_an_argument():
    found = judgement("def f(x): return x if x != x else float('nan')", "y = f(f(1))\nassert y != y")
    assert found.passed, found


@pytest.mark.parametrize(
    ("program", "test", "verdict"),
    [
        ("import time\ndef f(x): return time.time_ns()", "x = f(0)\nwhile x:\n    x = f(x)", "WA"),
        ("def f(x): return x + 1", "x = f(0)\nwhile x:\n    x = f(x)", "WA"),  # never ends, and goes on each time
        ("def f(x):\n    for _ in range(10**6): pass\n    return x + 1", "x = f(0)\nwhile x:\n    x = f(x)", "TLE"),
        ("import time\ndef f(x):\n    time.sleep(1.5)\n    return x + 1", "x = f(0)\nwhile x:\n    x = f(x)", "TLE"),
        ("import os, time\ndef f(x):\n    time.sleep(1.5)\n    os._exit(0)", "x = f(0)\nassert f(x) == 1", "RE"),
    ],
)
def test_the_rounds_of_a_test_share_its_limits(program, test, verdict):
    began = time.monotonic()
    found = judgement(program, test, limits=Limits(cpu=0.3, wall=2.0) if verdict == "TLE" else LIMITS)
    assert found.verdicts[0].removesuffix("_WALL") == verdict, found
    assert found.error is None
    assert time.monotonic() - began < 60


def test_processor_time_of_a_test_is_that_of_all_rounds():
    spin = "import time\ndef f(x):\n    end = time.process_time() + 0.02\n    while time.process_time() < end: pass\n"
    found = judgement(f"{spin}    return x - 1", "x = 6\nwhile x > 0:\n    x = f(x)")
    assert found.passed, found
    assert found.cpu[0] >= 0.4  # of 1 + 2 + ... + 6 calls; the last round alone has six


def test_a_failed_sandbox_is_no_failed_test(monkeypatch):
    class Failing(Sandbox):
        def run(self, *args, **options):
            return [Run("IE", detail="worker lost") for _ in args[1]]

    how = {"checker": {"kind": "asserts"}, "entry_point": "f", "cache": False}
    with Failing(workers=1) as box:
        found = judge("def f(x): return x", [("assert f(1) == 1", "")], sandbox=box, **how)
    assert (found.verdicts, found.outcome) == (("IE",), None)


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
        (("assert (", ""), {}, JudgeError, "test 0: not Python"),
        (("", ""), {}, JudgeError, "test 0: there are no statements"),
        (("f(1)", "3"), {}, JudgeError, "test 0: arguments and result of a function must be JSON"),
        (("assert f(1)", ""), {"checker": {"kind": "asserts", "setup": "import"}}, JudgeError, "setup: not Python"),
        (("assert f(1)", ""), {"checker": {"kind": "asserts", "setup": 3}}, JudgeError, "setup must be a text"),
        (("assert f(1)", ""), {"entry_point": None}, JudgeError, "give its name as entry_point"),
        (("assert " + "(" * 500, ""), {}, JudgeError, "test 0: not Python"),
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
