"""Function tasks: a prompt with the name of a function, and asserts about it that become calls as JSON."""

import ast
import json
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rlanything_task_pools.coding.draft import Draft, ImportFormatError, Pair, field_of, texts

__all__ = ["matches", "read"]

MAX_SOURCE = 200_000
MAX_TOLERANCE = 0.01
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_BUILTINS = frozenset({"abs", "set", "sorted", "len", "list", "tuple", "str"})


def matches(row: Mapping[str, Any]) -> bool:
    """Whether a row is of this format."""
    return ("prompt" in row and ("entry_point" in row or "test_list" in row)) or ("text" in row and "test_list" in row)


def read(row: Mapping[str, Any]) -> Draft:
    """A row ``{"prompt", "test", "entry_point", "canonical_solution"}``, or one with ``text`` and ``test_list``.

    An assert about one call is taken when arguments and result are JSON: ``assert f(1) == 2``, ``assert f(1)``,
    ``assert not f(1)``, ``assert f(1) is None`` and ``assert abs(f(1) - 2.0) < 1e-6``.

    Raises:
        ImportFormatError: A field is missing or of the wrong kind, or an assert says something else; the reason
            quotes it.
    """
    if "test_list" in row:
        return _with_list(row)
    name, prompt = field_of(row, "entry_point", str, "a text"), field_of(row, "prompt", str, "a text")
    calls = _Calls({"candidate", name})
    calls.read(field_of(row, "test", str, "a text"), "test")
    body = row.get("canonical_solution")
    return Draft(
        statement=f"Complete the function {name}.\n\n{prompt.strip()}\n",
        public=(),
        hidden=calls.pairs,
        checker=calls.checker,
        entry_point=name,
        good=(prompt + body,) if isinstance(body, str) else (),
        traits={"name": row["task_id"]} if isinstance(row.get("task_id"), str) else {},
    )


def _with_list(row: Mapping[str, Any]) -> Draft:
    statement = field_of(row, "text" if "text" in row else "prompt", str, "a text")
    asserts = texts(row, "test_list")
    if row.get("test_setup_code"):
        raise ImportFormatError("test_setup_code", "tests that need code of their own cannot be expressed")
    if not asserts:
        raise ImportFormatError("test_list", "there are no tests")
    name = _called(asserts[0])
    calls = _Calls({name})
    for i, source in enumerate(asserts):
        calls.read(source, f"test_list[{i}]")
    code = row.get("code")
    return Draft(
        statement=f"Write the function {name}.\n\n{statement.strip()}\n\nFor example:\n{asserts[0].strip()}\n",
        public=calls.pairs[:1],
        hidden=calls.pairs[1:],
        checker=calls.checker,
        entry_point=name,
        good=(code,) if isinstance(code, str) else (),
        traits={"name": f"task {row['task_id']}"} if isinstance(row.get("task_id"), int | str) else {},
    )


def _parsed(source: str, place: str) -> ast.Module:
    if len(source) > MAX_SOURCE:
        raise ImportFormatError(place, f"{len(source)} characters of code; at most {MAX_SOURCE} are read")
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ImportFormatError(place, f"not Python: {error}") from None


def _called(source: str) -> str:
    """The function an assert is about: the first call in it that is not of a builtin."""
    for node in ast.walk(_parsed(source, "test_list[0]")):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name not in {
                "abs",
                "set",
                "sorted",
                "len",
                "list",
                "tuple",
                "str",
            }:
                return name
    raise ImportFormatError("test_list[0]", "it calls no function")


