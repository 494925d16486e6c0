"""The judge: verdicts, refusals, batches, and what never counts as a pass."""

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlanything_verifiers.coding import (
    Job,
    JudgeError,
    Limits,
    Run,
    Sandbox,
    SandboxError,
    Test,
    UnsafeSandbox,
    check_job,
    judge,
    judge_many,
    run_program,
    shared_sandbox,
    trial,
)
from rlanything_verifiers.coding.cache import RUNS

SUM = "print(sum(map(int, input().split())))"
PAIRS = [("1 2\n", "3\n"), ("10 20\n", "30"), ("-1 1\n", "0\n")]
QUICK = Limits(cpu=0.2)


@pytest.fixture(scope="module")
def box():
    sandbox = Sandbox(2)
    yield sandbox
    sandbox.close()


@pytest.fixture(autouse=True)
def fresh_cache():
    RUNS.clear()


class Scripted:
    """A sandbox whose runs are given by input: what a real one cannot be made to do on command."""

    tier = identity = "scripted"

    def __init__(self, runs, workers=1):
        self.runs, self.workers, self.seen, self.lock = runs, workers, [], threading.Lock()

    def run(self, program, inputs, limits, stop=None, language="python"):
        done = []
        for i, data in enumerate(inputs):
            with self.lock:
                self.seen.append(data)
            run = self.runs[data]
            if isinstance(run, Exception):
                raise run
            done.append(run)
            if stop is not None and stop(i, run):
                break
        return done


def test_a_judgement_in_full(box):
    judgement = judge("n = int(input())\nprint(n if n else 1 / n)", [("4", "4"), ("5", "6"), ("0", "0")], sandbox=box)
    assert judgement.verdicts == ("AC", "WA", "RE")
    assert (judgement.passed, judgement.outcome, judgement.error) == (False, False, None)
    assert judgement.fraction == pytest.approx(1 / 3)
    assert judgement.counts == {"AC": 1, "WA": 1, "RE": 1}
    assert judgement.details[:2] == ("", "token 1: expected '6', got '5'")
    assert "ZeroDivisionError" in judgement.details[2]
    assert judgement.sandbox == box.tier
    assert all(0 < seconds < 2 for seconds in judgement.cpu)
    right = judge(SUM, [Test(*pair) for pair in PAIRS], sandbox=box)
    assert (right.passed, right.outcome, right.fraction) == (True, True, 1.0)


@pytest.mark.parametrize(
    ("program", "verdict", "detail"),
    [
        ("while True: pass", "TLE", ""),
        ("import time\ntime.sleep(60)", "TLE_WALL", ""),
        ("x = [0] * 10**9", "MLE", ""),
        ("while True: print('x' * 10000)", "OLE", ""),
        ("raise ValueError('why')", "RE", "ValueError: why"),
        ("import sys\nsys.exit(3)", "RE", ""),
        ("print(", "CE", "never closed"),
        ("print(4)", "WA", "expected '3', got '4'"),
        (b"\xff\xfe\x00", "CE", ""),
        ("print(1)\x00", "CE", ""),
        ("\ud800", "CE", ""),
        ("", "WA", "expected 1 tokens, got 0"),
        ("#" * (2 << 20), "CE", "limit"),
    ],
)
def test_each_verdict(program, verdict, detail, box):
    limits = {"TLE": Limits(cpu=0.3, wall=60.0), "TLE_WALL": Limits(cpu=2.0, wall=1.0)}.get(verdict, Limits(cpu=2.0))
    judgement = judge(program, [("1 2", "3")], limits=limits, sandbox=box)
    assert judgement.verdicts == (verdict,)
    assert detail in judgement.details[0]
    assert judgement.details[0]
    assert judgement.outcome is False


