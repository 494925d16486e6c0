"""Coordinates relative to the screen, for models that read scaled images.

The code is rewritten before it is run: every coordinate in a PyAutoGUI call is multiplied by the screen's size. A
number becomes a number; any other expression becomes a product, which is evaluated in the guest.
"""

from __future__ import annotations

import ast
import math
import warnings

from rlanything_envs.errors import Unreadable

__all__ = ["Scale", "absolute", "along", "relative", "to_pixels"]

Scale = float | tuple[float, float]
"""Coordinates of the far edges of the screen, one for both or one each; 0 for pixels."""

_WHOLE = 500
"""Smallest scale whose coordinates are told as whole numbers."""
_CLICKS = {"click", "leftClick", "rightClick", "middleClick", "doubleClick", "tripleClick", "mouseDown", "mouseUp"}
_AT_FIRST = frozenset({*_CLICKS, "move", "moveTo", "moveRel", "drag", "dragTo", "dragRel", "onScreen"})
"""Calls whose first two arguments are a place or a distance."""
_AFTER_AMOUNT = frozenset({"scroll", "hscroll", "vscroll"})
"""Calls whose second and third arguments are a place."""
_NAMES = (("x", "xOffset"), ("y", "yOffset"))


def absolute(code: str, screen: tuple[int, int], scale: Scale) -> str:
    """The same code with coordinates in pixels.

    Args:
        code: Python with PyAutoGUI calls whose coordinates run from 0 to `scale`.
        screen: width and height in pixels.
        scale: coordinates of the far edges of the screen.

    Raises:
        Unreadable: the code is not Python, or a coordinate is passed in a way that cannot be rewritten.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
        rewriter = _Rewriter(screen, scale)
        rewriter.learn_names(tree)
        return ast.unparse(ast.fix_missing_locations(rewriter.visit(tree)))
    except SyntaxError as error:
        raise Unreadable(f"the code is not valid Python: line {error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, Unreadable):
            raise
        raise Unreadable("the code cannot be read; send fewer and simpler calls") from None


def along(scale: Scale, axis: int) -> float:
    """The scale of x (0) or y (1)."""
    return scale[axis] if isinstance(scale, tuple) else scale


def to_pixels(value: float, size: int, scale: float) -> int:
    """A coordinate in pixels; the far edge of the screen is its last pixel."""
    return size - 1 if (pixel := round(value * size / scale)) == size else pixel


def relative(pixel: int, size: int, scale: float) -> float:
    """The coordinate of a pixel, a whole number where the scale has as many as the screen has pixels."""
    value = pixel * scale / size
    return round(value) if scale >= _WHOLE else round(value, 4)


class _Rewriter(ast.NodeTransformer):
    def __init__(self, screen: tuple[int, int], scale: Scale) -> None:
        self._screen, self._scale = screen, scale
        self._modules = {"pyautogui"}
        self._functions: dict[str, str] = {}

    def learn_names(self, tree: ast.AST) -> None:
        """Collect the names under which the code imports PyAutoGUI and its functions."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self._modules |= {alias.asname for alias in node.names if alias.name == "pyautogui" and alias.asname}
            elif isinstance(node, ast.ImportFrom) and node.module == "pyautogui":
                self._functions |= {alias.asname or alias.name: alias.name for alias in node.names}

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Rewrite one call, and those in its arguments."""
        self.generic_visit(node)
        name = self._called(node.func)
        first = 0 if name in _AT_FIRST else 1 if name in _AFTER_AMOUNT else None
        if first is None:
            return node
        if any(isinstance(argument, ast.Starred) for argument in node.args[: first + 2]):
            raise Unreadable(f"with relative coordinates {name} takes x and y one by one, not *argument")
        for axis in (0, 1):
            if (place := first + axis) < len(node.args):
                only = axis == 0 and len(node.args) == first + 1 and not any(k.arg in _NAMES[1] for k in node.keywords)
                node.args[place] = self._scaled(node.args[place], axis, name, only)
            for keyword in node.keywords:
                if keyword.arg is None:
                    raise Unreadable(f"with relative coordinates {name} takes x and y by name, not **argument")
                if keyword.arg in _NAMES[axis]:
                    keyword.value = self._scaled(keyword.value, axis, name, False)
        return node

    def _called(self, function: ast.expr) -> str:
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            return function.attr if function.value.id in self._modules else ""
        return self._functions.get(function.id, "") if isinstance(function, ast.Name) else ""

    def _scaled(self, value: ast.expr, axis: int, name: str, only: bool) -> ast.expr:
        """One coordinate in pixels; a pair where it is the call's only argument."""
        if isinstance(value, ast.Tuple | ast.List):
            if axis or len(value.elts) != 2:
                raise Unreadable(f"with relative coordinates {name} takes x and y as two numbers")
            value.elts = [self._scaled(part, place, name, False) for place, part in enumerate(value.elts)]
            return value
        if isinstance(value, ast.Constant) and value.value is None:
            return value
        size, scale = self._screen[axis], along(self._scale, axis)
        if (number := _number(value)) is not None:
            if not math.isfinite(number) or abs(number) > 10 * scale:
                raise Unreadable(f"{name} was given the coordinate {number!r}; they run from 0 to {scale:g}")
            return _literal(to_pixels(number, size, scale))
        if only or isinstance(value, ast.Constant):
            raise Unreadable(f"with relative coordinates {name} takes x and y as two numbers")
        return ast.Call(ast.Name("round", ast.Load()), [ast.BinOp(value, ast.Mult(), ast.Constant(size / scale))], [])


def _number(value: ast.expr) -> float | None:
    """The value of a literal number, with a sign or without."""
    sign = 1
    while isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub | ast.UAdd):
        sign, value = (-sign if isinstance(value.op, ast.USub) else sign), value.operand
    if isinstance(value, ast.Constant) and isinstance(value.value, int | float) and not isinstance(value.value, bool):
        try:
            return sign * float(value.value)
        except OverflowError:
            return math.inf
    return None


def _literal(value: int) -> ast.expr:
    return ast.UnaryOp(ast.USub(), ast.Constant(-value)) if value < 0 else ast.Constant(value)
