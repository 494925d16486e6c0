"""The writer of tests, small or large, and its tests run on programs in the sandbox."""

import shutil
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_agents.domains.coding.short_tests import ShortTests, written_test
from rlanything_agents.reward_models.trials import Bench, run_tests
from rlanything_agents.reward_models.unit_tests import CALL_FORM, FORM, ChatTests, UnitTestWriter, WrittenTest
from rlanything_envs.coding.list_words import WORDS
from rlanything_envs.llm import ScriptedGenerator
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams
from rlanything_task_pools.coding import Payload, read_payload
from rlanything_verifiers.coding import JudgeError, Test

RIGHT = "a, b = map(int, input().split())\nprint(a + b)\n"
MINUS = "a, b = map(int, input().split())\nprint(a - b)\n"
CRASH = "raise SystemExit(1)\n"
LOOP = "while True: pass\n"


def problem(**fields: object) -> Payload:
    return read_payload(
        {
            "statement": "Sum\n\nPrint the sum of two integers.\n",
            "public": [{"stdin": "1 2\n", "stdout": "3\n"}],
            "hidden": [{"stdin": "77 5\n", "stdout": "82\n"}],
            **fields,
        }
    )


def said(text: str, **fields: object) -> Completion:
    return Completion(text, "stop", **fields)  # type: ignore[arg-type]


class Scripted(ScriptedGenerator):
    """Gives its answers in turn, and remembers the last call."""

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        self.asked = (prompts, params)
        return super().generate(prompts, params)


def test_a_language_model_is_shown_the_problem_and_its_samples_and_nothing_hidden() -> None:
    answers = [said("**Test Input:**\n```\n2 2\n```\n**Test Output:**\n```\n4\n```"), said("I do not know.")]
    generator = Scripted(answers)
    ((good, bad),) = UnitTestWriter(generator, ChatTests(), 99).write([problem()], tests=2, seed=7)
    prompts, params = generator.asked
    text = prompts[0][0]["content"]  # type: ignore[index]
    assert "Print the sum of two integers." in text
    assert "1 2" in text
    assert "77 5" not in text
    assert "82" not in text
    assert (params.max_tokens, params.n, params.seed) == (99, 2, 7)
    assert good.test == Test("2 2\n", "4\n")
    assert (bad.test, bad.failed) == (None, False)
    assert "no pair" in bad.complaint


def test_tests_of_functions_are_calls_in_json() -> None:
    called = problem(
        entry_point="add",
        public=[{"stdin": "assert add(1, 2) == 3", "stdout": ""}],
        checker={"kind": "asserts"},
        hidden=[{"stdin": "[1, 2]", "stdout": "3"}],
    )
    answers = [said("Input: [2, 3]\nOutput: 5"), said("Input: 2 3\nOutput: 5")]
    generator = Scripted([said(""), said(""), *answers])
    _, (good, bad) = UnitTestWriter(generator, ChatTests(constrained=True)).write([problem(), called], tests=2, seed=0)
    (_, (message,)), params = generator.asked
    assert params.choices == (FORM, CALL_FORM)
    text = message["content"]
    assert "JSON list of its arguments" in text
    assert "Sample 1\nInput:\n[1,2]\nOutput:\n3\n" in text, "a sample is a call, as a test is"
    assert all(f"```\nthe JSON {what}\n```" in text for what in ("list of the arguments", "of the result"))
    assert good.test is not None
    assert bad.test is None
    (passes,) = run_tests([Bench(called, ("def add(a, b): return a + b", "def add(a, b): return a"), (good, bad))])
    assert passes.tolist() == [[1, 0], [0, 0]]


def test_samples_that_json_cannot_tell_stay_asserts() -> None:
    calls = ["f((1, 2))", "f({1: 2})", "f(a=1)", "f(1e999)", "f(f(1))", "g(1)", "f(*[1])", "f({[]: 1})", "f(1) < 3"]
    calls += [f"f({'[' * 900}", f"f({'-' * 1900}1)", f"f({'9' * 400} + 1j)"]
    samples = {f"assert {call} == 2": f"assert {call} == 2" for call in calls}
    samples['assert candidate([1], {"a": "é"}) == [None], 0'] = 'Input:\n[[1],{"a":"\\u00e9"}]\nOutput:\n[null]'
    for sample, shown in samples.items():
        (message,) = ChatTests().test_prompt(problem(entry_point="f", public=[{"stdin": sample, "stdout": ""}]))
        assert f"Sample 1\n{shown}\n" in message["content"]


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_a_program_in_cpp_is_compiled() -> None:
    answers = [said("Input: 2 3\nOutput: 5"), said("Input: 2 3\nOutput: 6")]
    (tests,) = UnitTestWriter(ScriptedGenerator(answers), ChatTests()).write([problem()], tests=2, seed=0)
    code = "#include <iostream>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b; }"
    (passes,) = run_tests([Bench(problem(), (RIGHT, code), tuple(tests), {code: "cpp"})])
    assert passes.tolist() == [[1, 0], [1, 0]]


