"""Function tasks: a prompt with the name of a function, and asserts about it, which become the tests as they are."""

import ast
import builtins
from collections.abc import Mapping, Sequence
from typing import Any

from rlanything_task_pools.coding.draft import Draft, ImportFormatError, Pair, field_of, texts

__all__ = ["matches", "read"]

CPU = 5.0
"""Seconds a test: the usual runners of such sets give three, on a separate machine."""
MAX_SOURCE = 200_000
"""Maximum characters of a piece of Python."""


def matches(row: Mapping[str, Any]) -> bool:
    """Whether a row is of this format."""
    return ("prompt" in row and ("entry_point" in row or "test_list" in row)) or ("text" in row and "test_list" in row)


def read(row: Mapping[str, Any]) -> Draft:
    """A row ``{"prompt", "test", "entry_point", "canonical_solution"}``, or one with ``text`` and ``test_list``.

    A function ``check`` of nothing but asserts becomes a test an assert; any other becomes one test. Helpers that the
    prompt defines are there for the tests. Of a list of tests the first is shown.

    Raises:
        ImportFormatError: A field is missing or of the wrong kind, or a test is not Python.
    """
    if "test_list" in row:
        return _with_list(row)
    name, prompt = field_of(row, "entry_point", str, "a text"), field_of(row, "prompt", str, "a text")
    tests = _tests_of(field_of(row, "test", str, "a text"), "test")
    body = row.get("canonical_solution")
    return Draft(
        statement=f"Complete the function {name}.\n\n{prompt.strip()}\n",
        public=(),
        hidden=tests,
        checker=_asserts(prompt if _is_python(prompt) else ""),
        entry_point=name,
        cpu=CPU,
        good=(prompt + body,) if isinstance(body, str) else (),
        traits={"name": row["task_id"]} if isinstance(row.get("task_id"), str) else {},
    )


def _with_list(row: Mapping[str, Any]) -> Draft:
    statement = field_of(row, "text" if "text" in row else "prompt", str, "a text")
    tests = [(source.strip(), "") for source in texts(row, "test_list")]
    if not tests:
        raise ImportFormatError("test_list", "there are no tests")
    if row.get("challenge_test_list"):
        tests += [(source.strip(), "") for source in texts(row, "challenge_test_list")]
    for i, (source, _) in enumerate(tests):
        _parsed(source, f"test_list[{i}]")
    setup = row.get("test_setup_code") or ""
    if not isinstance(setup, str):
        raise ImportFormatError("test_setup_code", f"expected a text, got {type(setup).__name__}")
    if row.get("test_imports"):
        setup = "\n".join([*texts(row, "test_imports"), setup])
    _parsed(setup, "test_setup_code")
    code = row.get("code")
    name = _called(tests[0][0], code if isinstance(code, str) else "")
    return Draft(
        statement=f"Write the function {name}.\n\n{statement.strip()}\n\nFor example:\n{tests[0][0]}\n",
        public=tests[:1],
        hidden=tests[1:],
        checker=_asserts(setup),
        entry_point=name,
        cpu=CPU,
        good=(code,) if isinstance(code, str) else (),
        traits={"name": f"task {row['task_id']}"} if isinstance(row.get("task_id"), int | str) else {},
    )


def _asserts(setup: str) -> dict[str, Any]:
    return {"kind": "asserts", "setup": setup} if setup.strip() else {"kind": "asserts"}


def _parsed(source: str, place: str) -> ast.Module:
    if len(source) > MAX_SOURCE:
        raise ImportFormatError(place, f"{len(source)} characters of code; at most {MAX_SOURCE} are read")
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ImportFormatError(place, f"not Python: {error}") from None


def _is_python(source: str) -> bool:
    try:
        _parsed(source, "")
    except ImportFormatError:
        return False
    return True


def _called(source: str, code: str) -> str:
    """The function an assert is about: a call in it of what the solution defines, or else of what is no builtin."""
    module = _parsed(code, "code") if _is_python(code) else ast.Module([], [])
    defined = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
    called = [
        node.func.id
        for node in ast.walk(_parsed(source, "test_list[0]"))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    for name in [*(name for name in called if name in defined), *called]:
        if name in defined or not hasattr(builtins, name):
            return name
    raise ImportFormatError("test_list[0]", "it calls no function")


def _tests_of(source: str, place: str) -> list[Pair]:
    """The tests of a module with a function ``check``, or of asserts alone."""
    module = _parsed(source, place)
    checks = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == "check"]
    body = checks[0].body if len(checks) == 1 else module.body
    others = [node for node in module.body if node not in checks]
    if len(checks) == 1 and all(map(_is_idle, others)) and _only_asserts(body):
        return _separate(source, body)
    if not checks and _only_asserts(body):
        return _separate(source, body)
    if not any(isinstance(node, ast.Assert | ast.Raise) for node in ast.walk(module)):
        raise ImportFormatError(place, "there are no asserts in it")
    return [(source.rstrip() + "\n\ncheck(candidate)\n" if len(checks) == 1 else source, "")]


def _only_asserts(body: Sequence[ast.stmt]) -> bool:
    return all(isinstance(node, ast.Assert) or _is_idle(node) for node in body)


def _is_idle(node: ast.stmt) -> bool:
    """Whether a statement does nothing for the tests: a label, a text, a message."""
    match node:
        case ast.Pass() | ast.Expr(value=ast.Constant() | ast.Name()):
            return True
        case (
            ast.Assign(targets=[ast.Name(id="METADATA")])
            | ast.Expr(value=ast.Call(func=ast.Name(id="check" | "print")))
        ):
            return True
    return False


def _separate(source: str, body: Sequence[ast.stmt]) -> list[Pair]:
    """Each assert as a test, those that assert a constant left out."""
    # `ast.get_source_segment` would split the whole text for each of them.
    lines = source.replace("\r\n", "\n").replace("\r", "\n").encode().split(b"\n")
    # Lines that go on within brackets may be indented in any way.
    return [
        (_segment(lines, node).strip() + "\n", "")
        for node in body
        if isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant)
    ]


def _segment(lines: Sequence[bytes], node: ast.stmt) -> str:
    """The text of a statement, whose columns count bytes."""
    last = node.end_lineno or node.lineno
    found = [*lines[node.lineno - 1 : last]]
    found[-1] = found[-1][: node.end_col_offset]
    found[0] = found[0][node.col_offset :]
    return b"\n".join(found).decode()
