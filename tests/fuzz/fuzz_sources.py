"""What the code of the packages calls, found in its syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["PACKAGES", "calls", "imports", "modules"]

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "rlanything_verifiers": ROOT / "verifiers",
    "rlanything_task_pools": ROOT / "task_pools",
    "rlanything_envs": ROOT,
    "rlanything_agents": ROOT / "agents",
}


def _parsed(source: bytes) -> ast.Module:
    try:
        return ast.parse(source)
    except SystemError:  # a collection of garbage in between confuses CPython's count of its recursion (gh-106905)
        return ast.parse(source)


@cache
def modules() -> tuple[tuple[str, ast.Module], ...]:
    """Each module of the four packages by its dotted name."""
    return tuple(
        (".".join(path.relative_to(place).with_suffix("").parts).removesuffix(".__init__"), _parsed(path.read_bytes()))
        for package, place in PACKAGES.items()
        for path in sorted((place / package).rglob("*.py"))
    )


@cache
def calls(tree: ast.Module) -> tuple[tuple[str, ast.Call], ...]:
    """Each call with the last two names of what is called, such as ``json.loads`` and ``.raw_decode``."""
    return tuple(_calls(tree))


def _calls(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Name):
                yield function.id, node
            elif isinstance(function, ast.Attribute):
                owner = function.value
                before = (
                    owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
                )
                yield f"{before}.{function.attr}", node


@cache
def imports(tree: ast.Module) -> tuple[str, ...]:
    """The top names of the modules that are imported."""
    return tuple(_imports(tree))


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
