"""Parser of accessibility trees, into a list of elements and into a text short enough for a model.

Trees come from a desktop that an agent uses, so they are untrusted: they are parsed as a stream, with limits, and
without declarations and entities, which no real tree has. Unreadable parts are left out.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.parsers import expat

__all__ = ["Element", "Line", "linearise", "read_elements", "relevant", "worth_reading"]

_MOST_CHARACTERS = 16_000_000
_MOST_ELEMENTS = 20_000
_DEEPEST = 200
_LONGEST_TEXT = 20_000
"""Limits of the parser: a tree of three open office windows has some 400,000 characters and 40 levels."""

_PLACE = re.compile(r"\(\s*(-?\d{1,6})\s*,\s*(-?\d{1,6})\s*\)")
_BLANK = re.compile(r"\s+")
_ADDRESS = re.compile("[A-Z]{1,3}[0-9]{1,7}")
_VALUED = frozenset({"level-bar", "progress-bar", "slider", "spin-button"})
"""Roles whose value is shown; buttons and menus have a meaningless one."""

_CONTAINERS = frozenset(
    {"application", "desktop-frame", "drawing-area", "filler", "glass-pane", "layered-pane", "menu-bar", "option-pane"}
    | {"page-tab-list", "panel", "redundant-object", "root-pane", "scroll-bar", "scroll-pane", "section", "separator"}
    | {"split-pane", "status-bar", "table", "tool-bar", "tree-table", "viewport"}
)
"""Roles that only contain other elements, which are shown instead."""

_WINDOWS = frozenset({"alert", "dialog", "file-chooser", "frame", "window"})
_PRESSED = frozenset({"check-box", "combo-box", "push-button", "radio-button", "toggle-button"})
"""Roles that are shown without a name too, where they are enabled: LibreOffice's drop-downs and switches have none."""

_TOLD_STATES = {"active": "active", "focused": "focused", "selected": "selected", "checked": "checked"} | {
    "pressed": "pressed",
    "expanded": "expanded",
    "editable": "editable",
}
"""States that are shown, except for cells of sheets, which are all editable."""


@dataclass(frozen=True, slots=True)
class Element:
    """An element of the screen.

    Attributes:
        role: its kind, such as ``push-button``.
        name: its name; may be empty.
        text: its text; may be empty.
        value: value of a slider or number field; else empty.
        x, y: its centre in pixels.
        width, height: its size in pixels.
        states: such as ``focused`` and ``selected``.
    """

    role: str
    name: str
    text: str
    value: str
    x: int
    y: int
    width: int
    height: int
    states: frozenset[str]


def read_elements(xml: str) -> list[Element]:
    """The elements of a tree that have a place on the screen, in the order of the tree.

    A tree that is malformed from some point on gives the elements before it; one that declares entities gives none.

    Args:
        xml: the tree in OSWorld's vocabulary.
    """
    if len(xml) > _MOST_CHARACTERS:
        return []
    reader = _Reader()
    with contextlib.suppress(expat.ExpatError, UnicodeEncodeError):
        reader.read(xml)
    return [element for element in reader.found if element is not None]


class Line(NamedTuple):
    """An element, and the line that tells of it."""

    element: Element
    text: str


Place = Callable[[int, int], tuple[float, float]]
"""Coordinates of a pixel as the agent writes them."""
MAX_LINES, MAX_CHARACTERS, MAX_TEXT = 200, 12_000, 400
"""Most lines, most characters of all lines, and most characters of a name or text."""


def linearise(xml: str, place: Place | None = None) -> str:
    """The lines of `relevant`; a last line says how many elements are not shown."""
    lines, left_out = relevant(xml, place)
    more = [f"({left_out} more elements are not shown)"] if left_out else []
    return "\n".join([*(line.text for line in lines), *more])


def relevant(xml: str, place: Place | None = None) -> tuple[list[Line], int]:
    """The relevant elements with a line each: role, name, text, centre and states; and the number of those left out.

    ``push-button "Save" (114, 62)`` or ``table-cell "B2" text="3" (156, 210) focused``. A button without a name has
    that of its neighbour: ``toggle-button beside "Column" (627, 232)``. Left out are mere containers, elements that
    have neither name nor text and cannot be edited or pressed, and empty cells without the focus. Of too many lines
    those of the active window, and of what it has popped up, are chosen first; they are in the order of the tree. Of a
    terminal's long text the last characters are shown.

    Args:
        xml: the tree in OSWorld's vocabulary.
        place: coordinates of a pixel, as the agent writes them; the pixel's own if None.
    """
    windows = _windows(read_elements(xml))
    shown: list[list[Line]] = [[] for _ in windows]
    count = length = left_out = 0
    for number in _by_importance(windows):
        window = windows[number].elements
        for element in window:
            if left_out or count == MAX_LINES:
                left_out += 1
                continue
            line = Line(element, _line_of(element, window, place))
            if length + len(line.text) + 1 > MAX_CHARACTERS:
                left_out += 1
                continue
            shown[number].append(line)
            count += 1
            length += len(line.text) + 1
    return [line for each in shown for line in each], left_out


@dataclass(frozen=True, slots=True)
class _Window:
    """A window: its role, whether it has the focus, and its elements that are worth reading."""

    role: str = ""
    active: bool = False
    elements: list[Element] = field(default_factory=list)


def _windows(elements: Sequence[Element]) -> list[_Window]:
    found = [_Window()]
    for element in elements:
        if element.role in _WINDOWS:
            found.append(_Window(element.role, "active" in element.states))
        if worth_reading(element):
            found[-1].elements.append(element)
    return found


