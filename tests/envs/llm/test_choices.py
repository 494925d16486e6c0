"""Forms of answers, and the regular expressions that servers are given for them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from forms import some_answer
from hypothesis import given
from hypothesis import strategies as st

from rlanything_envs.llm.choices import PLAIN, Form, OneOf, Prose, Repeat, Then, fitted, matches, pattern

TEXTS = st.text("ab.*\n\\[", min_size=1, max_size=3)
FORMS = st.recursive(
    TEXTS | st.builds(Prose, st.integers(1, 3), st.sampled_from(["\n\\", "a.", ""]), st.booleans()) | st.just(Prose(0)),
    lambda forms: st.one_of(
        st.lists(forms, min_size=1, max_size=3).map(lambda options: OneOf(tuple(options))),
        st.lists(forms, max_size=3).map(lambda parts: Then(tuple(parts))),
        st.builds(
            lambda part, least, more: Repeat(part, least, least + more), forms, st.integers(0, 2), st.integers(0, 2)
        ),
    ),
    max_leaves=6,
)


@given(FORMS, st.text("ab.*\n\\[", max_size=6))
def test_a_form_and_its_pattern_take_the_same_texts(form: Form, text: str) -> None:
    assert matches(form, text) == (re.fullmatch(pattern(form), text) is not None)


def test_a_turn_of_a_household() -> None:
    form = Then((OneOf(("find", "get")), " apple: ", OneOf(("go to fridge 1", "look"))))
    assert matches(form, "find apple: go to fridge 1")
    assert not matches(form, "find apple: go to fridge 2")


def test_forms_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one option"):
        OneOf(())
    with pytest.raises(ValueError, match="least <= most"):
        Repeat("a", 2, 1)
    with pytest.raises(ValueError, match="not empty"):
        Repeat("", 0, 1)
    with pytest.raises(ValueError, match="most >= 0"):
        Prose(-1)
    with pytest.raises(ValueError, match="most >= 1"):
        Prose(0, begun=True)


@given(st.text(PLAIN, max_size=4))
def test_the_class_of_free_text_holds_its_characters_and_no_other(without: str) -> None:
    prose = Prose(1, without)
    for character in (*PLAIN, "\t", "é", "\x7f"):
        assert (re.fullmatch(pattern(prose), character) is not None) == (character in prose.characters)


@given(FORMS, st.integers(1, 40))
def test_every_answer_of_a_fitted_form_fits(form: Form, tokens: int) -> None:
    cut = fitted(form, tokens)
    if not _prose(form):
        assert cut == form
        return
    rng = np.random.default_rng(tokens)
    for _ in range(20):
        answer = some_answer(cut, rng)
        assert matches(form, answer)
        assert len(answer) < tokens or _longest(form) >= tokens


def _longest(form: Form) -> int:
    """Most characters where free texts have no more than they must."""
    if isinstance(form, str):
        return len(form)
    if isinstance(form, Prose):
        return int(form.begun)
    if isinstance(form, Repeat):
        return form.most * _longest(form.part)
    if isinstance(form, OneOf):
        return max(map(_longest, form.options))
    return sum(map(_longest, form.parts))


def _prose(form: Form) -> bool:
    if isinstance(form, Prose):
        return True
    if isinstance(form, (OneOf, Then)):
        return any(map(_prose, form.options if isinstance(form, OneOf) else form.parts))
    return isinstance(form, Repeat) and _prose(form.part)


def test_the_longest_free_texts_are_cut() -> None:
    form = Then((OneOf(("", Then((Prose(400), "\n")))), Prose(20), "end"))
    assert fitted(form, 100) == Then((OneOf(("", Then((Prose(75), "\n")))), Prose(20), "end"))
    assert fitted(form, 25) == Then((OneOf(("", Then((Prose(10), "\n")))), Prose(10), "end"))
    items = Repeat(Then((Prose(9), ",")), 1, 50)
    assert fitted(Then((Prose(400), items)), 40) == Then((Prose(29), items)), (
        "a list may be too long, whatever its texts"
    )


def test_a_reason_leaves_room_for_its_score() -> None:
    form = Then((Prose(2000), OneOf((r" \boxed{1}", r" \boxed{-1}"))))
    assert fitted(form, 64) == Then((Prose(64 - 1 - 11), form.parts[1]))  # the end, and the longer score
    assert fitted(form, 5000) == form
    assert fitted(form, 3) == Then((Prose(0), form.parts[1]))


def test_matching_takes_linear_time_in_free_text() -> None:
    form = Then((Prose(10**6, ""), Prose(10**6, ""), "end"))
    assert matches(form, "a" * 200_000 + "end")
