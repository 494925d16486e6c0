"""Buttons, labels and entries: a node and how it looks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rlanything_envs.osworld.desktop.simulator.drawing import (
    BLUE,
    DARK,
    LIGHT,
    LINE,
    WHITE,
    Box,
    Canvas,
    Color,
    index_at,
    text_width,
)
from rlanything_envs.osworld.desktop.simulator.nodes import SHOWN, Node, Press
from rlanything_envs.osworld.desktop.simulator.text_buffer import TextBuffer

__all__ = ["button", "entry", "label", "on_press", "panel", "point_buffer", "tick_box"]

_INSET = 6
"""Pixels between the frame of an entry and its text."""


def _paint_panel(canvas: Canvas, node: Node, fill: Color) -> None:
    if node.box is not None:
        canvas.rectangle(node.box, fill)


def panel(role: str, box: Box, children: list[Node], fill: Color = LIGHT) -> Node:
    """A rectangle with other nodes in it."""
    return Node(role, "", box, children=children, paint=partial(_paint_panel, fill=fill))


def on_press(action: Callable[[], object]) -> Callable[[Press], None]:
    """A press handler that calls an action for the left button."""

    def press(event: Press) -> None:
        if event.button == 1 and not event.drag:
            action()

    return press


def _paint_label(canvas: Canvas, node: Node) -> None:
    if node.box is not None:
        canvas.text(node.box, node.name, (20, 20, 20))


def label(text: str, box: Box) -> Node:
    """A static text."""
    return Node("label", text, box, text, paint=_paint_label)


def _paint_button(canvas: Canvas, node: Node, shown: str) -> None:
    if node.box is None:
        return
    focused, usable = "focused" in node.states, "enabled" in node.states
    canvas.rectangle(node.box, WHITE, BLUE if focused else LINE)
    canvas.text(node.box, shown, (20, 20, 20) if usable else LINE, "center")


def button(
    name: str,
    box: Box,
    action: Callable[[], object],
    *,
    shown: str | None = None,
    focused: bool = False,
    default: bool = False,
    enabled: bool = True,
) -> Node:
    """Something that acts when it is clicked.

    Args:
        name: its name.
        box: its place.
        action: what it does.
        shown: its label, where that is not the name.
        focused: whether it has the keyboard.
        default: whether Enter presses it.
        enabled: whether it can be clicked.
    """
    states: tuple[str, ...] = ("showing", "visible")
    states = ("enabled", "focusable", "sensitive", *states) if enabled else states
    states += ("focused",) * focused + ("is_default",) * default
    paint = partial(_paint_button, shown=name if shown is None else shown)
    press = on_press(action) if enabled else None
    return Node("push-button", name, box, states=states, actions=("click",), paint=paint, press=press)


def tick_box(name: str, box: Box, checked: bool, focused: bool, action: Callable[[], object]) -> Node:
    """A box that is ticked or not."""

    def paint(canvas: Canvas, node: Node) -> None:
        square = Box(box.x + 2, box.y + (box.height - 14) // 2, 14, 14)
        canvas.rectangle(square, BLUE if checked else WHITE, BLUE if focused else DARK)
        canvas.text(Box(box.x + 22, box.y, box.width - 22, box.height), name)

    states = (*SHOWN, "focusable") + ("checked",) * checked + ("focused",) * focused
    return Node("check-box", name, box, states=states, actions=("click",), paint=paint, press=on_press(action))


def _scrolled(buffer: TextBuffer, room: int) -> int:
    """The first character of an entry that is shown, so that the cursor is in sight."""
    first = 0
    while text_width(buffer.text[first : buffer.cursor]) > room - 4:
        first += max(1, (buffer.cursor - first) // 8)
    return first


def _paint_entry(canvas: Canvas, node: Node, buffer: TextBuffer, focused: bool) -> None:
    if node.box is None:
        return
    box = node.box
    canvas.rectangle(box, WHITE, BLUE if focused else LINE)
    inner = Box(box.x + _INSET - 3, box.y, box.width - 2 * (_INSET - 3), box.height)
    start = _scrolled(buffer, box.width - 2 * _INSET)
    text, (first, last) = buffer.text[start : start + 400], buffer.selection
    left = box.x + _INSET + text_width(text[: max(0, first - start)])
    right = min(box.x + _INSET + text_width(text[: max(0, last - start)]), box.x + box.width - _INSET)
    if focused:
        middle, high = box.y + box.height // 2, min(18, box.height - 2)
        canvas.rectangle(Box(left, middle - high // 2, right - left, high), (180, 213, 247))
        caret = box.x + _INSET + text_width(text[: buffer.cursor - start])
        canvas.line(caret, middle - high // 2, caret, middle + high // 2 - 1, (20, 20, 20))
    canvas.text(inner, text)


def point_buffer(buffer: TextBuffer, event: Press, place: int) -> None:
    """Handle a press on a text: one click sets the cursor, two select a word, three a line."""
    if event.button != 1:
        return
    if event.clicks == 2:
        buffer.move(place)
        text, first, last = buffer.text, place, place
        while first > 0 and (text[first - 1].isalnum() or text[first - 1] == "_"):
            first -= 1
        while last < len(text) and (text[last].isalnum() or text[last] == "_"):
            last += 1
        buffer.select(first, last)
    elif event.clicks > 2:
        end = buffer.text.find("\n", place)
        buffer.select(buffer.text.rfind("\n", 0, place) + 1, len(buffer.text) if end < 0 else end)
    else:
        buffer.move(place, extend=event.shift or event.drag)


def entry(
    buffer: TextBuffer,
    box: Box,
    focused: bool,
    focus: Callable[[], object],
    *,
    name: str = "",
) -> Node:
    """One line of text that can be changed.

    Args:
        buffer: the text.
        box: its place.
        focused: whether it has the keyboard.
        focus: gives it the keyboard, before its cursor is put where it was clicked.
        name: its name.
    """

    def press(event: Press) -> None:
        focus()
        start = _scrolled(buffer, box.width - 2 * _INSET)
        point_buffer(buffer, event, start + index_at(buffer.text[start:], event.x - box.x - _INSET))

    states = ("editable", *SHOWN, "focusable", "single_line") + ("focused",) * focused
    paint = partial(_paint_entry, buffer=buffer, focused=focused)
    return Node("text", name, box, buffer.text, states, ("activate",), paint=paint, press=press)
