"""Random answers of a form."""

from __future__ import annotations

import numpy as np

from rlanything_envs.llm.choices import Form, OneOf, Prose, Repeat, Then

__all__ = ["some_answer"]


def some_answer(form: Form, rng: np.random.Generator) -> str:
    """A text that has the form."""
    if isinstance(form, str):
        return form
    if isinstance(form, OneOf):
        return some_answer(form.options[int(rng.integers(len(form.options)))], rng)
    if isinstance(form, Then):
        return "".join(some_answer(part, rng) for part in form.parts)
    if isinstance(form, Prose):
        first = str(rng.choice(list(form.first))) if form.begun else ""
        return first + "".join(rng.choice(list(form.characters), int(rng.integers(form.most + 1 - form.begun))))
    assert isinstance(form, Repeat)
    return "".join(some_answer(form.part, rng) for _ in range(int(rng.integers(form.least, form.most + 1))))
