"""Rows of CodeContests, as its authors publish them and as evaluation suites repack them."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rlanything_task_pools.coding.draft import Draft, ImportFormatError, Pair, field_of, texts

__all__ = ["matches", "read"]

PYTHON3 = 3
"""The language number of Python 3 in CodeContests."""
MAX_PROGRAMS = 8
"""Correct programs kept of a row, and wrong ones: it has hundreds."""

_TEST = ("input", "output")
_LABELS = ("name", "difficulty", "source")
_ANY_ANSWER = re.compile(
    r"\bif there (?:are|is) (?:multiple|several|many|more than one)|\b(?:print|output) any\b", re.IGNORECASE
)


def matches(row: Mapping[str, Any]) -> bool:
    """Whether a row is of this format."""
    return ("description" in row and "private_tests" in row) or ("content" in row and "test" in row)


def read(row: Mapping[str, Any]) -> Draft:
    """A row with ``description``, ``public_tests``, ``private_tests`` ..., or one with ``content`` and ``test``.

    The rows have no checkers: where a statement accepts any of several answers, the trait ``any_answer`` warns of it.

    Raises:
        ImportFormatError: A field is missing or of the wrong kind.
    """
    draft = _repacked(row) if "content" in row else _original(row)
    any_answer = _ANY_ANSWER.search(draft.statement) is not None
    return replace(draft, traits={**draft.traits, "any_answer": any_answer})


def _original(row: Mapping[str, Any]) -> Draft:
    limit, memory = _seconds(row.get("time_limit")), row.get("memory_limit_bytes")
    traits = {"contest_name": row["name"]} if isinstance(row.get("name"), str) else {}
    return Draft(
        statement=field_of(row, "description", str, "a text"),
        public=_columns(row, "public_tests"),
        hidden=_columns(row, "private_tests") + _columns(row, "generated_tests"),
        cpu=limit,
        memory=memory if isinstance(memory, int) and memory > 0 else None,
        good=_programs(row, "solutions"),
        wrong=_programs(row, "incorrect_solutions"),
        traits=traits,
    )


def _repacked(row: Mapping[str, Any]) -> Draft:
    tests, labels = _decoded(row, "test", list), {}
    if "labels" in row:
        labels = _decoded(row, "labels", dict)
    pairs: list[Pair] = []
    for i, test in enumerate(tests):
        match test:
            case {"input": {"stdin": str(stdin)}, "output": {"stdout": str(stdout)}}:
                pairs.append((stdin, stdout))
            case _:
                raise ImportFormatError(f"test[{i}]", "expected an object with the texts input.stdin and output.stdout")
    return Draft(
        statement=field_of(row, "content", str, "a text"),
        public=(),
        hidden=pairs,
        traits={f"contest_{name}": labels[name] for name in _LABELS if isinstance(labels.get(name), str)},
    )


def _decoded(row: Mapping[str, Any], name: str, kind: type) -> Any:
    """A field that is JSON, or the text of it."""
    value = field_of(row, name, (str, kind), "JSON")
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise ImportFormatError(name, f"not JSON: {error}") from None
    if not isinstance(value, kind):
        raise ImportFormatError(name, f"expected a JSON {kind.__name__}, got {type(value).__name__}")
    return value


def _columns(row: Mapping[str, Any], name: str) -> list[Pair]:
    """Tests as two columns, or as a list of objects."""
    if row.get(name) is None:
        return []
    value = field_of(row, name, (Mapping, list), "an object or a list")
    if isinstance(value, list):
        value = {key: [item.get(key) if isinstance(item, Mapping) else None for item in value] for key in _TEST}
    try:
        inputs, outputs = (texts(value, key) for key in _TEST)
    except ImportFormatError as error:
        raise ImportFormatError(f"{name}.{error.place}", error.reason) from None
    if len(inputs) != len(outputs):
        raise ImportFormatError(f"{name}.output", f"{len(outputs)} outputs for {len(inputs)} inputs")
    return list(zip(inputs, outputs, strict=True))


def _programs(row: Mapping[str, Any], name: str) -> list[str]:
    """The Python programs of a column of solutions, shortest first; none where it is not as usual."""
    match row.get(name):
        case {"language": list(languages), "solution": list(sources)}:
            pairs = list(zip(languages, sources, strict=False))
        case list(items):
            pairs = [(item.get("language"), item.get("solution")) for item in items if isinstance(item, Mapping)]
        case _:
            return []
    found = {source for language, source in pairs if language in (PYTHON3, "PYTHON3") and isinstance(source, str)}
    return sorted(found, key=lambda source: (len(source), source))[:MAX_PROGRAMS]


def _seconds(value: object) -> float | None:
    """A time limit: seconds, or a protocol-buffer duration."""
    if isinstance(value, Mapping):
        whole, part = value.get("seconds", 0), value.get("nanos", 0)
        if not all(isinstance(number, int) for number in (whole, part)):
            raise ImportFormatError("time_limit", "expected the numbers seconds and nanos")
        value = max(min(whole, 3600), 0) + max(min(part, 10**9), 0) / 1e9
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        return None
    return float(min(value, 60.0))
