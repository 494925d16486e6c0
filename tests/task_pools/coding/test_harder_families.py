"""What is particular to the families with long inputs, with a checker and with an interactor."""

import pytest

from rlanything_task_pools.coding import FAMILIES, read_payload
from rlanything_task_pools.coding.families import Problem
from rlanything_task_pools.coding.generate import draw, problem_of, statement_of
from rlanything_task_pools.rng_stream import RngStream
from rlanything_verifiers.coding import Judgement, Limits, judge


def made(name: str, seed: int = 1, **levels: object) -> Problem:
    """A problem at the hardest level of the other knobs."""
    family = FAMILIES[name]
    return family.make(RngStream("harder", seed), {knob.name: knob.levels[-1] for knob in family.knobs} | levels)


def judged(problem: Problem, program: str, given: str, expected: str = "") -> Judgement:
    """What a program gets for one input, within the limits of a submission."""
    return judge(program, [(given, expected)], checker=problem.checker, limits=Limits(cpu=2.0))


def test_a_generated_task_leads_back_to_its_problem() -> None:
    family = FAMILIES["flows"]
    task = draw(family, {knob.name: knob.levels[0] for knob in family.knobs}, seed=3, split="train")
    problem = problem_of(task)
    assert problem is not None
    assert (problem.reference, problem.mutants) == (task.proof[0], read_payload(task.payload).wrong)


# Straight from the definition: every way to end the last group, every substring in a set.
QUADRATIC = """
n, C = map(int, input().split())
sums = [0]
for value in map(int, input().split()):
    sums.append(sums[-1] + value)
best = [0]
for i in range(1, n + 1):
    best.append(C + min(best[j] + (sums[i] - sums[j]) ** 2 for j in range(i)))
print(best[n])
"""
ALL_OF_THEM = """
n, text = int(input()), input()
print(len({text[i:j] for i in range(n) for j in range(i + 1, n + 1)}))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "levels", "naive", "verdicts"),
    [
        ("partitions", {"twist": "none", "groups": False}, QUADRATIC, {"TLE"}),
        ("substrings", {"question": "count", "times": 1, "short": False}, ALL_OF_THEM, {"TLE", "MLE"}),
    ],
)
def test_the_definition_is_right_on_small_inputs_and_too_slow_on_full_ones(name, levels, naive, verdicts) -> None:  # type: ignore[no-untyped-def]
    problem = made(name, **levels)
    full = max((problem.full(RngStream("full", i)) for i in range(6)), key=len)
    small = problem.small(RngStream("small", 1))
    for given, expected in ((small, {"AC"}), (full, verdicts)):
        outputs = judge(problem.reference, [(given, "?")], limits=Limits(cpu=5.0))
        assert outputs.verdicts == ("WA",), "the reference ends in time"
        printed = outputs.details[0].rpartition("got ")[2].strip("'")
        found = judged(problem, naive, given, printed)
        assert set(found.verdicts) <= expected, found


def test_any_right_order_is_accepted_and_no_wrong_one() -> None:
    problems = (made("orders", seed, dates=True, chains=False) for seed in range(200))
    words = ("numbered from 1", "before job")
    problem = next(problem for problem in problems if all(word in statement_of(problem) for word in words))
    given, expected = "4 2\n4 4 4 3\n1 2\n3 4\n", "1 2 3 4\n"  # job 4 is one of the first three
    for said, verdict in (
        ("1 3 4 2", "AC"),
        ("3 4 1 2\n", "AC"),
        ("3\n1\n4\n2", "AC"),
        ("1 2 3 4", "WA"),
        ("3 1 2", "WA"),
        ("3 1 4 2 2", "WA"),
        ("3 1 4 5", "WA"),
        ("3 1 4 -2", "WA"),
        ("3 1 4 ²", "WA"),
        ("IMPOSSIBLE NONE NO STUCK", "WA"),
        ("9" * 100000, "WA"),
        ("", "WA"),
    ):
        assert judged(problem, f"print({said!r})", given, expected).verdicts == (verdict,), said


RUDE = {
    "silent": "pass",
    "chatter": "print('hello there')",
    "nothing but a sign": "print('?')",
    "zero": "input()\nprint('@ask@ 0', flush=True)",
    "beyond": "input()\nprint('@tell@ 10000000', flush=True)",
    "signed": "input()\nprint('@tell@ +1', flush=True)",
    "other digits": "input()\nprint('@tell@ \\u0663', flush=True)",
    "very long": "input()\nprint('@tell@ ' + '1' * 500000, flush=True)",
    "no text": "import os\nos.write(1, b'\\xff\\x00\\n')",
    "no end of line": "import os\nos.write(1, b'@ask@ 3')",
    "endless": "while True: print('@ask@ 1', flush=True)",
}


@pytest.mark.parametrize("name", RUDE)
@pytest.mark.parametrize("hidden", ["number", "row"])
def test_a_rude_program_loses_and_breaks_nothing(hidden: str, name: str) -> None:
    problem = made("searching", 2, hidden=hidden)
    text = statement_of(problem)
    ask, tell = (text.split(before)[1].split()[0] for before in ("To ask, print a line with", "end print a line with"))
    program = RUDE[name].replace("@ask@", ask).replace("@tell@", tell)
    found = judged(problem, program, problem.full(RngStream("rude", 1)))
    assert found.verdicts[0] in ("WA", "OLE"), found


@pytest.mark.parametrize("hidden", ["number", "row"])
def test_asking_for_everything_takes_too_many_questions(hidden: str) -> None:
    problem = made("searching", 3, hidden=hidden)
    given = max((problem.full(RngStream("many", i)) for i in range(4)), key=lambda text: int(text.split()[0]))
    found = judged(problem, problem.brute, given)
    assert found.verdicts == ("WA",)
    assert "questions" in found.details[0]
    assert judged(problem, problem.reference, given).passed
