"""Nodes of the screen: one tree for accessibility, drawing and clicks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from rlanything_envs.osworld.desktop.simulator.drawing import Box, Canvas

__all__ = ["SHOWN", "Node", "Press", "draw", "hit", "wheel_at"]

SHOWN = ("enabled", "sensitive", "showing", "visible")
"""States of a usable thing on the screen."""


class Press(NamedTuple):
    """A mouse button that went down.

    Attributes:
        x, y: where.
        button: 1 left, 2 middle, 3 right.
        clicks: number of consecutive clicks at this place: 2 is a double click.
        shift, ctrl: whether the key was down.
        drag: whether the pointer moved here with the button down.
    """

    x: int
    y: int
    button: int = 1
    clicks: int = 1
    shift: bool = False
    ctrl: bool = False
    drag: bool = False


@dataclass(slots=True)
class Node:
    """One thing on the screen.

    Attributes:
        role: its element in the accessibility tree; empty for a node that is only drawn and clicked.
        name: its name.
        box: its place; None for what has none.
        text: its content.
        states: names of its states.
        actions: names of its accessible actions.
        children: nodes inside it; later ones are in front.
        paint: draws it, before its children.
        press: action of a mouse button.
        wheel: action of the wheel, with the rows to scroll, positive for down.
    """

    role: str
    name: str = ""
    box: Box | None = None
    text: str = ""
    states: tuple[str, ...] = SHOWN
    actions: tuple[str, ...] = ()
    children: list[Node] = field(default_factory=list)
    paint: Callable[[Canvas, Node], None] | None = None
    press: Callable[[Press], None] | None = None
    wheel: Callable[[int], None] | None = None


def draw(node: Node, canvas: Canvas) -> None:
    """Draw a node and its children."""
    if node.paint is not None:
        node.paint(canvas, node)
    for child in node.children:
        draw(child, canvas)


def hit(node: Node, x: int, y: int) -> Node | None:
    """The frontmost node at a place that does something with a mouse button."""
    for found in _at(node, x, y):
        if found.press is not None:
            return found
    return None


def wheel_at(node: Node, x: int, y: int) -> Callable[[int], None] | None:
    """The wheel action at a place."""
    for found in _at(node, x, y):
        if found.wheel is not None:
            return found.wheel
    return None


def _at(node: Node, x: int, y: int) -> Iterator[Node]:
    """Nodes at a place, the frontmost first. A node without a place covers its children."""
    if node.box is not None and not node.box.holds(x, y):
        return
    for child in reversed(node.children):
        yield from _at(child, x, y)
    yield node
