"""Reading actions out of what language models write."""

import pytest
from coding_answers import ANSWERS, FUNCTION_ANSWERS, PROGRAMS
from hypothesis import given
from hypothesis import strategies as st

from rlanything_envs.coding.actions import MAX_ACTION_LENGTH, Action, WrongLanguage, read_action
from rlanything_envs.coding.words import VERBS
from rlanything_envs.errors import Unreadable

BLOCK = "```python\nprint(1)\n```"


def written(text):
    """A text with its programs in place of their names."""
    for name, program in PROGRAMS.items():
        text = text.replace(f"«{name}»", program)
    return text


def expected(outcome):
    """The action that is meant; "*" stands for any program."""
    verb, _, rest = outcome.partition(" ")
    code, _, stdin = rest.partition(" | ")
    for name, program in PROGRAMS.items():
        if code.strip() == name:
            code = code.replace(name, program)
    return Action(verb, code, stdin)


def check(text, outcome, **how):
    if outcome.startswith("? "):
        with pytest.raises(Unreadable) as refused:
            read_action(text, **how)
        assert outcome[2:] in str(refused.value)
    elif outcome.endswith("*"):
        assert read_action(text, **how).verb == outcome.split()[0]
    else:
        assert read_action(text, **how) == expected(outcome)


CASES = [pytest.param(*case, id=f"{group} {i}") for group, cases in ANSWERS.items() for i, case in enumerate(cases)]
HOW = {"one": {"only_submit": True}, "several": {}, "code": {"action_format": "code"}}


@pytest.mark.parametrize(("text", "one", "several", "code"), CASES)
def test_what_models_write(text, one, several, code):
    for how, outcome in zip(HOW.values(), (one, several, code), strict=True):
        check(written(text), outcome, **how)


@pytest.mark.parametrize(("text", "outcome"), FUNCTION_ANSWERS.values(), ids=FUNCTION_ANSWERS)
def test_the_block_that_defines_the_function_is_the_program(text, outcome):
    for only_submit in (True, False):
        check(written(text), outcome, entry_point="add", only_submit=only_submit)


def test_a_task_that_takes_two_languages():
    both = ("python", "cpp")
    assert read_action(written("SUBMIT\n```cpp\n«C»```"), languages=both) == Action("SUBMIT", PROGRAMS["C"], "", "cpp")
    assert read_action(written("```\n«C»```"), languages=both).language == "cpp"
    assert read_action(written("```\n«A»```"), languages=both).language == "python"
    with pytest.raises(WrongLanguage, match=r"this task takes Python or C\+\+; your block is Java"):
        read_action(written("```java\n«J»```"), languages=both)
    with pytest.raises(WrongLanguage, match=r"this task takes C\+\+; your block is Python"):
        read_action(BLOCK, languages=("cpp",))
    assert read_action("SUBMIT\n```\nint x;\n```", languages=("cpp",)).language == "cpp"


def test_what_is_too_long_is_refused():
    with pytest.raises(Unreadable, match="longer than"):
        read_action("x" * (MAX_ACTION_LENGTH + 1))


PIECES = st.lists(
    st.sampled_from(
        [
            *("RUN", "TEST", "SUBMIT", "GIVE_UP", "```", "~~~", "```python", "```cpp", "\n", " ", "*", "</think>"),
            *("<answer>", "</answer>", "<code>", '{"name": "submit", "arguments": {"code": "x"}}', "{", "stdin:"),
            *("<function=run>", "<parameter=code>", "> ", "1. ", "    ", "print(input())", "<think>"),
        ]
    )
    | st.text(max_size=4),
    max_size=30,
).map("".join)
WAYS = st.fixed_dictionaries(
    {},
    optional={
        "only_submit": st.booleans(),
        "languages": st.sampled_from([("python",), ("python", "cpp"), ("cpp",)]),
        "entry_point": st.sampled_from([None, "add"]),
        "action_format": st.sampled_from(["verbs", "code"]),
    },
)


def canonical(action):
    """An action as the manual says it, with a fence that its texts do not close."""
    if action.verb == "GIVE_UP":
        return "GIVE_UP"
    length = 3
    while "`" * length in action.code + action.stdin:
        length += 1
    fence = "`" * length
    text = f"{action.verb}\n{fence}{action.language}\n{action.code}\n{fence}"
    return f"{text}\n{fence}stdin\n{action.stdin}\n{fence}" if action.stdin else text


@given(PIECES, WAYS)
def test_any_text_is_an_action_or_unreadable_and_its_plain_form_is_the_same_action(text, how):
    try:
        action = read_action(text, **how)
    except Unreadable:
        return
    assert action.verb in VERBS
    assert bool(action.code.strip()) == (action.verb != "GIVE_UP")
    assert not action.stdin or action.verb == "RUN"
    assert action.verb == "GIVE_UP" or action.language in how.get("languages", ("python",))
    if how.get("only_submit") or how.get("action_format") == "code":
        assert action.verb in ("SUBMIT", "GIVE_UP")
    if "</think>" in action.code or "<function=" in action.code + action.stdin:  # can come out of JSON
        return
    again = read_action(canonical(action), **{**how, "action_format": "verbs"})
    same = Action(
        action.verb, action.code and f"{action.code}\n", action.stdin and f"{action.stdin}\n", action.language
    )
    assert again == same


@given(
    st.sampled_from(["RUN", "TEST", "SUBMIT"]),
    st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\r`\t "), min_size=1).filter(str.strip),
    st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\r`")),
)
def test_what_is_written_as_told_is_read_back(verb, code, stdin):
    action = read_action(f"{verb}\n```python\n{code}\n```\n```stdin\n{stdin}\n```")
    assert action == Action(verb, code + "\n", stdin + "\n" if verb == "RUN" else "")
