"""Rewrites: knobs move in the direction asked for; what a language model proposes is proved or refused."""

import json
from typing import Any

import numpy as np
import pytest
from coding_problems import RIGHT, WRONG, sum_payload, sum_task
from hypothesis import given
from hypothesis import strategies as st
from json_values import JSON

from rlanything_task_pools import Rejection, Task
from rlanything_task_pools.coding import DOMAIN, generate, make_task, read_payload
from rlanything_task_pools.coding.rewrite import movable, root_statement

TASK = sum_task()


@pytest.fixture(scope="module")
def generated() -> Task:
    return generate(3, families="window_sums", difficulty=0)


def validate(task: Task, proposal: Any, direction: Any = "harder") -> Task | Rejection:
    return DOMAIN.validate(task, proposal, direction=direction, author="tester", critique="too easy")


def rejected(task: Task, proposal: Any, direction: Any = "harder") -> Rejection:
    result = validate(task, proposal, direction)
    assert isinstance(result, Rejection), result
    return result


def product(**fields: Any) -> dict[str, Any]:
    """A sound rewrite of the sum of two numbers."""
    return {
        "statement": "Product\n\nThe input holds two integers a and b on a line. Print their product.",
        "public": [{"stdin": "2 3\n", "stdout": "6\n"}],
        "hidden": [
            {"stdin": "1 1\n", "stdout": "1\n"},
            {"stdin": "0 7\n", "stdout": "0"},
            {"stdin": "-4 6\n", "stdout": "-24\n"},
        ],
        "solution": "a, b = map(int, input().split())\nprint(a * b)\n",
        "wrong_programs": [RIGHT],
    } | fields


def test_every_knob_can_get_harder_from_the_easiest_level(generated: Task) -> None:
    proposals = DOMAIN.propose(generated, "harder", np.random.default_rng(0))
    assert sorted(name for proposal in proposals for name in proposal["knobs"]) == ["ask", "circle", "rule", "size"]
    assert {"knobs": {"size": 200}} in proposals
    assert DOMAIN.propose(generated, "easier", np.random.default_rng(0)) == []


def test_a_rewrite_that_keeps_the_constraints_has_to_obey_them(generated: Task) -> None:
    payload = read_payload(generated.payload)
    tests = [test.model_dump() for test in payload.tests]
    wide = {"stdin": "1 1\n1001\n", "stdout": "1001\n"}
    head, sections = payload.statement.split("\n\nInput\n")
    proposal = {
        "statement": f"{head} Take your time.\n\nInput\n{sections}",
        "public": tests[:2],
        "hidden": [*tests[2:], wide],
        "solution": generated.proof[0],
        "wrong_programs": list(payload.wrong[:4]),
    }
    refused = rejected(generated, proposal)
    assert refused.reason == "out_of_bounds"
    assert refused.detail.startswith("line 2: a_i = 1001 breaks -1000 <= a_i <= 1000")
    other = {**proposal, "statement": proposal["statement"].replace("a_i <= 1000", "a_i <= 2000")}
    assert isinstance(validate(generated, other), Task), "another problem has limits of its own"
    assert isinstance(validate(generated, {**proposal, "hidden": tests[2:]}), Task)


def test_verifying_reads_the_inputs(generated: Task) -> None:
    assert DOMAIN.verify(generated) is None
    tests = [*generated.payload["hidden"], {"stdin": "1 1\n1001\n", "stdout": "1001\n"}]
    wide = Task(domain="coding", goal=generated.goal, payload={**generated.payload, "hidden": tests},
                proof=generated.proof, traits=generated.traits)  # fmt: skip
    assert "breaks the statement: line 2: a_i = 1001" in str(DOMAIN.verify(wide))


def test_a_moved_knob_keeps_the_style() -> None:
    story = generate(3, families="window_sums", difficulty=0, style="story")
    harder = validate(story, {"knobs": {"size": 200}})
    assert isinstance(harder, Task)
    assert harder.traits["style"] == "story"
    assert harder.payload["statement"].split("\n\n")[1] == story.payload["statement"].split("\n\n")[1]


