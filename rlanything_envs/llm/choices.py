"""The form of an answer: texts to choose among, one after the other, again and again, and free text between them.

An environment gives the form of its next answer in ``info["choices"]``, and `SamplingParams.choices` passes it to an
engine, which samples no other text. A form is plain data, independent of tokens and models. Engines in this process
apply it token by token with any tokenizer; servers receive it as a regular expression.

>>> form = Then(("find ", OneOf(("apple", "pan")), Repeat(" 1", 0, 2)))
>>> pattern(form)
'(?:find (?:apple|pan)(?: 1){0,2})'
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import TypeAlias

__all__ = ["Form", "OneOf", "Prose", "Repeat", "Then", "fitted", "matches", "pattern"]

PLAIN = "\n" + "".join(map(chr, range(32, 127)))
"""Characters of free text: printable ASCII and the line end. Each of them is at least one token of any tokenizer."""


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
        most: Maximum repetitions.

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


@dataclass(frozen=True, slots=True)
class Prose:
    """Free text of printable ASCII characters.

    What follows it should begin with a character that it leaves out, so that there is one way to read an answer.

    Attributes:
        most: Maximum characters.
        without: Characters that it leaves out; a line end is one of them unless the text may have several lines.
        begun: Whether it has a first character, no blank and no line end. Such a text is one `Prose`, and not a
            `OneOf` before one: a model would have to write that character as a token of its own.

    Raises:
        ValueError: ``most`` is negative, or 0 for a text that has a first character.
    """

    most: int
    without: str = "\n\\"
    begun: bool = False

    def __post_init__(self) -> None:
        if self.most < self.begun:
            raise ValueError(f"Prose needs most >= {int(self.begun)}, got {self.most}")

    @property
    def characters(self) -> str:
        """Characters that it may hold, ascending."""
        return "".join(character for character in PLAIN if character not in self.without)

    @property
    def first(self) -> str:
        """Characters that it may begin with, ascending."""
        return "".join(self.characters.split()) if self.begun else self.characters


Form: TypeAlias = "str | OneOf | Then | Repeat | Prose"
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
    if isinstance(form, Prose):
        first = f"[{_ranges(form.first)}]" if form.begun else ""
        return f"{first}[{_ranges(form.characters)}]{{0,{form.most - form.begun}}}"
    return f"(?:{pattern(form.part)}){{{form.least},{form.most}}}"


def _ranges(characters: str) -> str:
    """Inside of a character class, with a range for each run of successive characters."""
    runs = [[c for _, c in run] for _, run in groupby(enumerate(characters), lambda at: ord(at[1]) - at[0])]
    shown = [[_IN_CLASS.sub(r"\\\g<0>", c).replace("\n", "\\n") for c in (run[0], run[-1])] for run in runs]
    return "".join(first if first == last else f"{first}-{last}" for first, last in shown)


_IN_CLASS = re.compile(r"[][\\^-]")


@lru_cache(maxsize=2**10)  # many turns offer the same commands
def fitted(form: Form, tokens: int) -> Form:
    """The form with its longest free texts cut so that every answer of it fits into a number of tokens, with its end.

    A token of any tokenizer has at least one character of such a text. So free text gets fewer characters than it
    could have in most tokenizers, and an answer is never cut off before it has its form. Where lists alone may have
    more tokens, there is only room for their fewest items: an answer with long lists may be cut off.

    Args:
        form: The form.
        tokens: Maximum tokens of an answer.
    """
    if _longest(form, tokens) < tokens:
        return form
    whole = _longest(form, 0) < tokens
    fitting = bisect_right(range(tokens), tokens - 1, key=lambda most: _longest(form, most, whole))
    return _cut(form, max(0, fitting - 1))


def _longest(form: Form, most: int, whole: bool = True) -> int:
    """Maximum bytes of an answer with free texts of at most ``most`` characters; if not ``whole``, with few repeats."""
    if isinstance(form, str):
        return len(form.encode())
    if isinstance(form, Prose):
        return max(int(form.begun), min(form.most, most))
    if isinstance(form, Repeat):
        return (form.most if whole else form.least) * _longest(form.part, most, whole)
    if isinstance(form, OneOf):
        return max(_longest(option, most, whole) for option in form.options)
    return sum(_longest(part, most, whole) for part in form.parts)


def _cut(form: Form, most: int) -> Form:
    if isinstance(form, Prose):
        return replace(form, most=max(int(form.begun), min(form.most, most)))
    if isinstance(form, OneOf):
        return OneOf(tuple(_cut(option, most) for option in form.options))
    if isinstance(form, Then):
        return Then(tuple(_cut(part, most) for part in form.parts))
    return form if isinstance(form, str) else replace(form, part=_cut(form.part, most))


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
    if isinstance(form, Prose):
        if form.begun:
            starts = frozenset(at + 1 for at in starts if at < len(text) and text[at] in form.first)
        return _prose_ends(form, text, starts)
    ends = starts if form.least == 0 else frozenset()
    for count in range(1, form.most + 1):
        starts = _ends(form.part, text, starts)
        if count >= form.least:
            ends |= starts
        if not starts:
            break
    return ends


def _prose_ends(form: Prose, text: str, starts: frozenset[int]) -> frozenset[int]:
    """As `_ends`, in one pass over the text."""
    characters, ends, left = frozenset(form.characters), set[int](), -1
    for at in range(len(text) + 1):
        if at in starts:
            left = form.most - form.begun
        if left >= 0:
            ends.add(at)
        left = left - 1 if at < len(text) and text[at] in characters else -1
    return frozenset(ends)
