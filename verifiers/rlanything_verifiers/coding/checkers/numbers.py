"""The checker ``float``: tokens, with a tolerance for numbers."""

import math
import re
import sys
from dataclasses import dataclass
from typing import Any, ClassVar

from rlanything_verifiers.coding.errors import JudgeError

from .base import TextChecker, check_flag
from .tokens import compare_tokens, is_integer, same_token

DEFAULT_TOLERANCE = 1e-6  # the tolerance of most published problems with real answers

_NUMBER = re.compile(rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,6})?\Z")
_LONGEST_NUMBER = 1100  # characters; a double written out in full has less than 1,080 digits


@dataclass(frozen=True, slots=True)
class Float(TextChecker):
    """As `Tokens`, but numbers may differ by ``abs``, or by ``rel`` times the expected number.

    Integers are still exact: the tolerance is for an expected ``2.5`` or ``1e9``, and for an expected ``2``
    answered by ``2.0000001``; ``100000000000000001`` is not ``100000000000000000``. NaN and infinities are accepted
    only as the identical text.

    Raises:
        JudgeError: a tolerance is not a finite number of at least 0, or `ignore_case` is not a boolean.
    """

    kind: ClassVar[str] = "float"

    abs: float = DEFAULT_TOLERANCE
    rel: float = DEFAULT_TOLERANCE
    ignore_case: bool = False
    """Whether the case of ASCII letters is ignored."""

    def __post_init__(self) -> None:
        check_flag(self.kind, "ignore_case", self.ignore_case)
        for name in ("abs", "rel"):
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0 <= value <= sys.float_info.max:  # NaN fails this comparison
                raise JudgeError(f"checker float: {name} must be a finite number of at least 0, got {value!r:.80}")

    def to_dict(self) -> dict[str, Any]:
        """The checker as a JSON object."""
        case = {"ignore_case": True} if self.ignore_case else {}
        return {"kind": self.kind, "abs": self.abs, "rel": self.rel, **case}

    def complaint(self, expected: bytes, actual: bytes) -> str | None:
        """The first token that differs."""
        if self.ignore_case:
            expected, actual = expected.lower(), actual.lower()
        return compare_tokens(expected, actual, self._same_token)

    def same_value(self, expected: Any, actual: Any) -> bool:
        """Equality, with a tolerance for floats, also inside lists and objects."""
        if isinstance(expected, list) and isinstance(actual, list):
            return len(expected) == len(actual) and all(map(self.same_value, expected, actual))
        if isinstance(expected, dict) and isinstance(actual, dict):
            return expected.keys() == actual.keys() and all(self.same_value(expected[k], actual[k]) for k in expected)
        if _real(expected) and _real(actual) and (isinstance(expected, float) or isinstance(actual, float)):
            return expected == actual or self._close(_as_float(expected), _as_float(actual))
        return bool(expected == actual)

    def _same_token(self, expected: bytes, actual: bytes) -> bool:
        if same_token(expected, actual):
            return True
        if is_integer(expected) and b"." not in actual and b"e" not in actual.lower():
            return False
        if len(expected) > _LONGEST_NUMBER or len(actual) > _LONGEST_NUMBER:
            return False
        if not (_NUMBER.match(expected) and _NUMBER.match(actual)):
            return False
        return self._close(float(expected), float(actual))

    def _close(self, expected: float, actual: float) -> bool:
        if not (math.isfinite(expected) and math.isfinite(actual)):
            return False
        return abs(expected - actual) <= max(self.abs, self.rel * abs(expected))


def _real(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer beyond every double
        return math.inf
