"""The accessibility tree in upstream's XML vocabulary, quickly: what is on the screen, and the cells of sheets.

A node is an element named after its role (blanks become ``-``) with ``name``, its states (``st:NAME="true"``), its
attributes (``attr:NAME``), its place (``cp:screencoord="(x, y)"``, ``cp:size="(w, h)"``), ``image`` and ``selection``
where it is or has one, its value (``val:value`` ...), what it does (``act:NAME_desc``) and by which keys
(``act:NAME_kb``), and its text as content.

Two things make it quick. Nodes that are not showing are left out with everything below them: four of five are
entries of closed menus. And a sheet, with its 17 billion children, is not walked: the cells at the corners of what is
visible say which rows and columns to ask for. These have name, states, place and text alone.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import escape, quoteattr

__all__ = ["desktop_xml", "terminal_text"]

_NAMESPACE = "https://accessibility.ubuntu.example.org/ns/"
_PREFIXES = {"st": "state", "attr": "attributes", "cp": "component", "doc": "document"} | {
    "docattr": "document/attributes",
    "txt": "text",
    "val": "value",
    "act": "action",
}

_DEEPEST = 50
_WIDEST = 1024
"""Depth and children of a node that are followed; upstream's limits."""
_LONGEST_TEXT = 100_000
_CALL_MILLISECONDS = 3000
"""How long one question to an application may take; one that hangs must not stop the others from being seen."""
_MOST_SILENCES = 2
_MOST_SILENT, _IMPATIENT_MILLISECONDS = 2, 200
"""Applications that may fall silent before the others get less time for a question: an agent can start any number."""
_SHEET_CELLS = 4000
"""Maximum cells of a sheet; a screen of 1920 by 1080 shows about 1000."""

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\ufffc\ufffd]")
_NOT_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_MOST_NAMES = 64
"""Attributes and actions of a node that are written; real ones have ten at most."""


def _atspi() -> Any:
    gi = importlib.import_module("gi")
    gi.require_version("Atspi", "2.0")
    return importlib.import_module("gi.repository.Atspi")


Atspi = _atspi()
_Failure: Any = importlib.import_module("gi.repository.GLib").Error
_SHOWING, _VISIBLE, _ACTIVE = Atspi.StateType.SHOWING, Atspi.StateType.VISIBLE, Atspi.StateType.ACTIVE
_SCREEN = Atspi.CoordType.SCREEN
_CELL_STATES = {
    getattr(Atspi.StateType, name) for name in ("ENABLED", "EDITABLE", "FOCUSED", "SELECTED", "SHOWING", "VISIBLE")
}
"""Of a sheet's cells; the others are the same for all of them, a thousand times."""
_STATE_NAMES = {
    state: state.value_nick.replace("-", "_")
    for state in (getattr(Atspi.StateType, name) for name in dir(Atspi.StateType) if name.isupper())
    if hasattr(state, "value_nick")
}


_LATE_ROLES = {
    getattr(Atspi.Role, name) for name in ("MENU", "MENU_ITEM", "CHECK_MENU_ITEM", "RADIO_MENU_ITEM", "UNKNOWN")
}
"""Of elements that GTK 2 never calls showing: those of open menus, and the icons of pcmanfm's desktop."""
_NOWHERE = -(2**31)
"""Where GTK 2 places what is not on the screen, such as the items of closed menus."""