def test_a_moved_knob_and_back(generated: Task) -> None:
    harder = validate(generated, {"knobs": {"size": 200}})
    assert isinstance(harder, Task)
    assert (harder.parent, harder.root) == (generated.id, generated.id)
    assert dict(read_payload(harder.payload).knobs) == {**generated.payload["knobs"], "size": 200}
    assert harder.traits["difficulty"] > generated.traits["difficulty"]
    assert harder.rewrite is not None
    assert (harder.rewrite.direction, harder.rewrite.author, harder.rewrite.critique) == (
        "harder",
        "tester",
        "too easy",
    )
    assert harder.rewrite.change["knobs"] == {"size": {"from": 20, "to": 200}}
    assert DOMAIN.verify(harder) is None
    back = validate(harder, {"knobs": {"size": 20}}, "easier")
    assert isinstance(back, Task)
    assert back.id == generated.id, "the same seed draws the same problem again"
    assert back.root == generated.id
    assert root_statement(back) == generated.payload["statement"]


@pytest.mark.parametrize(
    ("proposal", "direction", "reason"),
    [
        ({"knobs": {"size": 20}}, "harder", "unchanged"),
        ({"knobs": {"size": 21}}, "harder", "unknown_knob"),
        ({"knobs": {"circle": 1}}, "harder", "unknown_knob"),
        ({"knobs": {"colour": 1, "size": 200}}, "harder", "unknown_knob"),
        ({"knobs": {"size": [200]}}, "harder", "unknown_knob"),
        ({"knobs": ["size"]}, "harder", "malformed"),
        ({"knobs": {}}, "harder", "unchanged"),
        ({"knobs": {"size": None, "rule": None}}, "harder", "unchanged"),
        ({"knob": "size"}, "harder", "malformed"),
        ({"knobs": {"size": 200}, "statement": 5}, "harder", "malformed"),
        ({}, "harder", "malformed"),
        ([], "harder", "malformed"),
        ({"knobs": {"size": float("nan")}}, "harder", "malformed"),
    ],
)
def test_bad_moves(generated: Task, proposal: Any, direction: str, reason: str) -> None:
    assert rejected(generated, proposal, direction).reason == reason


def test_a_task_without_knobs_has_none_to_move() -> None:
    assert DOMAIN.propose(TASK, "harder", np.random.default_rng(0)) == []
    assert rejected(TASK, {"knobs": {"size": 200}}).reason == "no_knobs"


def test_operators_that_are_off(generated: Task) -> None:
    knob, statement = DOMAIN.with_operators(["knob"]), DOMAIN.with_operators(["statement"])
    assert statement.propose(generated, "harder", np.random.default_rng(0)) == []
    off = statement.validate(generated, {"knobs": {"size": 200}}, direction="harder", author="x")
    assert isinstance(off, Rejection)
    assert off.reason == "operator_off"
    off = knob.validate(TASK, product(), direction="harder", author="x")
    assert isinstance(off, Rejection)
    assert off.reason == "operator_off"


def test_a_statement_proved_by_its_programs() -> None:
    made = validate(TASK, product(wrong_programs=[RIGHT, product()["solution"] + "#"]))
    assert isinstance(made, Task)
    payload = read_payload(made.payload)
    assert made.proof == (product()["solution"],)
    assert payload.wrong == (RIGHT, WRONG), "a program said to be wrong that passes is not kept; the parent's is tried"
    assert (made.parent, made.root, payload.family) == (TASK.id, TASK.id, None)
    assert root_statement(made) == TASK.payload["statement"]
    assert DOMAIN.verify(made) is None


def test_the_parents_program_may_prove_a_rewrite() -> None:
    same = product(hidden=[{"stdin": f"{i} 1\n", "stdout": f"{i + 1}\n"} for i in range(3)], solution="print(0)")
    same["public"] = [{"stdin": "2 3\n", "stdout": "5\n"}]
    made = validate(TASK, same | {"wrong_programs": [WRONG]}, "easier")
    assert isinstance(made, Task)
    assert made.proof == (RIGHT,)


