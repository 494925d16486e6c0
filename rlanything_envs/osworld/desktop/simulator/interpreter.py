"""Interpreter of PyAutoGUI code that does not run Python: it walks the syntax tree and executes a known subset.

There are calls of `Robot`'s functions, ``time.sleep`` and ``print``, assignments, arithmetic on numbers, texts and
lists, ``with pyautogui.hold(...)``. There are no loops, conditions or functions, so that code ends after as many steps
as it is long. Everything else is an error in the result, as are failures.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from rlanything_envs.osworld.desktop.observation import GuestOutput
from rlanything_envs.osworld.desktop.simulator.robot import Point, Robot, RobotError, Size, TookTooLong
from rlanything_envs.osworld.desktop.simulator.screen import Screen

__all__ = ["FUNCTIONS", "run"]

_LONGEST_CODE = 20_000
_LONGEST_VALUE = 20_000
_LARGEST = 10**15
_DEEPEST = 50

FUNCTIONS = frozenset(
    name for name in dir(Robot) if not name.startswith("_") and name not in ("sleep", "pause") and name != "complaints"
) | {"sleep"}
"""Names of the functions that code may call."""

_TWEENS = {"linear"} | {f"ease{way}{kind}" for way in ("In", "Out", "InOut") for kind in ("Quad", "Cubic", "Sine")}
_NAMED = {"LEFT": "left", "MIDDLE": "middle", "RIGHT": "right", "PRIMARY": "left", "SECONDARY": "right"}
_FIELDS: Mapping[type, tuple[str, ...]] = {Point: Point._fields, Size: Size._fields}

_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


class _Failure(Exception):
    """The exception that stops the code: its Python class and its message."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")


def run(code: str, screen: Screen) -> GuestOutput:
    """Run code once.

    Args:
        code: PyAutoGUI code; ``pyautogui`` and ``time`` are imported.
        screen: the screen.

    Returns:
        What it printed and its exit status: 0, 1 where it failed, 127 where it took longer than an action may. What
        was done before a failure stays done.
    """
    screen.time += 1.0
    if len(code) > _LONGEST_CODE:
        return GuestOutput("", f"SyntaxError: more than {_LONGEST_CODE} characters\n", 1)
    try:
        module = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        return GuestOutput("", _traceback(line, f"SyntaxError: {getattr(error, 'msg', None) or error}"), 1)
    walker = _Walker(Robot(screen))
    try:
        for statement in module.body:
            walker.statement(statement)
    except (_Failure, RobotError) as error:
        message = str(error) if isinstance(error, _Failure) else f"PyAutoGUIException: {error}"
        return GuestOutput(walker.printed, walker.complaints + _traceback(walker.line, message), 1)
    except TookTooLong:
        return GuestOutput("", "still running after 90 seconds", 127)
    finally:
        screen.button_up(1)
    return GuestOutput(walker.printed, walker.complaints, 0)


def _traceback(line: int, message: str) -> str:
    return f'Traceback (most recent call last):\n  File "<string>", line {line}, in <module>\n{message}\n'


class _Module:
    """The name of a module that was imported."""

    def __init__(self, name: str) -> None:
        self.name = name


class _Function:
    """The name of a function of a module."""

    def __init__(self, name: str) -> None:
        self.name = name


