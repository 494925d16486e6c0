"""Parser of tool calls in a language model's text: JSON, or Qwen's tags."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rlanything_envs.coding.words import Verb

__all__ = ["Call", "read_call"]

_NAMES: dict[str, Verb] = {
    **dict.fromkeys(("run", "run_code", "run_program", "run_python", "execute", "execute_code", "python"), "RUN"),
    **dict.fromkeys(("test", "test_code", "test_program", "run_test", "run_tests", "test_solution"), "TEST"),
    **dict.fromkeys(("submit", "submit_code", "submit_program", "submit_solution", "submit_answer"), "SUBMIT"),
    **dict.fromkeys(("final_answer", "finish"), "SUBMIT"),
    **dict.fromkeys(("give_up", "giveup"), "GIVE_UP"),
}  # fmt: skip
_NAME = ("name", "action", "tool", "tool_name", "function_name", "verb", "command")
_ARGUMENTS = ("arguments", "parameters", "args", "action_input", "tool_input", "kwargs")
_CODE = ("code", "program", "source", "source_code", "solution", "content", "answer", "script", "text")
_STDIN = ("stdin", "input", "input_data", "test_input")
_LANGUAGE = ("language", "lang")
_FIRST, _LAST = 4, 8  # places in a text that are tried as the beginning of JSON: the first 4 and the last 8
_DECODER = json.JSONDecoder(strict=False)  # models write line ends into their strings


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that is an action."""

    verb: Verb
    code: str = ""
    stdin: str = ""
    language: str = ""


def read_call(text: str) -> Call | None:
    """The last tool call of a text that names an action; None where there is none.

    The forms are ``{"name": "submit", "arguments": {"code": "..."}}``, its relatives (``parameters``, ``function``,
    ``tool_calls``, arguments as a text, ``{"action": "submit", "code": "..."}``), wherever a line begins with them, and
    ``<function=submit><parameter=code>...``.
    """
    found = _read_tags(text)
    if found is not None or "{" not in text:
        return found
    starts = list(_starts(text))
    for start in reversed(starts if len(starts) <= _FIRST + _LAST else [*starts[:_FIRST], *starts[-_LAST:]]):
        try:
            value, _ = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        found = _call(value)
        if found is not None:
            return found
    return None


def _starts(text: str) -> Iterator[int]:
    """Positions where JSON may begin: at the beginning of a line, or after a tag, a bracket or a label."""
    at = 0
    for line in text.split("\n"):
        place = line.find("{", 0, 120)
        before = line[: max(place, 0)].rstrip()
        if place >= 0 and (not before or before[-1] in ">]:[`"):
            yield at + place
        at += len(line) + 1


def _call(value: Any) -> Call | None:
    for _ in range(3):  # {"tool_calls": [{"function": {...}}]}
        if isinstance(value, list) and value:
            value = value[-1]
        if isinstance(value, Mapping):
            value = value.get("tool_calls") or value.get("tool_call") or value.get("function") or value
    if isinstance(value, str) or not isinstance(value, Mapping):
        return None
    verb = next((_verb(value[key]) for key in _NAME if isinstance(value.get(key), str)), None)
    if verb is None:
        return None
    arguments: Any = next((value[key] for key in _ARGUMENTS if key in value), value)
    if isinstance(arguments, str):
        try:
            read = _DECODER.decode(arguments)
        except (ValueError, RecursionError):
            read = None
        arguments = read if isinstance(read, Mapping) else {"code": arguments}
    return _of(verb, arguments) if isinstance(arguments, Mapping) else Call(verb)


def _verb(name: str) -> Verb | None:
    return _NAMES.get(name[:40].strip().lower().replace("-", "_").replace(" ", "_"))


def _of(verb: Verb, arguments: Mapping[str, Any]) -> Call:
    code, stdin, language = (
        next((value for key in keys if isinstance(value := arguments.get(key), str)), "")
        for keys in (_CODE, _STDIN, _LANGUAGE)
    )
    return Call(verb, code, stdin, language)


def _read_tags(text: str) -> Call | None:
    """``<function=submit> <parameter=code> ... </parameter> </function>``, as Qwen's coders write it."""
    start = text.rfind("<function=")
    if start < 0:
        return None
    name, closed, rest = text[start + len("<function=") :].partition(">")
    verb = _verb(name) if closed else None
    if verb is None:
        return None
    body = rest.partition("</function>")[0]
    arguments = {}
    for part in body.split("<parameter=")[1:]:
        key, _, value = part.partition(">")
        arguments[key.strip().lower()] = (
            value.rpartition("</parameter>")[0].strip("\n") if "</parameter>" in value else value
        )
    return _of(verb, arguments)