@pytest.mark.parametrize(
    ("fields", "reason", "detail"),
    [
        ({"solution": WRONG}, "unsolved", "public test 1: WA"),
        ({"solution": "while True: pass"}, "unsolved", "TLE"),
        ({"solution": "print(\x00"}, "unsolved", "CE"),
        ({"solution": "import os\nos.fork()\nprint(6)"}, "unsolved", "public test 1"),
        ({"wrong_programs": ["a, b = map(int, input().split())\nprint(a * b + 0)"]}, "undiscerning", ""),
        ({"hidden": [{"stdin": "2 3\n", "stdout": "6\n"}] * 3}, "few_tests", "only 0"),
        ({"hidden": [{"stdin": f"{i} 0", "stdout": "0"} for i in range(4)]}, "degenerate", "same output"),
        ({"hidden": []}, "malformed", "hidden"),
        ({"public": "1 2"}, "malformed", "public"),
        ({"statement": "too short"}, "malformed", "statement"),
        ({"statement": "x" * 10_001}, "malformed", "statement"),
        ({"statement": TASK.payload["statement"] + "\n\n"}, "unsolved", "public test 1"),
        ({"solution": "x" * 20_001}, "malformed", "solution"),
        ({"public": [{"stdin": "1" * 64_001, "stdout": ""}]}, "malformed", "stdin"),
        ({"checker": {"kind": "tokens"}}, "malformed", "checker"),
        ({"public": [{"stdin": "5 1\n", "stdout": "5"}, {"stdin": "5 1\n", "stdout": "6"}]}, "malformed", "different"),
        ({"statement": "lone \ud800 surrogate " * 3}, "malformed", ""),
    ],
)
def test_bad_statements(fields: dict[str, Any], reason: str, detail: str) -> None:
    parent = sum_task(wrong=[], limits={"cpu": 0.5})
    result = rejected(parent, product(**fields))
    assert result.reason == reason, result
    assert detail in result.detail


@pytest.mark.parametrize("place", ["public", "hidden"])
@pytest.mark.parametrize("stdout", ["dunno", ""])
def test_a_rewrite_whose_tests_break_the_checker_is_rejected(place: str, stdout: str) -> None:
    """It is the rewriter's fault and no failure of the sandbox, so that it is told why."""
    source = (
        "import json, sys\nt = json.load(sys.stdin)\nprint('AC' if int(t['actual']) == int(t['expected']) else 'WA')"
    )
    parent = sum_task(wrong=[], checker={"kind": "python", "source": source})
    assert isinstance(validate(parent, product()), Task)
    broken = product()
    broken[place] = [*broken[place], {"stdin": "9 9\n", "stdout": stdout}]
    result = rejected(parent, broken)
    assert (result.reason, "does not decide on the expected output" in result.detail) == ("undecided", True)


def test_a_hidden_test_that_the_statement_shows_does_not_count() -> None:
    shown = "1000000007 3"
    told = product(hidden=[*product()["hidden"][:2], {"stdin": shown, "stdout": "3000000021"}])
    told["statement"] += f" For example, {shown} gives 3000000021."
    assert rejected(TASK, told).reason == "few_tests"


def test_functions_stay_functions() -> None:
    task = make_task(
        read_payload(
            sum_payload(
                entry_point="add",
                public=[{"stdin": "[1, 2]", "stdout": "3"}],
                hidden=[{"stdin": "[5, 2]", "stdout": "7"}],
                wrong=["def add(a, b):\n    return a - b\n"],
            )
        ),
        ("def add(a, b):\n    return a + b\n",),
    )
    assert DOMAIN.verify(task) is None
    calls = [{"stdin": f"[{i}, 4]", "stdout": str(4 * i)} for i in range(4)]
    proposal = product(
        public=calls[:1],
        hidden=calls[1:],
        solution="def add(a, b):\n    return a * b\n",
        wrong_programs=["def add(a, b):\n    return b\n"],
    )
    made = validate(task, proposal)
    assert isinstance(made, Task)
    assert made.payload["entry_point"] == "add"
    assert rejected(task, product()).reason == "malformed", "tests that are no calls"


