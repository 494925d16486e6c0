"""Reading actions out of what language models write."""

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_envs.coding.actions import MAX_ACTION_LENGTH, Action, Unreadable, read_action

CODE = "print(1)\n"
BLOCK = "```python\nprint(1)\n```"

READ = {
    "as told": (f"TEST\n{BLOCK}", Action("TEST", CODE)),
    "on the same line": ("SUBMIT ```python\nprint(1)\n```", Action("SUBMIT", CODE)),
    "with stdin": (f"RUN\n{BLOCK}\n```stdin\n1 2\n3\n```", Action("RUN", CODE, "1 2\n3\n")),
    "with unmarked input": (f"RUN\n{BLOCK}\nstdin:\n```\n1 2\n```", Action("RUN", CODE, "1 2\n")),
    "input before the code": (f"RUN\n```input\n1 2\n```\n{BLOCK}", Action("RUN", CODE, "1 2\n")),
    "without input": (f"RUN\n{BLOCK}", Action("RUN", CODE)),
    "input of a test is not read": (f"TEST\n{BLOCK}\n```stdin\n1\n```", Action("TEST", CODE)),
    "lower case": (f"submit\n{BLOCK}", Action("SUBMIT", CODE)),
    "bold": (f"**SUBMIT**\n{BLOCK}", Action("SUBMIT", CODE)),
    "heading": (f"### Action: TEST\n{BLOCK}", Action("TEST", CODE)),
    "colon": (f"Run:\n{BLOCK}", Action("RUN", CODE)),
    "words after it": (f"SUBMIT my program:\n{BLOCK}", Action("SUBMIT", CODE)),
    "code in quotation marks": (f"`TEST`\n{BLOCK}", Action("TEST", CODE)),
    "prose around": (f"I will try it.\n\nTEST\n\nHere it is:\n{BLOCK}\nGood luck.", Action("TEST", CODE)),
    "no language": ("TEST\n```\nprint(1)\n```", Action("TEST", CODE)),
    "tildes": ("TEST\n~~~py\nprint(1)\n~~~", Action("TEST", CODE)),
    "open fence": ("TEST\n```python\nprint(1)", Action("TEST", CODE)),
    "long fence": ("TEST\n````python\n```\n````", Action("TEST", "```\n")),
    "windows": ("TEST\r\n```python\r\nprint(1)\r\n```\r\n", Action("TEST", CODE)),
    "code first": (f"{BLOCK}\nSUBMIT", Action("SUBMIT", CODE)),
    "deliberation": (f"<think>TEST\n```\nbad\n```\nor SUBMIT</think>\nRUN\n{BLOCK}", Action("RUN", CODE)),
    "the last word counts": (f"TEST\n```\nold\n```\nSUBMIT\n{BLOCK}", Action("SUBMIT", CODE)),
    "python block preferred": (f"TEST\n```text\nplan\n```\n{BLOCK}", Action("TEST", CODE)),
    "give up": ("GIVE_UP", Action("GIVE_UP")),
    "give up in words": ("I cannot.\ngive up", Action("GIVE_UP")),
    "no fence": ("SUBMIT\nprint(1)", Action("SUBMIT", "print(1)")),
    "no fence, with input": ("RUN\nprint(1)\nstdin:\n4\n5", Action("RUN", "print(1)", "4\n5\n")),
    "words within a program are code": ("TEST\n```python\nSUBMIT = 1\n```", Action("TEST", "SUBMIT = 1\n")),
    "a variable of that name": (f"run = 3\nTEST\n{BLOCK}", Action("TEST", CODE)),
    "a sentence": (f"Run the following\nTEST\n{BLOCK}\nTest it well.", Action("TEST", CODE)),
}


@pytest.mark.parametrize(("text", "action"), READ.values(), ids=READ)
def test_what_is_read(text, action):
    assert read_action(text) == action


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no action word"),
        ("look", "no action word"),
        (BLOCK, "no action word"),
        ("RUNNING\n" + BLOCK, "no action word"),
        ("I would SUBMIT this", "no action word"),
        ("SUBMIT", "no code"),
        ("TEST\n```python\n\n```", "no code"),
        ("Let me see.\nSUBMIT\nprint(1)", "SUBMIT has no code"),
        ("x" * (MAX_ACTION_LENGTH + 1), "longer than"),
    ],
)
def test_what_is_not_read_is_explained(text, words):
    with pytest.raises(Unreadable, match=words):
        read_action(text)


def test_a_lone_block_is_a_submission_where_nothing_else_can_be_done():
    assert read_action(f"Here:\n```\ndraft\n```\nbetter:\n{BLOCK}", only_submit=True) == Action("SUBMIT", CODE)
    with pytest.raises(Unreadable, match="no action word"):
        read_action("42", only_submit=True)


PIECES = st.lists(
    st.sampled_from(
        ["RUN", "TEST", "SUBMIT", "GIVE_UP", "```", "~~~", "```python", "\n", " ", "*", "</think>", "stdin:"]
    )
    | st.text(max_size=4),
    max_size=30,
).map("".join)


@given(PIECES, st.booleans())
def test_any_text_is_an_action_or_unreadable(text, only_submit):
    try:
        action = read_action(text, only_submit=only_submit)
    except Unreadable:
        return
    assert action.verb in ("RUN", "TEST", "SUBMIT", "GIVE_UP")
    assert bool(action.code.strip()) == (action.verb != "GIVE_UP")
    assert not action.stdin or action.verb == "RUN"


@given(
    st.sampled_from(["RUN", "TEST", "SUBMIT"]),
    st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\r`"), min_size=1).filter(str.strip),
    st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\r`")),
)
def test_what_is_written_as_told_is_read_back(verb, code, stdin):
    action = read_action(f"{verb}\n```python\n{code}\n```\n```stdin\n{stdin}\n```")
    assert action == Action(verb, code + "\n", stdin + "\n" if verb == "RUN" else "")


@pytest.mark.parametrize("piece", ["*", "`", "```\n", " ", "RUN ", "SUBMIT\n", "action:", "~~~\n\n", "</think>"])
def test_hostile_texts_take_no_time(piece):
    text = (piece * MAX_ACTION_LENGTH)[:MAX_ACTION_LENGTH]
    begin = time.process_time()
    with contextlib.suppress(Unreadable):
        read_action(text)
    assert time.process_time() - begin < 10  # what is quadratic takes minutes
