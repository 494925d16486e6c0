"""The checkers ``tokens``, the default, and ``yesno``: tokens compared one by one."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from .base import TextChecker, check_flag, differ, miscounted

_INTEGER = re.compile(rb"(?:0|-?[1-9][0-9]*)\Z")  # canonical form: no leading zeros, no plus


def is_integer(token: bytes) -> bool:
    """Whether a token is an integer in canonical form, of any size."""
    return _INTEGER.match(token) is not None


def same_token(expected: bytes, actual: bytes) -> bool:
    """Whether two tokens are equal as texts, or as integers where an integer is expected.

    Integers are compared by their digits, so exactly at any size. The expected token decides whether an integer is
    expected: ``7`` accepts ``+7`` and ``007``, but ``007``, which may be a code and no number, accepts itself only.
    """
    if expected == actual:
        return True
    if not is_integer(expected):
        return False
    written = actual[1:] if actual[:1] in (b"+", b"-") else actual
    if not written.isdigit():  # for bytes, the ten ASCII digits
        return False
    digits = written.lstrip(b"0") or b"0"
    return expected == (b"-" + digits if actual[:1] == b"-" and digits != b"0" else digits)


def compare_tokens(expected: bytes, actual: bytes, same: Callable[[bytes, bytes], bool]) -> str | None:
    """The message on the first token that differs, or on the number of tokens; None if all are the same."""
    if expected == actual:
        return None
    wanted, got = expected.split(), actual.split()
    if wanted == got:
        return None
    for number, (one, other) in enumerate(zip(wanted, got, strict=False), 1):
        if not same(one, other):
            return differ("token", number, one, other)
    return None if len(wanted) == len(got) else miscounted("tokens", len(wanted), len(got))


@dataclass(frozen=True, slots=True)
class Tokens(TextChecker):
    """Equal tokens with any ASCII white space between them; case matters.

    Tokens are compared as texts, integers as integers (see `same_token`). ``1.0`` is not ``1`` and
    ``0.50`` is not ``0.5``; decimals need the checker ``float``.

    Raises:
        JudgeError: `ignore_case` is not a boolean.
    """

    kind: ClassVar[str] = "tokens"

    ignore_case: bool = False
    """Whether the case of ASCII letters is ignored."""

    def __post_init__(self) -> None:
        check_flag(self.kind, "ignore_case", self.ignore_case)

    def to_dict(self) -> dict[str, Any]:
        """The checker as a JSON object."""
        return {"kind": self.kind, "ignore_case": True} if self.ignore_case else {"kind": self.kind}

    def complaint(self, expected: bytes, actual: bytes) -> str | None:
        """The first token that differs."""
        if self.ignore_case:
            expected, actual = expected.lower(), actual.lower()
        return compare_tokens(expected, actual, same_token)

    def same_value(self, expected: Any, actual: Any) -> bool:
        """Equality of plain values in Python."""
        return bool(expected == actual)


@dataclass(frozen=True, slots=True)
class YesNo(TextChecker):
    """As `Tokens`, but the answers yes and no may be written in any case."""

    kind: ClassVar[str] = "yesno"

    def complaint(self, expected: bytes, actual: bytes) -> str | None:
        """The first token that differs."""
        return compare_tokens(expected, actual, _same_answer)


def _same_answer(expected: bytes, actual: bytes) -> bool:
    answer = expected.lower()
    return actual.lower() == answer if answer in (b"yes", b"no") else same_token(expected, actual)
