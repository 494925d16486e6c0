"""Checkers, which decide whether an output is right; in a task a checker is data, ``{"kind": "tokens"}``.

Checker programs and interactors are run by `rlanything_verifiers.coding.judging`, in the sandbox.
"""

from collections.abc import Mapping
from typing import Any

from rlanything_verifiers.coding.errors import JudgeError

from .asserts import Asserts
from .base import Checker, TextChecker
from .interactor import Interactor
from .lines import Lines, Unordered
from .numbers import Float
from .python import Python
from .tokens import Tokens, YesNo

__all__ = [
    "Asserts",
    "Checker",
    "Float",
    "Interactor",
    "Lines",
    "Python",
    "TextChecker",
    "Tokens",
    "Unordered",
    "YesNo",
    "parse_checker",
]

_KINDS: dict[str, tuple[type[Checker], frozenset[str]]] = {
    "tokens": (Tokens, frozenset({"ignore_case"})),
    "lines": (Lines, frozenset()),
    "float": (Float, frozenset({"abs", "rel", "ignore_case"})),
    "yesno": (YesNo, frozenset()),
    "unordered": (Unordered, frozenset()),
    "asserts": (Asserts, frozenset({"setup"})),
    "python": (Python, frozenset({"source"})),
    "interactor": (Interactor, frozenset({"source"})),
}


def parse_checker(data: Checker | Mapping[str, Any] | None) -> Checker:
    """The checker of untrusted data; None means tokens.

    Raises:
        JudgeError: the kind or a field is unknown, missing or malformed.
    """
    if data is None:
        return Tokens()
    if isinstance(data, Checker):
        return data
    if not isinstance(data, Mapping):
        raise JudgeError(f"checker: expected a JSON object, got {type(data).__name__}")
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise JudgeError(f"checker kind {kind!r:.80} is unknown; choose from {', '.join(_KINDS)}")
    make, fields = _KINDS[kind]
    arguments = {key: value for key, value in data.items() if key != "kind"}
    if unknown := sorted(str(key)[:40] for key in arguments if key not in fields):
        raise JudgeError(f"checker {kind}: unknown field {unknown[0]!r}")
    if "source" in fields and "source" not in arguments:
        raise JudgeError(f"checker {kind}: lacks its source")
    return make(**arguments)
