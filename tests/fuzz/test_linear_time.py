"""Nothing that the judge's own process does with foreign text takes more than linear time."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from fuzz_table import as_text
from fuzz_time import Use, attacks, modules, pumped, too_long, uses

from rlanything_envs.coding import actions, messages
from rlanything_envs.coding.tools import toolset
from rlanything_envs.errors import Unreadable
from rlanything_envs.tools import ToolCallError
from rlanything_verifiers.coding import Limits, Run, function
from rlanything_verifiers.coding.checkers import _KINDS, Float, Lines, Python, TextChecker, Tokens, Unordered, YesNo
from rlanything_verifiers.coding.sandbox import frames, run

PACKAGES = (
    *(f"rlanything_verifiers.{name}" for name in ("alfworld", "coding", "osworld")),
    *(f"rlanything_task_pools.{name}" for name in ("alfworld", "coding")),
    *(f"rlanything_envs.{name}" for name in ("alfworld", "coding", "curriculum", "llm", "osworld")),
    *(f"rlanything_agents.{name}" for name in ("domains", "engines", "models", "reward_models", "rollout")),
)
LONG = 10_000
"""Characters an expression is tried on: one that takes quadratic time needs seconds."""
SIZES = (1 << 12, 1 << 15, 1 << 18)
CAP = Limits().output

SHORT = {"rlanything_envs.coding.actions _VERB": 120, "rlanything_envs.coding.actions _STDIN_LABEL": 120}
"""Expressions that are applied to the beginning of a line alone, with its length."""
OWN = ("rlanything_task_pools.coding.parts", "rlanything_task_pools.coding.families")
"""Modules whose expressions are made for, and applied to, texts of this package."""


def every_use() -> Iterator[Use]:
    for module in modules(*PACKAGES):
        found, unknown = uses(module)
        if not module.__name__.startswith(OWN):
            assert not unknown, f"give these expressions a name, so that they are found and tried: {unknown}"
            yield from found


USES = list(every_use())


def test_expressions_are_found() -> None:
    names = {use.place.rpartition(" ")[2] for use in USES}
    assert {"_INTEGER", "_NUMBER", "_IMPORT", "_ADDRESS", "_ANY_ANSWER"} <= names


def too_slow(use: Use, longest: int) -> str | None:
    """The first text that takes too long, of growing lengths: one of cubic time would never end on the longest."""
    for length in (24, 120, 1000, LONG):
        for text in attacks(use.pattern, length) if length <= longest else ():
            if complaint := too_long(partial(use, text), length):
                return f"{use.pattern.pattern!r} on {text[:20]!r} ... {text[-20:]!r}: {complaint}"
    return None


@pytest.mark.parametrize("use", USES, ids=lambda use: use.place)
def test_expressions_take_linear_time(use: Use) -> None:
    words = {*use.place.split()}
    longest = next((n for name, n in SHORT.items() if {*name.split()} <= words), LONG)
    assert too_slow(use, longest) is None


@pytest.mark.parametrize(
    ("pattern", "anywhere"),
    [
        pytest.param(rb"([+-]?)0*([0-9]+)\Z", False, marks=pytest.mark.slow),
        pytest.param(r"\s*(`{3,}|~{3,})\s*([^`\s]*)[^`]*\Z", False, marks=pytest.mark.slow),
        (rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)\Z", False),
        (r"\b(?:sk|pk)[-_]?(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{16,}", True),
        (r"[ \t>]*(`{3,}|~{3,})[ \t]*[^`\n]*\Z", False),
    ],
)
def test_slow_expressions_are_noticed(pattern: str | bytes, anywhere: bool) -> None:
    assert too_slow(Use("here", re.compile(pattern), anywhere), LONG)


# -- checkers ------------------------------------------------------------------------------------------------------

CHECKERS: tuple[TextChecker, ...] = (Tokens(), Lines(), Float(), YesNo(), Unordered())
PRIME = (1 << 61) - 1
"""Integers that are multiples of it share one hash."""


def outputs(size: int) -> Iterator[tuple[bytes, bytes]]:
    """Expected and actual outputs, alike for long or not at all."""
    for body in pumped(size):
        yield b"5", body
    for unit in (b"1 ", b"1.5\n", b"yes\n", b"0" * 400 + b"1\n", b"1" * 1000 + b" ", b"a" * 5000 + b"\n"):
        body = unit * (size // len(unit))
        yield body + b"2", body + b"3"
        yield body, body.replace(b"1", b"+01", 1)
    lines = [b"%d" % (k * PRIME) for k in range(size // 24)]
    yield b"\n".join(lines), b"\n".join(lines[::-1])
    yield b"1" * size, b"0" * size + b"1" * 10
    yield b"1" * size, b"1" * (size - 1) + b"2"


def values(size: int) -> Iterator[tuple[str, str]]:
    """The same of functions: JSON texts."""
    items: list[list[object]] = [
        [k * PRIME for k in range(size // 24)],
        [[k * PRIME] for k in range(size // 26)],
        [{"a": k * PRIME} for k in range(size // 32)],
        [1e308] * (size // 7),
        [0.1] * (size // 5),
        ["a" * 50] * (size // 54),
        [[]] * (size // 4),
        [10**3900 + k for k in range(size // 3902)],
    ]
    for values_ in items:
        text = json.dumps(values_)
        yield text, json.dumps(values_[::-1])
        yield f"[{text}, 1]", f"[{text}, 2]"
    for open_, close in (("[", "]"), ('{"a":', "}")):
        for depth in (90, 900, size // 8):
            yield open_ * depth + '"' + "x" * size + '"' + close * depth, open_ * depth + "1" + close * depth
    yield json.dumps({str(k * PRIME): k for k in range(size // 40)}), "{}"
    yield "[" + "9" * size + "]", "[" + "9" * size + "]"
    yield "1" * size, "1." + "1" * size
    yield "1." + "1" * size, f"{'1' * size}e-{size}"


def check_texts(checker: TextChecker, sizes: tuple[int, ...]) -> None:
    for size in sizes:  # larger ones are not tried where one takes too long
        for expected, actual in outputs(size):
            assert too_long(partial(checker.complaint, expected, actual), size) is None, (expected[:40], actual[:40])


def check_values(checker: TextChecker, sizes: tuple[int, ...]) -> None:
    for size in sizes:
        for expected, actual in values(size):
            once = partial(function.complaint, checker, expected, actual.encode())
            assert too_long(once, size) is None, (expected[:200], actual[:200])


@pytest.mark.parametrize("checker", CHECKERS, ids=lambda checker: checker.kind)
def test_checkers_take_linear_time(checker: TextChecker) -> None:
    check_texts(checker, SIZES[1:2])


@pytest.mark.parametrize("checker", [Tokens(), Float(), Unordered()], ids=lambda checker: checker.kind)
def test_checkers_of_values_take_linear_time(checker: TextChecker) -> None:
    check_values(checker, SIZES[1:2])


@pytest.mark.slow
@pytest.mark.parametrize("checker", CHECKERS, ids=lambda checker: checker.kind)
def test_checkers_take_linear_time_up_to_the_cap(checker: TextChecker) -> None:
    check_texts(checker, (*SIZES, CAP))
    if checker.kind in ("tokens", "float", "unordered"):
        check_values(checker, (*SIZES, CAP))


def test_every_checker_is_tried() -> None:
    assert {kind for kind, (make, _) in _KINDS.items() if issubclass(make, TextChecker)} == {c.kind for c in CHECKERS}


# -- everything else on the way from a program's output to a verdict or an observation -------------------------------


def _result(content: bytes) -> None:
    function.result(content)


def _action(content: bytes) -> None:
    for only_submit in (False, True):
        with contextlib.suppress(Unreadable):
            actions.read_action(as_text(content)[: actions.MAX_ACTION_LENGTH], only_submit=only_submit)


def _tool_call(content: bytes) -> None:
    text = as_text(content)
    calls: tuple[tuple[str, object], ...] = (
        ("submit", text),
        ("submit", {"code": text}),
        ("submit", {text: text}),
        (text, {}),
        ("submit", {f"{text[:9]}{number}": 1 for number in range(len(text) // 64)}),
    )
    for name, arguments in calls:
        with contextlib.suppress(ToolCallError):
            toolset(8, "verbs").action(name, arguments)  # type: ignore[arg-type]


def _frame(content: bytes) -> None:
    data = frames.pack({"run": {}}, content)
    place = 0

    def read(size: int) -> bytes:
        nonlocal place
        place += size
        return data[place - size : place]

    frames.unpack(read)


READERS: dict[str, Callable[[bytes], object]] = {
    "result": _result,
    "driver": lambda content: function.driver(content, "f"),
    "answer of a checker": Python.answer,
    "question to a checker": lambda content: Python("pass").question("1", "2", content),
    "why a run failed": lambda content: run.status_of(0, 1, None, content, False, Limits(), 0.1),
    "observation of a run": lambda content: messages.ran(Run("RE", content, content[-8192:])),
    "action": _action,
    "tool call": _tool_call,
    "frame": _frame,
}


@pytest.mark.parametrize("name", READERS)
def test_readers_take_linear_time(name: str) -> None:
    check_reader(name, SIZES[1:2])


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_readers_take_linear_time_up_to_the_cap(name: str) -> None:
    check_reader(name, (*SIZES, CAP))


def check_reader(name: str, sizes: tuple[int, ...]) -> None:
    for size in sizes:
        for content in pumped(size):
            assert too_long(partial(READERS[name], content), size) is None, content[:40]