def test_a_bad_parent_is_no_crash() -> None:
    broken = Task(domain="coding", goal="x", payload={"statement": "x"})
    assert rejected(broken, product()).reason == "bad_parent"
    assert DOMAIN.propose(broken, "harder", np.random.default_rng(0)) == []
    assert "hidden" in str(DOMAIN.verify(broken)) or "public" in str(DOMAIN.verify(broken))


def test_what_verify_finds() -> None:
    assert DOMAIN.verify(TASK) is None
    payload = read_payload(sum_payload())
    assert "there are 0" in str(DOMAIN.verify(make_task(payload)))
    assert DOMAIN.verify(make_task(payload, (WRONG,))) == (
        "the program of the proof fails: public test 1: WA token 1: expected '3', got '-1'"
    )
    assert DOMAIN.verify(sum_task(wrong=[WRONG, RIGHT + "#"])) == "wrong program 1 passes all tests"
    assert "alfworld" in str(DOMAIN.verify(Task(domain="alfworld", goal="x", payload={})))


def test_the_description_has_what_a_rewriter_needs(generated: Task) -> None:
    text = DOMAIN.describe(generated)
    payload = read_payload(generated.payload)
    for part in (
        payload.statement.strip(),
        payload.public[0].stdin.strip(),
        generated.proof[0].strip(),
        "- size: 20 of",
    ):
        assert part in text
    made = validate(TASK, product())
    assert isinstance(made, Task)
    text = DOMAIN.describe(made)
    assert text.index(TASK.payload["statement"].strip()) < text.index(product()["statement"])
    assert "-4 6" not in text, "hidden tests are not told"
    assert len(text) < 20_000


def test_the_schema_tells_what_validate_reads(generated: Task) -> None:
    schema = json.loads(json.dumps(DOMAIN.proposal_schema(generated)))
    assert list(schema["properties"]) == ["knobs", *product()]
    assert list(schema["properties"]["knobs"]["properties"]) == ["rule", "ask", "circle", "size"]
    assert set(DOMAIN.proposal_schema(TASK)["properties"]) == set(product())


def test_a_knob_may_go_to_any_other_level(generated: Task) -> None:
    family, levels = movable(generated) or pytest.fail("no knobs")
    listed = DOMAIN.with_operators(["knob"]).proposal_schema(generated)
    knobs = listed["properties"]["knobs"]["properties"]
    offered = {name: options["enum"] for name, options in knobs.items()}
    for knob in family.knobs:
        assert offered[knob.name] == [level for level in knob.levels if level != levels[knob.name]]


def test_parts_that_are_null_stay_as_they_are(generated: Task) -> None:
    """A statement alone, with the tests and programs of the task; and examples alone."""
    words = generated.payload["statement"].strip() + "\n\nHint: keep a running sum."
    nothing = dict.fromkeys(product())
    new = DOMAIN.validate(generated, {**nothing, "statement": words}, direction="easier", author="x")
    assert isinstance(new, Task), new
    assert new.payload["statement"] == words
    assert new.payload["hidden"] == generated.payload["hidden"]
    assert new.proof == generated.proof
    assert DOMAIN.verify(new) is None
    shorter = [dict(test) for test in generated.payload["public"]][:1]
    examples = DOMAIN.validate(generated, {**nothing, "public": shorter}, direction="harder", author="x")
    assert isinstance(examples, Task) == (len(generated.payload["public"]) > 1), examples
    same = validate(generated, {**nothing, "statement": generated.payload["statement"]})
    assert isinstance(same, Rejection)
    assert same.reason == "unchanged"


def test_a_statement_does_not_show_the_solution() -> None:
    lines = ["numbers = list(map(int, input().split()))", "numbers.sort()", "print(numbers[0])"]
    program = "\n".join(lines)
    quoted = "\n".join(f"> {line}  # so" for line in lines)
    for text in (program, quoted, ", then ".join(line.replace(" ", "") for line in lines).upper()):
        shown = {**product(), "statement": f"{TASK.payload['statement']} Use this:\n{text}", "solution": program}
        assert rejected(TASK, shown, "easier").reason == "solution_shown"