class _Writer:
    """The XML of one application.

    Args:
        old: whether it uses GTK 2.
    """

    def __init__(self, old: bool) -> None:
        self._old = old
        self.parts: list[str] = []
        self._silences = 0
        self._shift = (0, 0)
        self._menus: dict[str, Any] = {}

    def node(self, node: Any, depth: int, above: Any = None) -> None:
        """Write a node and its descendants; a node that vanishes in between is left out.

        Args:
            node: the node.
            depth: how far below its application it is.
            above: the place of its parent; None where that has none.
        """
        mark, shift = len(self.parts), self._shift
        try:
            self._node(node, depth, above)
        except _Failure as failure:
            del self.parts[mark:]
            if "timeout" in str(failure).lower() or "did not receive a reply" in str(failure).lower():
                self._silences += 1
                if self._silences >= _MOST_SILENCES:
                    raise  # in every node above too: the application does not answer
        finally:
            self._shift = shift

    def _node(self, node: Any, depth: int, above: Any) -> None:
        states = node.get_state_set().get_states()
        if self._old and self._shows(node, states):
            states = [*states, _SHOWING]
        if depth > 1 and _SHOWING not in states:
            return
        tag = _tag(node)
        faces = node.get_interfaces()
        words = [tag, f"name={_quoted(node.get_name())}", *_states(states), *_attributes(node)]
        box = None
        if _SHOWING in states and _VISIBLE in states and "Component" in faces:
            box = node.get_extents(_SCREEN)
            self._correct(node, box, above)
            words.append(self._menu(node, box, above) or self._place(box.x, box.y, box.width, box.height))
        words += [f'{name.lower()}="true"' for name in ("Image", "Selection") if name in faces]
        if "Value" in faces:
            words += _value(node)
        if "Action" in faces:
            words += _actions(node)
        text = _text(node) if "Text" in faces else ""
        self._element(words, text)
        count = node.get_child_count()
        if "Table" in faces and count > _WIDEST:
            self._sheet(node)
        elif depth < _DEEPEST:
            for i in range(min(count, _WIDEST)):
                child = node.get_child_at_index(i)
                if child is not None:
                    self.node(child, depth + 1, box)
        self.parts.append(f"</{tag}>")

    def _shows(self, node: Any, states: Any) -> bool:
        """Whether a node is on the screen although its states do not say so."""
        if _SHOWING in states or _VISIBLE not in states or node.get_role() not in _LATE_ROLES:
            return False
        return bool(node.get_extents(_SCREEN).x != _NOWHERE)

    def _correct(self, node: Any, box: Any, above: Any) -> None:
        """LibreOffice forgets its menu bar: its root pane fills the panel around it, but claims to be 25 pixels up."""
        same = above is not None and (box.width, box.height) == (above.width, above.height)
        if same and node.get_role() == Atspi.Role.ROOT_PANE:
            self._shift = (above.x - box.x, above.y - box.y)

    def _menu(self, node: Any, box: Any, above: Any) -> str:
        """The place of a menu of LibreOffice's own menu bar, which has no height: that of its twin in GTK's bar."""
        if above is None or node.get_role() not in (Atspi.Role.MENU, Atspi.Role.MENU_BAR):
            return ""
        if node.get_role() == Atspi.Role.MENU_BAR:
            if box.height:
                self._menus = {"": box}
                return ""
            twin = self._menus.get("")
        elif above.height:
            self._menus[node.get_name()] = box
            return ""
        else:
            twin = self._menus.get(node.get_name())
        return "" if twin is None else _place(twin.x, twin.y, twin.width, twin.height)

    def _place(self, x: int, y: int, width: int, height: int) -> str:
        right, down = self._shift
        return _place(x + right, y + down, width, height)

    def _element(self, words: list[str], text: str) -> None:
        self.parts.append(f"<{' '.join(words)}>{text and escape(text)}")

    def _sheet(self, table: Any) -> None:
        """The visible cells. All cells of a row have its height and place, all of a column its width."""
        rows, columns, named = _visible(table)
        lefts: dict[int, tuple[int, int]] = {}
        for row in rows:
            top: tuple[int, int] | None = None
            for column in columns:
                cell = Atspi.Table.get_accessible_at(table, row, column)
                if cell is None:
                    continue
                if top is None or column not in lefts:
                    box = cell.get_extents(_SCREEN)
                    top = top or (box.y, box.height)
                    lefts.setdefault(column, (box.x, box.width))
                (x, width), (y, height) = lefts[column], top
                name = _address(row, column) if named else cell.get_name()
                states = [state for state in cell.get_state_set().get_states() if state in _CELL_STATES]
                words = ["table-cell", f"name={_quoted(name)}", *_states(states)]
                words.append(self._place(x, y, width, height))
                self._element(words, _text(cell))
                self.parts.append("</table-cell>")


def _place(x: int, y: int, width: int, height: int) -> str:
    return f'cp:screencoord="({x}, {y})" cp:size="({width}, {height})"'


def _address(row: int, column: int) -> str:
    """How a sheet calls a cell: ``A1``, ``AA10``."""
    letters = ""
    while column >= 0:
        column, letter = divmod(column, 26)
        letters = chr(ord("A") + letter) + letters
        column -= 1
    return f"{letters}{row + 1}"


