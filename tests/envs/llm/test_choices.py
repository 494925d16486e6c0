"""Forms of answers, and the regular expressions that servers are given for them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_envs.llm.choices import Form, OneOf, Repeat, Then, matches, pattern

TEXTS = st.text("ab.*\n\\[", min_size=1, max_size=3)
FORMS = st.recursive(
    TEXTS,
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