@given(st.text(st.characters(blacklist_categories=["Cs"])), st.text(st.characters(blacklist_categories=["Cs"])))
@settings(max_examples=30)
def test_any_test_text_reaches_the_program_as_it_is(stdin, stdout):
    echo = "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())"
    judgement = judge(echo, [(stdin, stdin), (stdin, stdout)], checker={"kind": "lines"})
    assert judgement.verdicts[0] == "AC"
    same = stdin.encode().split(b"\n") == stdout.encode().split(b"\n")
    assert not same or judgement.passed


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"tests": []}, JudgeError, "at least one"),
        ({"tests": ()}, JudgeError, "at least one"),
        ({"tests": iter([])}, JudgeError, "at least one"),
        ({"tests": "12"}, JudgeError, "sequence of tests"),
        ({"tests": {"stdin": "1"}}, JudgeError, "sequence of tests"),
        ({"tests": [("1", "2"), ("1",)]}, JudgeError, "test 1: expected a Test or a pair"),
        ({"tests": [("1", 2)]}, JudgeError, "test 0: test field stdout: expected a text, got int"),
        ({"tests": [("\ud800", "")]}, JudgeError, "lone surrogate"),
        ({"tests": ["ab"]}, JudgeError, "test 0: expected a Test or a pair"),
        ({"program": None}, JudgeError, "got NoneType"),
        ({"checker": {"kind": "nope"}}, JudgeError, "is unknown"),
        ({"limits": {"cpu": 1}}, JudgeError, "expected Limits, got dict"),
        ({"stop_after_tle": 0}, JudgeError, "positive integer"),
        ({"stop_after_tle": "2"}, JudgeError, "positive integer"),
        ({"entry_point": "f g"}, JudgeError, "not the name"),
    ],
)
def test_what_cannot_be_judged_is_refused_by_name(arguments, error, words, box):
    given_arguments = {"program": SUM, "tests": PAIRS} | arguments
    if "entry_point" in arguments:
        given_arguments["tests"] = [("[1]", "1")]
    with pytest.raises(error, match=words):
        judge(**given_arguments, sandbox=box)
    assert issubclass(error, ValueError)


def test_tests_survive_json_and_refuse_the_rest():
    test = Test("1\n", "2\n")
    assert Test.from_dict(test.to_dict()) == test
    for record, words in [
        ({"stdin": "1"}, "lacks stdout"),
        ({"stdin": "1", "stdout": "2", "time": 3}, "unknown field 'time'"),
        (["1", "2"], "expected a JSON object"),
        ({"stdin": None, "stdout": ""}, "stdin: expected a text"),
    ]:
        with pytest.raises(JudgeError, match=words):
            Test.from_dict(record)


# Infrastructure


def test_a_failing_sandbox_is_no_verdict():
    runs = {b"1": Run("OK", b"1"), b"2": Run("IE", detail="the worker died"), b"3": Run("OK", b"3")}
    judgement = judge("p", [("1", "1"), ("2", "2"), ("3", "3")], sandbox=Scripted(runs))
    assert judgement.verdicts == ("AC", "IE", "IE")
    assert judgement.outcome is None
    assert not judgement.passed
    assert judgement.error == "the worker died"
    broken = judge("q", [("1", "1")], sandbox=Scripted({b"1": SandboxError("no workers")}))
    assert (broken.verdicts, broken.outcome, broken.error) == (("IE",), None, "not run: no workers")


def test_a_sandbox_that_leaves_tests_out_fails_and_does_not_pass():
    class Lazy(Scripted):
        def run(self, program, inputs, limits, stop=None, language="python"):
            return super().run(program, inputs[:1], limits, stop)

    judgement = judge("p", [("1", "1"), ("2", "2")], sandbox=Lazy({b"1": Run("OK", b"1")}))
    assert judgement.verdicts == ("AC", "IE")
    assert judgement.outcome is None


def test_one_broken_program_does_not_spoil_a_batch():
    runs = {b"1": Run("OK", b"1"), b"2": SandboxError("gone")}
    jobs = [Job("p", [("1", "1")]), Job("p", [("2", "2")]), Job("p", [("1", "0")])]
    for workers in (1, 3):
        judged = judge_many(jobs, sandbox=Scripted(runs, workers))
        assert [judgement.outcome for judgement in judged] == [True, None, False]


