"""Coding in few words: statements, programs of sentences, verdicts."""

import ast

import numpy as np
import pytest
from forms import some_answer
from hypothesis import given
from hypothesis import strategies as st

from rlanything_envs.coding.actions import read_action
from rlanything_envs.coding.list_language import (
    DIGITS,
    HEAD,
    MAX_STEPS,
    RESULTS,
    STEPS,
    is_program,
    read_program,
    write_program,
)
from rlanything_envs.coding.list_words import LINE, MAX_WORDS, VERDICTS, WORDS, name_of, words_of
from rlanything_envs.coding.short import PROGRAM, VIEW, read, submission, write
from rlanything_envs.llm.choices import matches
from rlanything_envs.views import get_view, make_env
from rlanything_task_pools import Task
from rlanything_task_pools.coding import DOMAIN
from rlanything_task_pools.coding.generate import sketch, statement_of

ENV_ID = "RLAnything/Coding-v0"


@st.composite
def programs(draw: st.DrawFn) -> list[str]:
    words: list[str] = []
    for line in [*draw(st.lists(st.sampled_from(STEPS), max_size=MAX_STEPS)), draw(st.sampled_from(RESULTS))]:
        words += [line, *(str(draw(st.integers(0, 999))) if "{}" in line else "")]
    return words


@pytest.fixture(scope="module")
def problems() -> list[Task]:
    return [DOMAIN.generate(seed, families="list_steps", levels={"steps": 2, "size": 8}) for seed in range(2)]


# -- the language --------------------------------------------------------------------------------------------------


def test_every_program_of_the_family_is_in_the_language() -> None:
    for seed in range(200):
        problem = sketch(seed, families="list_steps")
        for source in (problem.reference, *problem.mutants):
            words = read_program(source)
            assert words is not None, source
            plain = submission(write_program(words))
            assert write_program(words).split() == source.split()
            assert read(write("", submission(source))) == ("", plain)
            assert matches(PROGRAM, write("", plain))


@given(programs())
def test_programs_are_written_and_read_back(words: list[str]) -> None:
    source = write_program(words)
    ast.parse(source)
    assert read_program(source) == words
    action = submission(source)
    answer = write("", action)
    assert matches(PROGRAM, answer)
    assert set(answer.split()) <= set(WORDS)
    assert len(answer.split()) == len(words), "one word a sentence, one a digit"
    assert read(answer) == read(" ".join(answer.split())) == read(source.removeprefix(HEAD)) == ("", action)
    assert read(write("so", action)) == ("so", action)
    assert read_action(action).code == source


@given(st.integers(0, 2**32 - 1))
def test_every_answer_of_the_form_is_a_program(seed: int) -> None:
    answer = some_answer(PROGRAM, np.random.default_rng(seed))
    _, action = read(answer)
    words = read_program(read_action(action).code)
    assert words is not None
    assert len(words) <= 32
    assert write("", action) == answer


@pytest.mark.parametrize(
    "source",
    [
        "",
        HEAD,
        HEAD + "print(sum(a))\nprint(sum(a))\n",
        HEAD + "a = a[:2]\n",
        HEAD + "a = a[:02]\nprint(len(a))\n",
        HEAD + "a = a[:2000]\nprint(len(a))\n",
        HEAD + "a = a[:]\nprint(len(a))\n",
        HEAD + "a = a[:\u0662]\nprint(len(a))\n",
        HEAD + "import os\nprint(len(a))\n",
        HEAD + "a = a[:2]; import os\nprint(len(a))\n",
        HEAD + "a = a\n" * (MAX_STEPS + 1) + "print(len(a))\n",
        HEAD.replace("accumulate", "chain") + "print(len(a))\n",
        "print(sum(a))\n",
    ],
)
def test_other_programs_are_not_in_the_language(source: str) -> None:
    assert read_program(source) is None
    action = submission(source)
    assert write("", action) == action


@pytest.mark.parametrize(
    "answer",
    ["", "a_=_a", "a_=_a[:{}]\nprint(len(a))", "a_=_a[:{}] 0 1\nprint(len(a))", "a_=_a 3\nprint(len(a))",
     "3 print(len(a))", "print(len(a)) a_=_a", "sort them", "SUBMIT\n```python\nprint(1)\n```", "GIVE_UP"],
)  # fmt: skip
def test_what_is_no_program_is_handed_on_as_it_is(answer: str) -> None:
    assert read(answer) == ("", answer)


@given(st.lists(st.sampled_from([*map(name_of, (*STEPS, *RESULTS)), *DIGITS]), max_size=12))
def test_any_words_are_read(words: list[str]) -> None:
    action = read(" ".join(words))[1]
    assert action == " ".join(words) or read_program(read_action(action).code) is not None
    assert write_program(words).startswith(HEAD)


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    words = words_of(f"Title\n{text}")
    assert set(words) <= set(WORDS)
    assert len(words) <= MAX_WORDS
    read(text)
    read_program(text)
    assert not is_program([text])


# -- episodes ------------------------------------------------------------------------------------------------------


def test_every_statement_of_the_family_can_be_read() -> None:
    """No two steps look alike: the words that are passed over do not tell them apart."""
    told: dict[tuple[str, ...], str] = {}
    for seed in range(1000):
        text = statement_of(sketch(seed, families="list_steps"))
        task = text.split("\n\nInput")[0].split("\n", 2)[2]
        words = tuple(words_of(text))
        assert words.count(LINE) == len(task.split("\n"))
        assert told.setdefault(words, task) == task


def test_right_and_wrong_programs_get_the_same_in_both_views(problems: list[Task]) -> None:
    arguments = {"max_turns": 1, "reward": "fraction", "tasks": problems}
    full, short = make_env(ENV_ID, **arguments), make_env(ENV_ID, "short", tasks=problems)
    assert get_view(ENV_ID, "short") is VIEW
    for seed, task in enumerate(problems):
        right = sketch(seed, families="list_steps", levels={"steps": 2, "size": 8}).reference
        rewards = []
        for source in (right, HEAD + "print(len(a) - 1)\n", "print(1)"):
            seen, _ = full.reset(options={"task": task})
            brief, info = short.reset(options={"task": task})
            assert info["message"] == seen
            assert set(brief.split()) <= set(WORDS)
            assert all(line.startswith(f"{LINE} ") for line in brief.split("\n"))
            assert info["choices"] == PROGRAM
            seen, *outcome, info = full.step(submission(source))
            brief, *brief_outcome, told = short.step(VIEW.write("", submission(source)))
            assert brief_outcome == outcome
            assert told["message"] == seen
            assert {name: told[name] for name in info} == info
            assert "choices" not in told
            assert brief == {1: "solved", -1: "failed"}[info["outcome"]]
            rewards.append(outcome[0])
        assert rewards[0] == 1 > max(rewards[1:])


def test_what_became_of_an_answer_is_a_word(problems: list[Task]) -> None:
    env = make_env(ENV_ID, "short", tasks=problems, max_turns=4)
    env.reset(seed=0)
    for answer, word in (("sort them", "unreadable"), ("TEST\n```python\nprint(1)\n```", "ok"), ("GIVE_UP", "failed")):
        told, *_, info = env.step(answer)
        assert told == word in VERDICTS
        assert ("choices" in info) is (word != "failed")
