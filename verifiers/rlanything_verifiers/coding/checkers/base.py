"""Base classes of checkers."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from rlanything_verifiers.coding.errors import JudgeError

_QUOTED = 60  # characters of a token or line that a complaint quotes


class Checker(ABC):
    """Decides whether an output is right. A checker is data: `to_dict` and `parse_checker` are inverse."""

    kind: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """The checker as a JSON object."""
        return {"kind": self.kind}


class TextChecker(Checker):
    """A checker that reads only the expected and the actual output."""

    @abstractmethod
    def complaint(self, expected: bytes, actual: bytes) -> str | None:
        """The fault of an output; None when it is right."""

    def same_value(self, expected: Any, actual: Any) -> bool:
        """Whether two decoded JSON values are equal, for results of functions.

        Raises:
            JudgeError: this checker is for texts only.
        """
        raise JudgeError(f"checker {self.kind!r} compares texts; for a function choose tokens, float or unordered")


def check_flag(kind: str, name: str, value: object) -> None:
    """Refuse a value that is not a boolean.

    Raises:
        JudgeError: The value is not a boolean.
    """
    if not isinstance(value, bool):
        raise JudgeError(f"checker {kind}: {name} must be true or false, got {value!r:.80}")


def quote(text: bytes) -> str:
    """A part of an output for an error message: decoded, shortened, in quotation marks."""
    shown = text[: _QUOTED * 4].decode(errors="replace")
    return repr(shown if len(shown) <= _QUOTED else shown[:_QUOTED] + "...")


def differ(what: str, number: int, expected: bytes, actual: bytes) -> str:
    """The message on the first difference."""
    return f"{what} {number}: expected {quote(expected)}, got {quote(actual)}"


def miscounted(what: str, expected: int, actual: int) -> str:
    """The message on an output that is too short or too long."""
    return f"expected {expected} {what}, got {actual}"
