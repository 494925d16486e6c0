"""Tests: the input of a program and its expected output."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from .errors import JudgeError

_FIELDS = ("stdin", "stdout")


@dataclass(frozen=True, slots=True)
class Test:
    """An input and the output expected for it.

    For a function (``entry_point``) ``stdin`` is the JSON list of its arguments, or the JSON object of its
    keyword arguments, and ``stdout`` the JSON of the result.

    Raises:
        JudgeError: a field is not a text that UTF-8 can encode.
    """

    __test__: ClassVar[bool] = False  # not a test class

    stdin: str
    stdout: str

    def __post_init__(self) -> None:
        for name in _FIELDS:
            value = getattr(self, name)
            if not isinstance(value, str):
                raise JudgeError(f"test field {name}: expected a text, got {type(value).__name__}")
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise JudgeError(f"test field {name}: character {error.start} is a lone surrogate") from None

    def to_dict(self) -> dict[str, str]:
        """The test as a JSON object."""
        return {"stdin": self.stdin, "stdout": self.stdout}

    @classmethod
    def from_dict(cls, record: object) -> Self:
        """Read a test from decoded, untrusted JSON.

        Raises:
            JudgeError: the record is not an object of exactly these fields, or a field is not a text.
        """
        if not isinstance(record, Mapping):
            raise JudgeError(f"test: expected a JSON object, got {type(record).__name__}")
        if missing := [name for name in _FIELDS if name not in record]:
            raise JudgeError(f"test: lacks {' and '.join(missing)}")
        if unknown := sorted(str(key)[:40] for key in record if key not in _FIELDS):
            raise JudgeError(f"test: unknown field {unknown[0]!r}; a test has stdin and stdout")
        return cls(record["stdin"], record["stdout"])


def as_tests(tests: Iterable[Test | tuple[str, str]]) -> tuple[Test, ...]:
    """Tests from tests or pairs.

    Raises:
        JudgeError: there are no tests.
        JudgeError: an item is neither; the message has its number.
    """
    if isinstance(tests, str | bytes | Mapping):
        raise JudgeError(f"tests: expected a sequence of tests, got {type(tests).__name__}")
    found = []
    for number, test in enumerate(tests):
        if isinstance(test, Test):
            found.append(test)
        elif isinstance(test, tuple | list) and len(test) == 2:
            try:
                found.append(Test(*test))
            except JudgeError as error:
                raise JudgeError(f"test {number}: {error}") from None
        else:
            raise JudgeError(f"test {number}: expected a Test or a pair, got {type(test).__name__}")
    if not found:
        raise JudgeError("there are no tests: give at least one, an empty list proves nothing")
    return tuple(found)