def test_a_failed_generator_is_no_answer() -> None:
    failed = Completion("", "error", error="the service is down")
    ((test,),) = UnitTestWriter(ScriptedGenerator([failed]), ChatTests()).write([problem()], tests=1, seed=0)
    assert test.failed
    assert test.complaint == "the service is down"
    (passes,) = run_tests([Bench(problem(), (RIGHT,), (test,))])
    assert np.isnan(passes).all()


def test_without_ids_there_is_nothing_to_learn_from() -> None:
    with pytest.raises(ValueError, match="token ids"):
        WrittenTest(said("x"), Test("1", "1")).sample(1.0)
    row = WrittenTest(Completion("x", "stop", [1], [2, 3], [-1.0, -2.0]), None).sample(-0.5)
    assert (row.weights, row.advantages) == ([0.5, 0.5], [-0.5, -0.5])


def written(stdin: str, stdout: str) -> WrittenTest:
    return WrittenTest(said(""), Test(stdin, stdout))


def test_programs_pass_and_fail_tests() -> None:
    tests = (written("1 2\n", "3\n"), written("5 0\n", "5\n"), written("5 0\n", "6\n"), WrittenTest(said(""), None))
    sums, empty = run_tests([Bench(problem(), (RIGHT, MINUS, CRASH, "", RIGHT), tests), Bench(problem(), (RIGHT,), ())])
    assert sums.tolist() == [[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 0, 0]]
    assert empty.shape == (1, 0)


CARELESS = """
import json, sys
test = json.load(sys.stdin)
print("AC" if int(test["actual"]) == int(test["expected"]) else "WA")
"""
TALKS = """
import json, sys
test = json.loads(input())
print(test["stdin"], flush=True)
print("AC" if sys.stdin.readline().strip() == str(int(test["expected"])) else "WA", file=sys.stderr)
"""


@pytest.mark.parametrize(("kind", "source"), [("python", CARELESS), ("interactor", TALKS)])
def test_every_program_fails_a_test_that_breaks_the_checker(kind: str, source: str) -> None:
    """Else a reward model could make tests without a reward, by expecting what the checker cannot read."""
    checked = problem(checker={"kind": kind, "source": source})
    tests = (written("1 2\n", "3\n"), written("5 0\n", "dunno\n"), written("5 0\n", "5\n"))
    (passes,) = run_tests([Bench(checked, (RIGHT, MINUS), tests)])
    assert passes.tolist() == [[1, 0, 1], [0, 0, 1]]
    (none,) = run_tests([Bench(checked, (RIGHT,), tests[1:2])])
    assert none.tolist() == [[0]]


def test_a_slow_program_fails_each_test_by_itself() -> None:
    slow = problem(limits={"cpu": 0.2})
    tests = tuple(written(f"{n} 0\n", f"{n}\n") for n in range(3))
    late = "a, b = map(int, input().split())\nwhile a < 2: pass\nprint(a + b)\n"
    (passes,) = run_tests([Bench(slow, (RIGHT, LOOP, late), tests)])
    assert passes.tolist() == [[1, 1, 1], [0, 0, 0], [0, 0, 1]]


@given(st.lists(st.integers(-999, 999), min_size=1, max_size=8), st.lists(st.integers(-99, 999), max_size=4))
def test_a_test_in_short_words_comes_back(numbers: list[int], outputs: list[int]) -> None:
    stdout = " ".join(map(str, outputs)) or "EMPTY"
    text = written_test(numbers, stdout)
    assert text is not None
    assert set(text.split()) <= set(WORDS)
    test = ShortTests().read_test(said(text))
    assert test.stdin == f"{len(numbers)}\n{' '.join(map(str, numbers))}\n"
    assert test.stdout == f"{stdout}\n"


@given(st.lists(st.sampled_from([*WORDS, "other", "-1"]), max_size=12).map(" ".join) | st.text(max_size=60))
def test_any_words_are_a_test_or_not(text: str) -> None:
    try:
        test = ShortTests().read_test(said(text))
    except JudgeError:
        return
    length, numbers = test.stdin.split("\n")[:2]
    assert int(length) == len(numbers.split())
    assert all(str(int(number)).lstrip("-").isdigit() for number in numbers.split())