def test_a_real_sandbox_closed_under_way_is_an_error_of_ours():
    sandbox = Sandbox(1)
    sandbox.close()
    judgement = judge(SUM, PAIRS, sandbox=sandbox)
    assert judgement.outcome is None
    assert "closed" in judgement.error
    with pytest.raises(SandboxError, match="closed"):
        run_program(SUM, "1 2", sandbox=sandbox)


# Time limits


def test_after_two_time_limits_the_rest_counts_as_slow(box):
    program = "n = int(input())\nwhile n % 2: pass\nprint(n)"
    tests = [(f"{n}", f"{n}") for n in (2, 3, 4, 5, 6, 7, 8, 9)]
    judgement = judge(program, tests, limits=QUICK, sandbox=box)
    assert judgement.verdicts == ("AC", "TLE", "AC", "TLE", "TLE", "TLE", "TLE", "TLE")
    assert judgement.cpu[4:] == (0.0,) * 4
    assert "tests before it" in judgement.details[4]
    assert judge(program, tests[:4], limits=QUICK, sandbox=box, stop_after_tle=1).verdicts == (
        "AC",
        "TLE",
        "TLE",
        "TLE",
    )
    everything = judge(program, tests, limits=QUICK, sandbox=box, stop_after_tle=None)
    assert everything.verdicts == ("AC", "TLE") * 4


STATUSES = st.lists(st.sampled_from(["OK", "OK", "TLE", "TLE_WALL", "RE"]), min_size=1, max_size=30)


@given(STATUSES, st.none() | st.integers(1, 3), st.integers(1, 5), st.booleans())
def test_verdicts_do_not_depend_on_how_work_is_shared_out(statuses, most, workers, cache):
    RUNS.clear()
    runs = {str(i).encode(): Run(status, b"1") for i, status in enumerate(statuses)}
    tests = [(str(i), "1") for i in range(len(statuses))]
    slow = [i for i, status in enumerate(statuses) if status.startswith("TLE")]
    end = slow[most - 1] + 1 if most and len(slow) >= most else len(statuses)
    want = ["AC" if s == "OK" else s for s in statuses[:end]] + ["TLE"] * (len(statuses) - end)
    for _ in range(2):
        sandbox = Scripted(runs, workers)
        assert judge("p", tests, sandbox=sandbox, stop_after_tle=most, cache=cache).verdicts == tuple(want)
        assert len(sandbox.seen) == len(set(sandbox.seen))


# Python checkers


ANY_PARTITION = """
import json, sys
d = json.load(sys.stdin)
try:
    parts = [int(t) for t in d["actual"].split()]
except ValueError:
    print("WA\\nnot integers")
else:
    print("AC" if sum(parts) == int(d["stdin"]) == int(d["expected"]) else "WA")
"""


def test_a_python_checker_accepts_any_right_answer(box):
    checker = {"kind": "python", "source": ANY_PARTITION}
    tests = [("5", "5"), ("7", "7")]
    assert judge("n = int(input())\nprint(1, n - 1)", tests, checker=checker, sandbox=box).passed
    assert judge("n = int(input())\nprint(2, n)", tests, checker=checker, sandbox=box).verdicts == ("WA", "WA")
    wrong = judge("print('AC')", tests, checker=checker, sandbox=box)
    assert wrong.verdicts == ("WA", "WA")
    assert wrong.details == ("not integers",) * 2
    assert judge("print(1 / 0)", tests, checker=checker, sandbox=box).verdicts == ("RE", "RE")


@pytest.mark.parametrize(
    "source",
    [
        "1 / 0",
        "print(",
        "print('accepted')",
        "",
        "import os; os._exit(0)",
        "print('AC'); raise SystemExit(1)",
        "print('ACAC')",
    ],
)
def test_a_python_checker_that_fails_decides_nothing(source, box):
    checker = {"kind": "python", "source": source or "pass"}
    judgement = judge("print(input())", [("1", "1")], checker=checker, sandbox=box)
    assert judgement.verdicts == ("IE",)
    assert judgement.outcome is None
    assert "checker" in judgement.error