def _by_importance(windows: Sequence[_Window]) -> list[int]:
    """Numbers of the windows: what an active window has popped up, that window, then those that opened last."""
    active = max((number for number, window in enumerate(windows) if window.active), default=len(windows))

    def rank(number: int) -> tuple[int, int]:
        if windows[number].role == "window" and number > active:
            return 0, -number
        return (1 if windows[number].active else 2), -number

    return sorted(range(len(windows)), key=rank)


def worth_reading(element: Element) -> bool:
    """Whether an element says or does something: mere containers and empty cells do not."""
    if element.role in _CONTAINERS or element.width <= 0 or element.height <= 0:
        return False
    if element.role == "table-cell" and not element.text:
        if _ADDRESS.fullmatch(element.name):  # a whole sheet may be selected; the name box says which cells
            return "focused" in element.states
        return bool(element.name or element.states & {"focused", "selected"})
    pressed = element.role in _PRESSED and "enabled" in element.states
    return bool(element.name or element.text or pressed or element.states & {"editable", "focused"})


def _neighbour(element: Element, window: Sequence[Element]) -> str:
    """The name or text of what is nearest to the left of an element in its line, else above it; empty for nothing."""
    left, top = element.x - element.width // 2, element.y - element.height // 2
    beside, above, name = math.inf, math.inf, ""
    for other in window:
        if not (named := other.name or other.text) or other.role == "table-cell":
            continue
        right, bottom = other.x + other.width // 2, other.y + other.height // 2
        if right <= left + 1 and abs(other.y - element.y) <= element.height // 2 and left - right < beside:
            beside, name = left - right, named
        elif (
            beside == math.inf
            and bottom <= top + 1
            and abs(other.x - element.x) <= (element.width + other.width) // 2
            and top - bottom < above
        ):
            above, name = top - bottom, named
    return name


def _line_of(element: Element, window: Sequence[Element], place: Place | None) -> str:
    """An element in a line, with at most `MAX_TEXT` characters of its name and of its text.

    One without either is named by its neighbour among the elements of its window.
    """
    words = [element.role]
    if element.role in _PRESSED and not element.name and not element.text:
        neighbour = _shortened(_neighbour(element, window), MAX_TEXT)
        words += ["beside", json.dumps(neighbour, ensure_ascii=False)] if neighbour else []
    name, text = _shortened(element.name, MAX_TEXT), _shortened(element.text, MAX_TEXT, element.role == "terminal")
    if name:
        words.append(json.dumps(name, ensure_ascii=False))
    if text and text != name:
        words.append(f"text={json.dumps(text, ensure_ascii=False)}")
    if element.value and element.role in _VALUED:
        words.append(f"value={element.value}")
    x, y = (element.x, element.y) if place is None else place(element.x, element.y)
    words.append(f"({x}, {y})")
    told = [word for state, word in _TOLD_STATES.items() if state in element.states]
    if element.role == "table-cell" and "editable" in told:
        told.remove("editable")
    if not element.states & {"enabled", "sensitive"}:
        told.append("disabled")
    return " ".join([*words, *told])


def _shortened(text: str, length: int, from_end: bool = False) -> str:
    """At most `length` characters: the first, or, where news comes last, the last."""
    if len(text) <= length:
        return text
    return f"…{text[len(text) - length + 1 :]}" if from_end else f"{text[: length - 1]}…"


class _Reader:
    """Stream parser of one document."""

    def __init__(self) -> None:
        self.found: list[Element | None] = []
        self._open: list[tuple[int, list[str]] | None] = []
        self._texts: dict[int, str] = {}

    def read(self, xml: str) -> None:
        parser = expat.ParserCreate("utf-8", namespace_separator=" ")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.Parse(xml.encode(), True)

    def _refuse(self, *_: object) -> None:
        self.found.clear()
        raise expat.ExpatError("the tree has a declaration")

    def _start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if len(self.found) >= _MOST_ELEMENTS or len(self._open) >= _DEEPEST:
            raise expat.ExpatError("the tree has too many elements, or too deep ones")
        if (element := _element(tag.rpartition(" ")[2], attributes)) is None:
            self._open.append(None)
            return
        self._open.append((len(self.found), []))
        self.found.append(element)

    def _characters(self, text: str) -> None:
        top = self._open[-1] if self._open else None
        if top is not None and sum(map(len, top[1])) < _LONGEST_TEXT:
            top[1].append(text[:_LONGEST_TEXT])

    def _end(self, _: str) -> None:
        if (top := self._open.pop()) is None:
            return
        place, parts = top
        if (element := self.found[place]) is not None and (text := "".join(parts).strip()):
            self.found[place] = _with_text(element, text)


def _with_text(element: Element, text: str) -> Element:
    box = (element.x, element.y, element.width, element.height)
    return Element(element.role, element.name, text, element.value, *box, element.states)


def _element(role: str, attributes: Mapping[str, str]) -> Element | None:
    """The element of a tag; None where it has no position, because it is not shown."""
    states, place, size, value = set(), None, None, ""
    for name, text in attributes.items():
        space, _, word = name.rpartition(" ")
        if space.endswith("/state"):
            if text == "true":
                states.add(word)
        elif space.endswith("/component"):
            if word == "screencoord":
                place = _PLACE.fullmatch(text)
            elif word == "size":
                size = _PLACE.fullmatch(text)
        elif space.endswith("/value") and word == "value":
            value = _BLANK.sub(" ", text).strip()[:40]
    if place is None or size is None or ("showing" not in states and "visible" not in states):
        return None
    (x, y), (width, height) = map(int, place.groups()), map(int, size.groups())
    name = _BLANK.sub(" ", attributes.get("name", "")).strip()[:_LONGEST_TEXT]
    return Element(role, name, "", value, x + width // 2, y + height // 2, width, height, frozenset(states))
