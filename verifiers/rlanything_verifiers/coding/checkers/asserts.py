"""The checker ``asserts``: Python statements about a function."""

import ast
from dataclasses import dataclass
from typing import Any, ClassVar

from rlanything_verifiers.coding.errors import JudgeError

from .base import Checker

MAX_SOURCE = 200_000
"""Maximum characters of a test, and of the set-up before it."""


@dataclass(frozen=True, slots=True)
class Asserts(Checker):
    """The tests are Python statements about a function, such as ``assert candidate([1, 2]) == (2, 1)``.

    In a test, ``stdin`` holds the statements and ``stdout`` is empty; the function is available by its own name and as
    ``candidate``. Statements and submission run in their own processes, between which plain values pass: numbers,
    texts, lists, tuples, sets, dictionaries. So no object of the submission takes part in a comparison.

    Where ``stdout`` is not empty, ``stdin`` and ``stdout`` hold arguments and result as JSON, and a tuple counts as a
    list.

    Raises:
        JudgeError: `setup` is not Python, or too long.
    """

    kind: ClassVar[str] = "asserts"

    setup: str = ""
    """Statements that run before those of each test: imports, which the submission has too, and helpers."""

    def __post_init__(self) -> None:
        if not isinstance(self.setup, str):
            raise JudgeError(f"checker asserts: setup must be a text, got {type(self.setup).__name__}")
        try:
            check_python(self.setup)
        except JudgeError as error:
            raise JudgeError(f"checker asserts: setup: {error}") from None

    def to_dict(self) -> dict[str, Any]:
        """The checker as a JSON object."""
        return {"kind": self.kind, "setup": self.setup} if self.setup else {"kind": self.kind}


def check_python(source: str) -> None:
    """Refuse a source that is not valid Python, without running it.

    Raises:
        JudgeError: The source is not Python, or too long.
    """
    if len(source) > MAX_SOURCE:
        raise JudgeError(f"{len(source)} characters of Python; at most {MAX_SOURCE} are read")
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise JudgeError(f"not Python: {error}") from None
