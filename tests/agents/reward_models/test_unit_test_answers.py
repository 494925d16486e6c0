"""Unit tests are read from whatever form a language model gives them, and from nothing else."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlanything_agents.reward_models.unit_test_answers import MAX_ANSWER, MAX_TEXT, read_unit_test
from rlanything_agents.reward_models.unit_tests import CALL_FORM, FORM
from rlanything_envs.llm.choices import fitted, matches, pattern
from rlanything_verifiers.coding import Job, JudgeError, Test, check_job

LINE = st.text(
    st.characters(codec="utf-8", exclude_categories=("C", "Z"), exclude_characters="`~:#*>{}"), min_size=1, max_size=8
)
TEXTS = st.lists(LINE, min_size=1, max_size=3).map(lambda lines: "".join(f"= {line}\n" for line in lines))


@pytest.mark.parametrize(
    "answer",
    [
        "**Test Input:**\n```\n1 2\n```\n\n**Test Output:**\n```\n3\n```",
        "So it is 3.\n\n**Test Input:**\n```text\n1 2\n```\n**Test Output:**\n```text\n3",
        "Test Input:\n1 2\n\nTest Output:\n3\n\nExplanation: 1 + 2 is 3.",
        "Input: 1 2\nExpected output: 3",
        "### Test case 1\n**Input** (stdin):\n~~~\n1 2\n~~~\n**Expected Output**:\n~~~\n3\n~~~",
        "1. Input:\n`1 2`\n2. Output:\n`3`".replace("`", ""),
        "Input:\r\n1 2\r\nOutput:\r\n3\r\n",
        '```json\n{"input": "1 2\\n", "output": "3\\n"}\n```',
        'Here: {"stdin": "1 2", "expected_output": 3}',
        'first {"input": "9"} then {"Test Input": "1 2", "Test Output": "3"} done',
        "<think>Test Input:\n9 9\nTest Output:\n18</think>Test Input:\n1 2\nTest Output:\n3",
        "Input: 9\nOutput: 8\nNo, better:\nInput: 1 2\nOutput: 3",
        "```python\ninput: 7\noutput: 7\n```\nInput: 1 2\nOutput: 3",
    ],
)
def test_the_forms_that_models_use(answer: str) -> None:
    assert read_unit_test(answer) == Test("1 2\n", "3\n")


def test_lines_of_an_input_are_kept() -> None:
    fenced = "**Input**\n```\n2\n\n a b\n```\n**Output**\n```\nx\n y\n```"
    assert read_unit_test(fenced) == Test("2\n\n a b\n", "x\n y\n")
    assert read_unit_test("Input:\n2\n5 6\nOutput:\n5\n6\n\nThat is all.") == Test("2\n5 6\n", "5\n6\n")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("", "no pair"),
        ("The answer is 42.", "no pair"),
        ("Input: 1", "no pair"),
        ("Output: 1\nInput: 2", "no pair"),
        ('{"input": [1, 2], "output": "3"}', "no pair"),
        ('{"input": "1", "output": true}', "no pair"),
        ("Input:\n```\n```\nOutput: 3", "input is empty"),
        ("Input: 1\nOutput:\n```\n\n```", "output is empty"),
        ("x" * (MAX_ANSWER + 1), "at most"),
        ('{"input": "\\ud800", "output": "3"}', "surrogate"),
        (json.dumps({"input": "1" * (MAX_TEXT + 1), "output": "3"}), "at most"),
        ("{" * 5000, "no pair"),
        ("[" * 5000 + '{"a":' * 5000, "no pair"),
    ],
)
def test_anything_else_is_refused_with_a_reason(answer: str, said: str) -> None:
    with pytest.raises(JudgeError, match=said):
        read_unit_test(answer)


@given(TEXTS, TEXTS, st.sampled_from(["```", "````", "~~~"]))
def test_a_fenced_test_comes_back_as_it_is(stdin: str, stdout: str, fence: str) -> None:
    answer = f"**Test Input:**\n{fence}\n{stdin}{fence}\n\n**Test Output:**\n{fence}\n{stdout}{fence}\n"
    assert read_unit_test(answer) == Test(stdin, stdout)
    assert read_unit_test(f"Let me think.\n\n{answer}\nDone.") == Test(stdin, stdout)


@given(st.text(min_size=1).filter(str.strip), st.text(min_size=1).filter(str.strip))
def test_a_test_in_json_comes_back_as_it_is(stdin: str, stdout: str) -> None:
    answer = json.dumps({"test_input": stdin, "test_output": stdout}, indent=1)
    test = read_unit_test(answer)
    assert test.stdin == (stdin if stdin.endswith("\n") else f"{stdin}\n")
    assert test.stdout == (stdout if stdout.endswith("\n") else f"{stdout}\n")


@pytest.mark.parametrize("entry_point", [None, "f"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_an_answer_of_the_form_holds_a_test(entry_point: str | None, data: st.DataObject) -> None:
    form = fitted(FORM if entry_point is None else CALL_FORM, 300)
    test = read_unit_test(data.draw(st.from_regex(pattern(form), fullmatch=True)))
    check_job(Job("", [test], entry_point=entry_point))
    assert test.stdin.strip()
    assert test.stdout.strip()


def test_the_form_of_a_call_leaves_room_for_texts_and_little_for_what_models_add() -> None:
    assert len(pattern(CALL_FORM)) < 16_000, "services compile it"
    blocks = "**Test Input:**\n```\n{}\n```\n\n**Test Output:**\n```\n{}\n```"
    for call in (('[[3,1,2],"a b",-0.5]', "true"), ('[[[1,2],["x",null]]]', '{"a":[1]}'), (f'["{"x" * 40}"]', "[]")):
        assert matches(fitted(CALL_FORM, 320), f"It sorts them.\n\n{blocks.format(*call)}")
    for call in (("[1] x", "1"), ("3 1 2", "1"), ("[]", "1"), ("[1]", "1\n2"), ("[1, 2]", "1"), ("[1]", "None")):
        assert not matches(CALL_FORM, blocks.format(*call))


@pytest.mark.parametrize("fence", ["```python3", "~~~"])
def test_the_form_has_no_fence_before_the_test(fence: str) -> None:
    """Behind an open fence the blocks would be code, and the test in them unreadable."""
    blocks = "**Test Input:**\n```\n1\n```\n\n**Test Output:**\n```\n2\n```"
    assert matches(FORM, f"python3\n\n{blocks}")
    assert not matches(FORM, f"{fence}\n\n{blocks}")
    with pytest.raises(JudgeError):
        read_unit_test(f"{fence}\n\n{blocks}")