def _visible(table: Any) -> tuple[range, range, bool]:
    """Rows and columns of a table that are on the screen, and whether its cells are called as a sheet's are."""
    columns, box = Atspi.Table.get_n_columns(table), table.get_extents(_SCREEN)
    corners = ((box.x + 2, box.y + 2), (box.x + box.width - 3, box.y + box.height - 3))
    places, named = [], True
    for x, y in corners:
        cell = table.get_accessible_at_point(x, y, _SCREEN)
        if cell is None:
            return range(0), range(0), False
        places.append(divmod(cell.get_index_in_parent(), columns))
        named &= cell.get_name() == _address(*places[-1])
    (top, left), (bottom, right) = places
    wide = range(left, min(right, left + _SHEET_CELLS) + 1)
    return range(top, min(bottom, top + _SHEET_CELLS // max(1, len(wide))) + 1), wide, named


def _tag(node: Any) -> str:
    role = node.get_role()  # known since the first question, while the role's name would be a second question
    if role == Atspi.Role.UNKNOWN and "Image" in node.get_interfaces():
        return "icon"
    if role != Atspi.Role.EXTENDED:
        return str(role.value_nick)
    name = _NOT_NAME.sub("-", node.get_role_name().lower()).strip("-.")
    return name if name and not name[0].isdigit() else "unknown"


def _quoted(text: str | None) -> str:
    return quoteattr(_ILLEGAL.sub("", text or ""))


def _states(states: Any) -> Iterator[str]:
    for state in states:
        name = _STATE_NAMES.get(state)
        if name:
            yield f'st:{name}="true"'


def _value(node: Any) -> Iterator[str]:
    yield f'val:value="{Atspi.Value.get_current_value(node)}"'
    yield f'val:min="{Atspi.Value.get_minimum_value(node)}"'
    yield f'val:max="{Atspi.Value.get_maximum_value(node)}"'
    yield f'val:step="{Atspi.Value.get_minimum_increment(node)}"'


def _actions(node: Any) -> Iterator[str]:
    found = {}
    for i in range(min(Atspi.Action.get_n_actions(node), _MOST_NAMES)):
        name = _NOT_NAME.sub("-", Atspi.Action.get_action_name(node, i) or "")
        if not name:
            continue
        found[name] = (Atspi.Action.get_action_description(node, i), Atspi.Action.get_key_binding(node, i))
    for name, (description, keys) in found.items():
        yield f"act:{name}_desc={_quoted(description)} act:{name}_kb={_quoted(keys)}"


def _attributes(node: Any) -> Iterator[str]:
    given = node.get_attributes() or {}  # None where the node has vanished
    found = {_NOT_NAME.sub("-", name): text for name, text in list(given.items())[:_MOST_NAMES] if name}
    return (f"attr:{name}={_quoted(text)}" for name, text in found.items())


def _text(node: Any) -> str:
    return _ILLEGAL.sub("", Atspi.Text.get_text(node, 0, -1) or "")[:_LONGEST_TEXT]


def _applications() -> Iterator[Any]:
    Atspi.init()
    Atspi.set_timeout(_CALL_MILLISECONDS, _CALL_MILLISECONDS)
    desktop = Atspi.get_desktop(0)
    for i in range(desktop.get_child_count()):
        application = desktop.get_child_at_index(i)
        if application is not None:
            yield application


def _old(application: Any) -> bool:
    try:
        return bool(application.get_toolkit_name() == "GAIL")
    except _Failure:
        return False


def desktop_xml() -> str:
    """The tree of all applications."""
    spaces = " ".join(f'xmlns:{prefix}="{_NAMESPACE}{name}"' for prefix, name in _PREFIXES.items())
    parts = [f'<desktop-frame {spaces} name="main">']
    silent = 0
    for application in _applications():
        writer = _Writer(_old(application))
        try:
            writer.node(application, 0)
        except _Failure:
            silent += 1
            if silent == _MOST_SILENT:
                Atspi.set_timeout(_IMPATIENT_MILLISECONDS, _IMPATIENT_MILLISECONDS)
            continue
        parts += writer.parts
    return "".join([*parts, "</desktop-frame>"])


def terminal_text() -> str | None:
    """The text of the terminal in the active window; None where the active window has none."""

    def search(node: Any, depth: int) -> str | None:
        if node.get_role() == Atspi.Role.TERMINAL:
            return _text(node).rstrip()
        for i in range(min(node.get_child_count(), _WIDEST) if depth < _DEEPEST else 0):
            child = node.get_child_at_index(i)
            if child is not None and _SHOWING in child.get_state_set().get_states():
                found = search(child, depth + 1)
                if found is not None:
                    return found
        return None

    for application in _applications():
        try:
            for i in range(application.get_child_count()):
                window = application.get_child_at_index(i)
                if window is not None and _ACTIVE in window.get_state_set().get_states():
                    return search(window, 0)
        except _Failure:
            continue
    return None


def main(what: str) -> None:
    """Print the tree, or ``T`` and the terminal's text, or nothing where there is no terminal."""
    if what == "tree":
        said = desktop_xml()
    else:
        text = terminal_text()
        said = "" if text is None else f"T{text}"
    sys.stdout.buffer.write(said.encode())