class _Walker:
    """Carries out statements one after the other."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._names: dict[str, Any] = {"pyautogui": _Module("pyautogui"), "time": _Module("time")}
        self._out: list[str] = []
        self.line = 1

    @property
    def printed(self) -> str:
        return "".join(self._out)

    @property
    def complaints(self) -> str:
        return "".join(f"{line}\n" for line in self._robot.complaints)

    def statement(self, node: ast.stmt, depth: int = 0) -> None:
        """Carry out one statement."""
        self.line = getattr(node, "lineno", self.line)
        match node:
            case ast.Expr():
                self._value(node.value, 0)
            case ast.Import():
                for alias in node.names:
                    self._names[alias.asname or alias.name] = self._module(alias.name)
            case ast.ImportFrom():
                self._import_from(node)
            case ast.Assign():
                value = self._value(node.value, 0)
                for target in node.targets:
                    self._assign(target, value)
            case ast.With() if len(node.items) == 1 and depth < 5:
                self._hold(node, depth)
            case ast.Pass():
                pass
            case _:
                kind = type(node).__name__.lower()
                message = f"the simulated desktop runs no {kind!r} statement; write the calls one after the other"
                raise _Failure("NotImplementedError", message)

    @staticmethod
    def _module(name: str) -> _Module:
        if name not in ("pyautogui", "time"):
            raise _Failure("ModuleNotFoundError", f"No module named {name!r}")
        return _Module(name)

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = self._module(node.module or "")
        for alias in node.names:
            if alias.name == "*":
                names = FUNCTIONS | _TWEENS | set(_NAMED) if module.name == "pyautogui" else {"sleep"}
                self._names |= {name: self._attribute(module, name) for name in names}
            else:
                self._names[alias.asname or alias.name] = self._attribute(module, alias.name)

    def _assign(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Name():
                self._names[target.id] = value
            case ast.Tuple() | ast.List() if isinstance(value, (tuple, list)):
                if len(target.elts) != len(value):
                    raise _Failure("ValueError", f"expected {len(target.elts)} values, got {len(value)}")
                for child, item in zip(target.elts, value, strict=True):
                    self._assign(child, item)
            case ast.Attribute(attr="PAUSE" | "FAILSAFE") if isinstance(self._value(target.value, 0), _Module):
                setattr(self._robot, target.attr, value)
            case _:
                raise _Failure("NotImplementedError", "the simulated desktop assigns to names only")

    def _hold(self, node: ast.With, depth: int) -> None:
        call = node.items[0].context_expr
        function = self._value(call.func, 0) if isinstance(call, ast.Call) else None
        if not isinstance(call, ast.Call) or not isinstance(function, _Function) or function.name != "hold":
            raise _Failure("NotImplementedError", "the simulated desktop knows 'with pyautogui.hold(...)' only")
        args, keywords = self._arguments(call, 0)
        try:
            holding = self._robot.hold(*args, **keywords)
        except TypeError as error:
            raise _Failure("TypeError", str(error)) from None
        with holding:
            for statement in node.body:
                self.statement(statement, depth + 1)

    # --- expressions ---

    def _value(self, node: ast.expr, depth: int) -> Any:
        if depth > _DEEPEST:
            raise _Failure("RecursionError", "an expression that is nested too deeply")
        self.line = getattr(node, "lineno", self.line)
        match node:
            case ast.Constant() if isinstance(node.value, (str, int, float, bool, type(None))):
                return self._bounded(node.value)
            case ast.Name():
                if node.id not in self._names:
                    if node.id in _BUILTINS:
                        return _Function(node.id)
                    raise _Failure("NameError", f"name {node.id!r} is not defined")
                return self._names[node.id]
            case ast.Tuple() | ast.List():
                items = [self._value(item, depth + 1) for item in node.elts]
                return tuple(items) if isinstance(node, ast.Tuple) else items
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                value = self._value(node.operand, depth + 1)
                if not isinstance(value, (int, float)):
                    raise _Failure("TypeError", f"bad operand type for a sign: {type(value).__name__!r}")
                return -value if isinstance(node.op, ast.USub) else value
            case ast.BinOp():
                return self._calculate(node, depth)
            case ast.Attribute():
                return self._attribute(self._value(node.value, depth + 1), node.attr)
            case ast.Subscript():
                return self._item(self._value(node.value, depth + 1), self._value(node.slice, depth + 1))
            case ast.JoinedStr():
                return self._bounded("".join(self._piece(piece, depth) for piece in node.values))
            case ast.Call():
                return self._call(node, depth)
        kind = type(node).__name__
        raise _Failure("NotImplementedError", f"the simulated desktop works out no {kind!r}; give plain values")

    def _piece(self, node: ast.expr, depth: int) -> str:
        """A part of an f-string."""
        if isinstance(node, ast.FormattedValue):
            if node.format_spec is not None or node.conversion != -1:
                raise _Failure("NotImplementedError", "the simulated desktop formats no values")
            return _said(self._value(node.value, depth + 1))
        return str(self._value(node, depth + 1))

    def _calculate(self, node: ast.BinOp, depth: int) -> Any:
        left, right = self._value(node.left, depth + 1), self._value(node.right, depth + 1)
        calculate = _ARITHMETIC.get(type(node.op))
        numbers = all(isinstance(value, (int, float)) for value in (left, right))
        joined = isinstance(node.op, ast.Add) and type(left) is type(right) and isinstance(left, (str, list, tuple))
        repeated = isinstance(node.op, ast.Mult) and isinstance(left, (str, list)) and isinstance(right, int)
        if calculate is None or not (numbers or joined or repeated):
            raise _Failure("TypeError", "unsupported operand types")
        if repeated and len(left) * right > _LONGEST_VALUE:
            raise _Failure("MemoryError", f"more than {_LONGEST_VALUE} characters")
        try:
            return self._bounded(calculate(left, right))
        except (ArithmeticError, ValueError) as error:
            raise _Failure(type(error).__name__, str(error)) from None

    @staticmethod
    def _bounded(value: Any) -> Any:
        if isinstance(value, (int, float)) and not -_LARGEST <= value <= _LARGEST:
            raise _Failure("OverflowError", "a number that is too large")
        if isinstance(value, (str, list, tuple)) and len(value) > _LONGEST_VALUE:
            raise _Failure("MemoryError", f"more than {_LONGEST_VALUE} characters")
        return value

    def _attribute(self, value: Any, name: str) -> Any:
        if isinstance(value, _Module) and value.name == "time":
            if name == "sleep":
                return _Function(name)
            raise _Failure("AttributeError", f"the simulated desktop's time has no {name!r}; it has sleep")
        if isinstance(value, _Module):
            if name in ("PAUSE", "FAILSAFE"):
                return getattr(self._robot, name)
            if name in FUNCTIONS:
                return _Function(name)
            if name in _TWEENS or name in _NAMED:
                return _NAMED.get(name)
            message = f"this desktop's pyautogui has no {name!r}; it has the mouse, keyboard and screen functions"
            raise _Failure("AttributeError", message)
        if name in _FIELDS.get(type(value), ()):
            return getattr(value, name)
        raise _Failure("AttributeError", f"{type(value).__name__.strip('_').lower()!r} has no attribute {name!r}")

    @staticmethod
    def _item(value: Any, index: Any) -> Any:
        if not isinstance(value, (str, list, tuple)) or not isinstance(index, int):
            raise _Failure("TypeError", "only texts and lists have items, and a number names one")
        if not -len(value) <= index < len(value):
            raise _Failure("IndexError", "index out of range")
        return value[index]

    def _arguments(self, node: ast.Call, depth: int) -> tuple[list[Any], dict[str, Any]]:
        args: list[Any] = []
        for item in node.args:
            if isinstance(item, ast.Starred):
                spread = self._value(item.value, depth + 1)
                if not isinstance(spread, (list, tuple)):
                    raise _Failure("TypeError", "only a list can be spread with *")
                args += spread
            else:
                args.append(self._value(item, depth + 1))
        if any(keyword.arg is None for keyword in node.keywords):
            raise _Failure("NotImplementedError", "the simulated desktop spreads nothing with **")
        return args, {str(keyword.arg): self._value(keyword.value, depth + 1) for keyword in node.keywords}

    def _call(self, node: ast.Call, depth: int) -> Any:
        function = self._value(node.func, depth + 1)
        args, keywords = self._arguments(node, depth)
        self.line = node.lineno
        if not isinstance(function, _Function):
            raise _Failure("TypeError", "that cannot be called")
        if function.name in _BUILTINS:
            return self._builtin(function.name, args, keywords)
        for option in ("_pause", "logScreenshot"):
            keywords.pop(option, None)
        if function.name == "hold":
            raise _Failure("NotImplementedError", "write 'with pyautogui.hold(...):'")
        try:
            result = getattr(self._robot, function.name)(*args, **keywords)
        except TypeError as error:
            raise _Failure("TypeError", str(error).replace("Robot.", "")) from None
        if function.name != "sleep":
            self._robot.pause()
        return result

    def _builtin(self, name: str, args: list[Any], keywords: dict[str, Any]) -> Any:
        if name == "print":
            self._out.append(" ".join(_said(value) for value in args)[:_LONGEST_VALUE] + "\n")
            return None
        if keywords or any(isinstance(value, (_Module, _Function)) for value in args):
            raise _Failure("TypeError", f"{name}() takes plain values")
        try:
            return self._bounded(_BUILTINS[name](*args))
        except (TypeError, ValueError, ArithmeticError) as error:
            raise _Failure(type(error).__name__, str(error)) from None


def _said(value: Any) -> str:
    """A value as ``print`` shows it."""
    return f"<{value.name}>" if isinstance(value, (_Module, _Function)) else str(value)


_BUILTINS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "float": float,
    "int": int,
    "len": len,
    "max": max,
    "min": min,
    "print": print,
    "round": round,
    "str": str,
}
"""Functions of plain values; `print` goes to the result."""