def test_what_a_statement_hides_changes_nothing(generated: Task) -> None:
    for text in ("{problem}\n.", "_{problem}_!"):
        assert rejected(generated, {"statement": text}).reason == "unchanged"
    for letter in "\u200b\u202e\x1b":
        assert rejected(generated, {"statement": f"{{problem}} Good{letter} luck."}).reason == "malformed"
    hidden = read_payload(generated.payload).hidden
    told = "; ".join(f"{' | '.join(test.stdin.split())} gives {test.stdout}" for test in hidden)
    made = validate(generated, {"statement": f"{{problem}}\n{told}"})
    left = () if isinstance(made, Rejection) else made.payload["hidden"]
    assert all(len(test["stdin"]) < 20 for test in left), "what is told is not hidden, whatever stands between"


def test_a_rewrite_keeps_the_languages() -> None:
    both = make_task(read_payload({**TASK.payload, "languages": ["cpp", "python"]}), TASK.proof, dict(TASK.traits))
    made = validate(both, product())
    assert isinstance(made, Task)
    assert made.payload["languages"] == ("cpp", "python")


def test_one_proposal_moves_knobs_and_changes_words_and_examples(generated: Task) -> None:
    moves = {"size": 200, "circle": True, "rule": None}
    plain = validate(generated, {"knobs": moves})
    assert isinstance(plain, Task), plain
    tests = [test.model_dump() for test in read_payload(plain.payload).tests]
    words = "A baker asks you this.\n\n{problem}\nHint: keep a running sum."
    made = validate(generated, {"knobs": moves, "statement": words, "public": tests[-2:], "hidden": tests[:-2]})
    assert isinstance(made, Task), made
    payload = read_payload(made.payload)
    assert payload.statement == words.replace("{problem}", str(plain.payload["statement"]))
    assert [test.model_dump() for test in payload.public] == tests[-2:]
    assert made.proof == plain.proof
    assert made.rewrite is not None
    assert made.rewrite.change["knobs"] == {"size": {"from": 20, "to": 200}, "circle": {"from": False, "to": True}}
    assert made.rewrite.change["root_statement"] == generated.payload["statement"]
    assert (made.parent, made.root) == (generated.id, generated.id)
    assert made.traits["difficulty"] == plain.traits["difficulty"]
    assert DOMAIN.verify(made) is None
    onward = validate(made, {"knobs": {"circle": False}, "statement": words})
    assert isinstance(onward, Task), "its knobs can move still"
    assert dict(read_payload(onward.payload).knobs) == {**payload.knobs, "circle": False}
    assert onward.root == generated.id


def test_words_around_the_present_problem(generated: Task) -> None:
    hinted = validate(generated, {"statement": "{problem}\nHint: keep a running sum."})
    assert isinstance(hinted, Task), hinted
    assert hinted.payload["statement"] == f"{generated.payload['statement']}\nHint: keep a running sum."
    assert movable(hinted) == movable(generated)
    assert rejected(generated, {"statement": " {problem} "}).reason == "unchanged"
    moved, plain = (
        validate(generated, {"knobs": {"size": 200}, **words}) for words in ({"statement": "{problem}"}, {})
    )
    assert moved == plain
    other = validate(TASK, {**product(), "statement": "{problem} Now print their product instead."})
    assert isinstance(other, Task), other
    assert other.proof == (product()["solution"],), "another problem is proved by a program of its own"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"statement": "Print the number 5, whatever the input is, please."}, "problem_left_out"),
        ({"statement": "{problem} {problem}"}, "malformed"),
        ({"statement": "{problem}" * 1_000}, "malformed"),
        ({"statement": "{problem}" + "x" * 10_000}, "malformed"),
        ({"statement": "{problem}\n" + TASK.proof[0], "checker": {"kind": "tokens"}}, "malformed"),
        ({"public": [{"stdin": "1 1\n7\n", "stdout": "-1\n"}], "solution": "print(-1)"}, "unsolved"),
        ({"public": [{"stdin": "1 1\n1001\n", "stdout": "1001\n"}]}, "out_of_bounds"),
    ],
)
def test_words_and_examples_do_not_make_moved_knobs_unsound(
    generated: Task, fields: dict[str, Any], reason: str
) -> None:
    """A model has not seen the problem that is drawn: only the program that is known to solve it proves tests."""
    assert rejected(generated, {"knobs": {"size": 200}, **fields}).reason == reason


