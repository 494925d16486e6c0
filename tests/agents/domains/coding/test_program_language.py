"""The restricted language: every program of the family is in it, everything in it is Python, and only it is written."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rlanything_agents.domains.coding.dialect import DIALECT
from rlanything_agents.domains.coding.language import (
    DIGITS,
    HEAD,
    MAX_STEPS,
    RESULTS,
    STEPS,
    read_program,
    write_program,
)
from rlanything_agents.domains.coding.words import LINE, WORDS, words_of

from rlanything_agents.config.seeds import rng_of
from rlanything_agents.domains.coding.lessons import wrong_program
from rlanything_envs.coding.actions import read_action
from rlanything_task_pools.coding import DOMAIN
from rlanything_task_pools.coding.generate import sketch, statement_of


@st.composite
def programs(draw: st.DrawFn) -> list[str]:
    words: list[str] = []
    for line in [*draw(st.lists(st.sampled_from(STEPS), max_size=MAX_STEPS)), draw(st.sampled_from(RESULTS))]:
        words += [line, *(str(draw(st.integers(0, 999))) if "{}" in line else "")]
    return words


def test_every_program_of_the_family_is_in_the_language() -> None:
    rng = rng_of(0, "wrong")
    for seed in range(400):
        problem = sketch(seed, families="list_steps")
        for source in (problem.reference, *problem.mutants, wrong_program(problem, rng)):
            words = read_program(source)
            assert words is not None, source
            assert write_program(words).split() == source.split()


def test_every_statement_of_the_family_can_be_read() -> None:
    """No two steps look alike to a small model: the words that are passed over do not tell them apart."""
    read: dict[tuple[str, ...], str] = {}
    for seed in range(2000):
        text = statement_of(sketch(seed, families="list_steps"))
        task = text.split("\n\nInput")[0].split("\n", 2)[2]
        words = tuple(words_of(text))
        assert words.count(LINE) == len(task.split("\n"))
        assert read.setdefault(words, task) == task


@given(programs())
def test_programs_are_written_and_read_back(words: list[str]) -> None:
    source = write_program(words)
    ast.parse(source)
    assert read_program(source) == words
    tokens = DIALECT.program(source)
    assert tokens is not None
    thought, action = DIALECT.read_turn(tokens)
    assert thought == ""
    assert read_action(action).code == source


@given(programs())
def test_every_program_can_be_decoded(words: list[str]) -> None:
    tokens = DIALECT.program(write_program(words))
    assert tokens is not None
    assert len(tokens) <= DIALECT.turn_limit
    constraint = DIALECT.constraint({})
    for token in tokens:
        assert token in constraint.allowed
        constraint.advance(token)
    assert constraint.allowed == ()


@given(st.randoms(use_true_random=False))
def test_every_walk_ends_in_a_program(random: object) -> None:
    constraint, written = DIALECT.constraint({}), []
    while allowed := constraint.allowed:
        assert list(allowed) == sorted(set(allowed))
        written.append(random.choice(allowed))  # type: ignore[attr-defined]
        constraint.advance(written[-1])
    assert written[-1] == DIALECT.end_id
    assert len(written) <= DIALECT.turn_limit
    assert constraint.command is None
    source = read_action(DIALECT.read_turn(written)[1]).code
    assert DIALECT.program(source) == tuple(written)


@pytest.mark.parametrize(
    "source",
    [
        "",
        HEAD,
        HEAD + "print(sum(a))\nprint(sum(a))\n",
        HEAD + "a = a[:2]\n",
        HEAD + "a = a[:02]\nprint(len(a))\n",
        HEAD + "a = a[:2000]\nprint(len(a))\n",
        HEAD + "import os\nprint(len(a))\n",
        HEAD + "a = a[:2]; import os\nprint(len(a))\n",
        HEAD + "a = a\n" * (MAX_STEPS + 1) + "print(len(a))\n",
        HEAD.replace("accumulate", "chain") + "print(len(a))\n",
        "print(sum(a))\n",
    ],
)
def test_other_programs_are_not_in_the_language(source: str) -> None:
    assert read_program(source) is None
    assert DIALECT.program(source) is None


@given(st.lists(st.sampled_from([*STEPS, *RESULTS, *DIGITS]), max_size=12))
def test_any_words_give_a_text(words: list[str]) -> None:
    """A model that decodes freely can write nonsense; it is submitted as it is."""
    assert write_program(words).startswith(HEAD)


@given(st.text(max_size=200))
def test_any_message_is_read(text: str) -> None:
    words = words_of(f"Title\n{text}")
    assert set(words) <= set(WORDS)
    assert len(words) <= 160


def test_a_statement_in_words() -> None:
    task = DOMAIN.generate(0, families="list_steps", levels={"steps": 2, "size": 8})
    assert DIALECT.tokenizer.decode(DIALECT.opening(task.goal)).startswith(
        "<bos> <line> list of integers the following"
    )
