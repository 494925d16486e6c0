"""The form of an answer: texts to choose among, one after the other, again and again.

An environment gives the form of its next answer in ``info["choices"]``, and `SamplingParams.choices` passes it to an
engine, which samples no other text. A form is plain data, independent of tokens and models. Engines in this process
apply it token by token with any tokenizer; servers receive it as a regular expression.

>>> form = Then(("find ", OneOf(("apple", "pan")), Repeat(" 1", 0, 2)))
>>> pattern(form)
'(?:find (?:apple|pan)(?: 1){0,2})'
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Form", "OneOf", "Repeat", "Then", "matches", "pattern"]


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of several forms.

    Attributes:
        options: The forms, at least one.

    Raises:
        ValueError: There are no options.
    """

    options: tuple[Form, ...]

    def __post_init__(self) -> None:
        if not self.options:
            raise ValueError("OneOf needs at least one option to choose from")


@dataclass(frozen=True, slots=True)
class Then:
    """Forms one after the other, with nothing between them.

    Attributes:
        parts: The forms, in order.
    """

    parts: tuple[Form, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A form several times.

    Attributes:
        part: The repeated form, not the empty text.
        least: Fewest repetitions.
        most: Most repetitions.

    Raises:
        ValueError: ``0 <= least <= most`` does not hold, or the part is the empty text.
    """

    part: Form
    least: int
    most: int

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.most:
            raise ValueError(f"Repeat needs 0 <= least <= most, got {self.least} and {self.most}")
        if self.part == "":
            raise ValueError("Repeat needs a part that is not empty")


Form: TypeAlias = "str | OneOf | Then | Repeat"
"""A text, or a combination of forms."""

_SPECIAL = re.compile(r"[][\\^$.|?*+(){}]")


def pattern(form: Form) -> str:
    """The form as a regular expression of the whole answer, in the syntax that Python, Rust and JSON schema share."""
    if isinstance(form, str):
        return _SPECIAL.sub(lambda found: "\\" + found[0], form).replace("\n", "\\n").replace("\t", "\\t")
    if isinstance(form, OneOf):
        return f"(?:{'|'.join(map(pattern, form.options))})"
    if isinstance(form, Then):
        return f"(?:{''.join(map(pattern, form.parts))})"
    return f"(?:{pattern(form.part)}){{{form.least},{form.most}}}"


def matches(form: Form, text: str) -> bool:
    """Whether a text has the form; in time linear in the text for forms of bounded size."""
    return len(text) in _ends(form, text, frozenset((0,)))


def _ends(form: Form, text: str, starts: frozenset[int]) -> frozenset[int]:
    """Positions in a text where the form can end if it begins at one of ``starts``."""
    if isinstance(form, str):
        return frozenset(at + len(form) for at in starts if text.startswith(form, at))
    if isinstance(form, OneOf):
        return frozenset().union(*(_ends(option, text, starts) for option in form.options))
    if isinstance(form, Then):
        for part in form.parts:
            starts = _ends(part, text, starts)
        return starts
    ends = starts if form.least == 0 else frozenset()
    for count in range(1, form.most + 1):
        starts = _ends(form.part, text, starts)
        if count >= form.least:
            ends |= starts
        if not starts:
            break
    return ends