class _Calls:
    """Tests gathered from asserts about one function, which goes by some names."""

    def __init__(self, names: set[str]) -> None:
        self.names = names
        self.pairs: list[Pair] = []
        self.checker: dict[str, Any] = {"kind": "tokens"}
        self.place = ""

    def read(self, source: str, place: str) -> None:
        """Take all asserts of a source."""
        self.place = place
        for node in _asserts(_parsed(source, place), place):
            arguments, result = self._claim(node.test)
            self.pairs.append((self._json(arguments, node), self._json(result, node)))

    def _claim(self, test: ast.expr) -> tuple[list[Any], Any]:
        """The arguments and the result an assert tells of."""
        match test:
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="tuple" | "list" as kind), args=[left]),
                ops=[ast.Eq() as equal],
                comparators=[ast.Call(func=ast.Name(id=other), args=[right])],
            ) if kind == other:
                # The kind of sequence is no matter in JSON.
                return self._claim(ast.Compare(left=left, ops=[equal], comparators=[right]))
            case ast.UnaryOp(op=ast.Not(), operand=call) if self._is_call(call):
                return self._arguments(call), False
            case ast.Compare(left=call, ops=[ast.Eq() | ast.Is()], comparators=[value]) if self._is_call(call):
                return self._arguments(call), self._value(value)
            case ast.Compare(left=value, ops=[ast.Eq()], comparators=[call]) if self._is_call(call):
                return self._arguments(call), self._value(value)
            case ast.Compare(
                left=ast.Call(
                    func=ast.Name(id="abs") | ast.Attribute(attr="fabs"),
                    args=[ast.BinOp(left=call, op=ast.Sub(), right=value)],
                ),
                ops=[ast.Lt() | ast.LtE()],
                comparators=[tolerance],
            ) if self._is_call(call):
                return self._near(call, value, tolerance)
            case call if self._is_call(call):
                return self._arguments(call), True
        raise self._unable(test)

    def _near(self, call: ast.expr, value: ast.expr, tolerance: ast.expr) -> tuple[list[Any], Any]:
        limit, wanted = self._value(tolerance), self._value(value)
        if not isinstance(limit, int | float) or not 0 <= limit <= MAX_TOLERANCE or isinstance(wanted, bool):
            raise self._unable(tolerance)
        before = self.checker.get("abs", limit)
        self.checker = {"kind": "float", "abs": min(before, float(limit)), "rel": 0.0}
        return self._arguments(call), float(wanted) if isinstance(wanted, int) else wanted

    def _is_call(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self.names

    def _arguments(self, call: ast.expr) -> list[Any]:
        if not isinstance(call, ast.Call) or call.keywords:
            raise self._unable(call)
        return [self._value(argument) for argument in call.args]

    def _value(self, node: ast.expr) -> Any:
        try:
            return _constant(node)
        except (ValueError, ArithmeticError, TypeError, RecursionError, MemoryError):
            raise self._unable(node) from None

    def _json(self, value: Any, node: ast.AST) -> str:
        if not _is_json(value):
            raise self._unable(node)
        try:
            return json.dumps(value, allow_nan=False)
        except (ValueError, RecursionError):
            raise self._unable(node) from None

    def _unable(self, node: ast.AST) -> ImportFormatError:
        line = getattr(node, "lineno", 0)
        return ImportFormatError(
            f"{self.place} line {line}", f"cannot be expressed as a call in JSON: {_shown(node):.200}"
        )


def _shown(node: ast.AST) -> str:
    """The code of a node, for a message."""
    try:
        return ast.unparse(node)
    except (RecursionError, ValueError):  # ValueError: a number of thousands of digits
        return "code that is nested deeply, or has very long numbers"


def _constant(node: ast.expr) -> Any:
    """The value of a literal, with some arithmetic in it.

    Raises:
        ValueError: It is none, or would be too large.
    """
    match node:
        case ast.List(elts=items):
            return [_constant(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_constant(item) for item in items)
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _ARITHMETIC:
            one, other = _constant(left), _constant(right)
            texts_alike = isinstance(one, str | list) and type(one) is type(other) and isinstance(operation, ast.Add)
            if not texts_alike and not all(type(x) in (int, float) and abs(x) < 1e6 for x in (one, other)):
                raise ValueError("not small numbers")
            if isinstance(operation, ast.Pow) and not 0 <= other <= 64:
                raise ValueError("not a small power")
            return _ARITHMETIC[type(operation)](one, other)
    return ast.literal_eval(node)


def _is_json(value: Any, depth: int = 20) -> bool:
    """Whether JSON gives the same value back; tuples count as lists."""
    if value is None or isinstance(value, str | bool | int | float):
        return True
    if depth and isinstance(value, list | tuple):
        return all(_is_json(item, depth - 1) for item in value)
    if depth and isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(item, depth - 1) for key, item in value.items())
    return False


def _asserts(module: ast.Module, place: str) -> Iterator[ast.Assert]:
    """The asserts of a module and of the function ``check`` in it; anything else that runs is an error."""
    for node in module.body:
        inner = node.body if isinstance(node, ast.FunctionDef) and node.name == "check" else [node]
        for statement in inner:
            match statement:
                case ast.Assert():
                    if not (isinstance(statement.test, ast.Constant) and statement.test.value):
                        yield statement
                case ast.Expr(value=ast.Constant() | ast.Name()) | ast.Import() | ast.Pass():
                    pass
                case ast.Assign(targets=[ast.Name(id="METADATA")]):
                    pass
                case ast.Expr(value=ast.Call(func=ast.Name(id="check" | "print"))):
                    pass
                case _:
                    shown = _shown(statement).partition("\n")[0]
                    line = statement.lineno
                    raise ImportFormatError(f"{place} line {line}", f"cannot be expressed as calls: {shown:.200}")