# A checker as people write them: it reads a number and believes it.
NAIVE = """
import json, sys
test = json.load(sys.stdin)
n = int(test["actual"].split("\\n")[0])
while n < 0: n -= 1
print("AC" if sum([n] * n) == int(test["expected"]) ** 2 else "WA")
"""
STUMBLING = ["'dunno'", "''", "'9' * 10**6", "'\\udcff\\0'", "-1", "10**11", "'AC'", "'1\\nAC'", "'[' * 10**5"]


def test_an_output_that_breaks_a_checker_is_wrong(tier, monkeypatch):
    monkeypatch.setattr(trial, "CHECKER_LIMITS", Limits(cpu=1.0))
    with Sandbox(1, tier=tier) as box:
        tests = [("", "5"), ("", "7"), ("", "9")]
        source = "import os\nos.write(1, str(%s).encode(errors='surrogateescape'))"
        jobs = [Job(source % output, tests, {"kind": "python", "source": NAIVE}) for output in STUMBLING]
        for output, found in zip(STUMBLING, judge_many(jobs, sandbox=box), strict=True):
            assert (set(found.verdicts), found.outcome) == ({"WA"}, False), (output, found)
        assert judge("print(5)", tests[:1], checker={"kind": "python", "source": NAIVE}, sandbox=box).passed


# Many


def test_batches_keep_the_order(box):
    jobs = [Job(f"print(int(input()) + {i})", [("1", str(i + 1)), ("2", "5")]) for i in range(20)]
    judged = judge_many(jobs, sandbox=box)
    assert [judgement.verdicts[0] for judgement in judged] == ["AC"] * 20
    assert [judgement.verdicts[1] == "AC" for judgement in judged] == [i == 3 for i in range(20)]
    assert judge_many([], sandbox=box) == []


def test_a_bad_job_is_named_before_anything_runs():
    sandbox = Scripted({})
    with pytest.raises(JudgeError, match="job 1: there are no tests"):
        judge_many([Job("p", [("1", "1")]), Job("p", [])], sandbox=sandbox)
    assert sandbox.seen == []
    with pytest.raises(JudgeError):
        check_job(Job("p", []))
    check_job(Job("p", [("1", "1")]))


def test_many_threads_share_a_sandbox(box):
    results = [None] * 12

    def work(i):
        results[i] = judge(f"print({i})", [("", str(i))] * 3, sandbox=box).passed

    threads = [threading.Thread(target=work, args=(i,)) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 12


def test_one_run(box):
    run = run_program("print(input() + '!')", "hi", sandbox=box)
    assert (run.status, run.stdout) == ("OK", b"hi!\n")
    assert run_program(b"print(open(0, 'rb').read())", b"\xff", sandbox=box).stdout == b"b'\\xff'\n"


def test_the_sandbox_of_this_process_is_shared():
    assert shared_sandbox() is shared_sandbox()
    assert judge(SUM, PAIRS).sandbox == shared_sandbox().tier
    assert shared_sandbox(allow_unsafe=True) is shared_sandbox()  # what is allowed is not preferred


def test_an_unsafe_sandbox_is_taken_only_where_it_is_allowed_and_nothing_better_is_there(monkeypatch):
    def nothing_safe():
        raise UnsafeSandbox("no safe tier works here")

    monkeypatch.setattr("rlanything_verifiers.coding.judging.default_sandbox", nothing_safe)
    with pytest.raises(UnsafeSandbox):
        judge(SUM, PAIRS)
    with pytest.raises(UnsafeSandbox):
        run_program(SUM, "1 2")
    assert judge(SUM, PAIRS, allow_unsafe=True).passed
    assert shared_sandbox(allow_unsafe=True) is shared_sandbox(allow_unsafe=True)