def test_limits_hold_where_words_follow_them(generated: Task) -> None:
    tests = [test.model_dump() for test in read_payload(generated.payload).hidden]
    wide = {"stdin": "1 1\n1001\n", "stdout": "1001\n"}
    words = {"statement": "{problem}\nHint: keep a running sum."}
    assert rejected(generated, {**words, "hidden": [*tests, wide]}).reason == "out_of_bounds"
    hinted = validate(generated, words)
    assert isinstance(hinted, Task)
    for statement in ("{problem} Good luck.", f"{generated.payload['statement']} Good luck."):
        again = {"statement": statement, "hidden": [*tests, wide]}
        assert rejected(hinted, again).reason == "out_of_bounds", "in the next rewrite too"


def test_moved_knobs_do_not_show_the_solution(generated: Task) -> None:
    made = validate(generated, {"knobs": {"size": 200}})
    assert isinstance(made, Task)
    shown = {"knobs": {"size": 200}, "statement": "{problem}\n" + made.proof[0]}
    assert rejected(generated, shown).reason == "solution_shown"


def test_both_operators_are_needed_for_both(generated: Task) -> None:
    both = {"knobs": {"size": 200}, "statement": "{problem} Hint: keep a running sum."}
    for name in ("knob", "statement"):
        domain = DOMAIN.with_operators([name])
        found = domain.validate(generated, both, direction="harder", author="x")
        assert isinstance(found, Rejection)
        assert found.reason == "operator_off"
        assert ("knobs" in domain.proposal_schema(generated)["properties"]) == (name == "knob")


@given(st.dictionaries(st.sampled_from([*product(), "knobs", "x"]), JSON, min_size=1, max_size=3))
def test_any_json_is_a_task_or_a_rejection(fields: dict[str, Any]) -> None:
    result = validate(TASK, product(**fields))
    assert isinstance(result, Rejection | Task)
    if isinstance(result, Rejection):
        assert result.reason
        assert result.detail


def test_a_language_model_is_told_why_and_may_try_again() -> None:
    """The whole way: prompt, answer, rejection with its reason in the next prompt, proved task."""
    from rlanything_envs.curriculum import LLMRewriter, Request
    from rlanything_envs.llm import ScriptedGenerator

    answers = ["No.", *(f"```json\n{json.dumps(product(**fields))}\n```" for fields in ({"solution": WRONG}, {}))]
    prompts: list[str] = []

    def answer(prompt: Any, sample: int) -> str:
        prompts.append(prompt[-1]["content"])
        return answers[len(prompts) - 1]

    rewriter = LLMRewriter(ScriptedGenerator(answer), "a-model")
    request = Request(TASK, "harder", 0.95, critique="hidden test 2: passed by 90 %")
    result = rewriter.rewrite(request, np.random.default_rng(0))
    assert [rejection.reason for rejection in result.rejections] == ["no_json", "unsolved"]
    assert result.candidate is not None
    assert result.candidate.proof == (product()["solution"],)
    for part in (TASK.payload["statement"].strip(), RIGHT.strip(), "passed by 90 %", "wrong_programs"):
        assert part in prompts[0]
    assert "unsolved: the solution fails public test 1: WA" in prompts[2]


def test_the_scripted_rewriter_needs_no_language_model(generated: Task) -> None:
    from rlanything_envs.curriculum import Request, ScriptedRewriter

    result = ScriptedRewriter().rewrite(Request(generated, "harder", 1.0), np.random.default_rng(1))
    assert result.candidate is not None
    assert result.candidate.traits["difficulty"] > generated.traits["difficulty"]
