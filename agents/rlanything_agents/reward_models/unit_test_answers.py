"""Parser of the unit test in an answer of a language model.

Answers are untrusted text: markdown with labelled blocks, JSON, or plain labelled lines. The parser is lenient about
the form and strict about the content: one input and one output, both present and of bounded size. The last test of an
answer counts, since models deliberate first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from rlanything_verifiers.coding import JudgeError, Test

__all__ = ["MAX_ANSWER", "MAX_TEXT", "read_unit_test"]

MAX_ANSWER = 200_000
"""Longest answer that is read, in characters."""
MAX_TEXT = 64_000
"""Longest input or output of a test, in characters: tests that make every program slow are a cheap attack."""
MAX_OBJECTS = 100
"""Maximum opening braces that are tried as the beginning of a JSON object."""

_LABEL = re.compile(
    r"[\s>#*_\-]*(?:\d+[.)]\s*)?(?:(?:unit|sample|example|expected|correct|the|test|case|#?\d+)[\s_*]+){0,4}"
    r"(?P<kind>input|stdin|output|stdout)[\s_*]*(?:\([^()]{0,60}\)[\s*_]*)?(?::[\s*_]*(?P<rest>.*)|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_FENCE = re.compile(r"\s*+(`{3,}+|~{3,}+)[^`]*+\Z")
_REMARK = re.compile(r"[\s>#*_\-]*(?:explanation|note|reason(?:ing)?|justification)\b", re.IGNORECASE)
_LABEL_WITHIN = 200  # leading characters of a line that are searched for a label
_AFTER_THINKING = "</think>"
_PAIR = ("input", "output")
_INPUTS, _OUTPUTS = ("stdin", "input", "test_input"), ("stdout", "output", "test_output", "expected_output", "expected")


@dataclass(frozen=True, slots=True)
class _Field:
    """A labelled text."""

    kind: str
    """``input`` or ``output``."""
    text: str


def read_unit_test(answer: str) -> Test:
    r"""Parse the test in an answer.

    >>> read_unit_test("**Test Input:**\n```\n1 2\n```\n**Test Output:**\n```\n3\n```")
    Test(stdin='1 2\n', stdout='3\n')

    Raises:
        JudgeError: There is no complete test in it, or it is too long.
    """
    if len(answer) > MAX_ANSWER:
        raise JudgeError(f"the answer has {len(answer)} characters; at most {MAX_ANSWER} are read")
    text = answer.rpartition(_AFTER_THINKING)[2].replace("\r\n", "\n").replace("\r", "\n")
    if (pair := _labelled(text) or _json(text)) is None:
        raise JudgeError("there is no pair of a test input and a test output")
    return make_test(*pair)


def make_test(stdin: str, stdout: str) -> Test:
    """Make a test of bounded size, both texts of which end with a newline.

    Raises:
        JudgeError: A text is empty, too long, or cannot be encoded as UTF-8.
    """
    for name, text in (("input", stdin), ("output", stdout)):
        if not text.strip():
            raise JudgeError(f"the test {name} is empty")
        if len(text) > MAX_TEXT:
            raise JudgeError(f"the test {name} has {len(text)} characters; at most {MAX_TEXT} are run")
    return Test(*(text if text.endswith("\n") else f"{text}\n" for text in (stdin, stdout)))


def _labelled(text: str) -> tuple[str, str] | None:
    """The last labelled input that is followed by an output, with this output."""
    fields = list(_fields(text.split("\n")))
    pairs = [(a.text, b.text) for a, b in pairwise(fields) if (a.kind, b.kind) == _PAIR]
    return pairs[-1] if pairs else None


def _fields(lines: list[str]) -> Iterator[_Field]:
    at = 0
    while at < len(lines):
        label = _label(lines[at])
        at += 1
        if label is None:
            at = _after_fence(lines, at - 1) if _FENCE.match(lines[at - 1]) else at
            continue
        kind = "input" if label["kind"].lower() in ("input", "stdin") else "output"
        rest = (label["rest"] or "").strip()
        first = next((n for n in range(at, len(lines)) if lines[n].strip()), len(lines))
        if not rest and first < len(lines) and _FENCE.match(lines[first]):
            end = _after_fence(lines, first)
            closed = end > first + 1 and _closes(lines[first], lines[end - 1])
            yield _Field(kind, "".join(f"{line}\n" for line in lines[first + 1 : end - closed]))
            at = end
            continue
        body = [rest.strip("`")] if rest else []
        at = at if rest else first
        while at < len(lines) and _label(lines[at]) is None and not _REMARK.match(lines[at][:_LABEL_WITHIN]):
            if kind == "output" and not lines[at].strip():
                break
            body.append(lines[at])
            at += 1
        yield _Field(kind, "\n".join(body).strip("\n"))


def _label(line: str) -> re.Match[str] | None:
    head = line[:_LABEL_WITHIN]
    if (found := _LABEL.match(head)) is None or len(line) <= _LABEL_WITHIN:
        return found
    return _LABEL.match(line) if found["rest"] is not None else None


def _after_fence(lines: list[str], start: int) -> int:
    """Index of the line after a fenced block; the end of the text where the fence stays open."""
    for n in range(start + 1, len(lines)):
        if _closes(lines[start], lines[n]):
            return n + 1
    return len(lines)


def _closes(opening: str, line: str) -> bool:
    mark = opening.strip()
    run = len(mark) - len(mark.lstrip(mark[0]))
    closing = line.strip()
    return len(closing) >= run and set(closing) == {mark[0]}


def _json(text: str) -> tuple[str, str] | None:
    """The last JSON object with an input and an output."""
    found = None
    decoder, at = json.JSONDecoder(), -1
    for _ in range(MAX_OBJECTS):
        at = text.find("{", at + 1)
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, Mapping) and (pair := _pair_of(value)) is not None:
            found, at = pair, end - 1
    return found


def _pair_of(value: Mapping[str, object]) -> tuple[str, str] | None:
    named = {str(key).strip().lower().replace(" ", "_"): item for key, item in value.items()}
    stdin = next((named[name] for name in _INPUTS if name in named), None)
    stdout = next((named[name] for name in _OUTPUTS if name in named), None)
    pair = [_as_text(item) for item in (stdin, stdout)]
    return None if pair[0] is None or pair[1] is None else (pair[0], pair[1])


def _as_text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return str(value)
        except ValueError:  # an integer of thousands of digits
            return None
    return None
