"""Contents of the screen in short: files of a folder, lines of a text, rows of a sheet, output of a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rlanything_envs.osworld.accessibility import Element
from rlanything_envs.osworld.short.slots import Slots, tidy
from rlanything_envs.osworld.short.words import COLUMNS, COUNTS

__all__ = ["Line", "Screen"]

Line = tuple[str, ...]

_APPS = {"Thunar": "files", "Mousepad": "editor", "LXTerminal": "terminal", "LibreOffice Calc": "sheet"}
"""Beginning or end of a window's title -> its name here."""
_DIALOGS = ("dialog", "alert", "file-chooser")
_CELL = re.compile(r"([A-D])([1-9]\d?)")
_PROMPT = re.compile(r"^\S*[$#](?: |$)")
_PRINTED = 2
"""Lines of a terminal that are read."""
_LINE = 12
"""Words of a line that are read."""


@dataclass(frozen=True, slots=True)
class Screen:
    """The window in front.

    Attributes:
        app: ``files``, ``editor``, ``terminal``, ``sheet``, or empty for any other.
        lines: Its contents, numbered items with their number first.
        targets: Elements that can be clicked, numbered from 1: buttons of a dialog, or files of a list.
        rows: Number of lines or rows to go to.
    """

    app: str
    lines: tuple[Line, ...]
    targets: tuple[Element, ...] = ()
    rows: int = 0

    @classmethod
    def of(cls, elements: Sequence[Element], slots: Slots) -> Screen:
        """The screen of the elements of a tree, in the slots of a task."""
        frames = [element for element in elements if element.role == "frame"]
        front = next((frame for frame in frames if "active" in frame.states), frames[-1] if frames else None)
        title = front.name if front else ""
        app = next((app for name, app in _APPS.items() if title.endswith(name) or title.startswith(name)), "")
        dialog = next((number for number, element in enumerate(elements) if element.role in _DIALOGS), None)
        if dialog is not None:
            inside = elements[dialog:]
            fields = [element.text for element in inside if element.role == "text"]
            buttons = [element for element in inside if element.role == "push-button"][: len(COUNTS)]
            return cls(app, (("dialog", *tidy(slots.read(" ".join(fields)))[:_LINE]),), tuple(buttons))
        window: Line = (app, *(["changed"] if title.startswith("*") else [])) if app else ("?",)
        if app == "files":
            files = _files(elements)
            return cls(app, (window, *_numbered(tidy(slots.read(file.name)) for file in files)), tuple(files))
        if app == "editor":
            text = next((element.text for element in elements if element.role == "text"), "")
            shown = tuple(_numbered(slots.read(line) for line in text.splitlines()))
            return cls(app, (window, *shown), rows=min(len(shown) + 1, len(COUNTS)))
        if app == "sheet":
            shown = tuple(_numbered(_rows(elements, slots)))
            return cls(app, (window, *shown), rows=min(len(shown) + 2, len(COUNTS)))
        if app == "terminal":
            text = next((element.text for element in elements if element.role == "terminal"), "")
            return cls(app, (window, *(("$", *tidy(slots.read(line))[:_LINE]) for line in _printed(text))))
        return cls(app, (window,))

    def news(self, before: Screen | None) -> tuple[Line, ...]:
        """Lines that were not there before, in order."""
        known = set(before.lines) if before is not None else set()
        return tuple(line for line in self.lines if line not in known)


def _numbered(rows: Iterable[Sequence[str]]) -> Iterable[Line]:
    for count, row in zip(COUNTS, rows, strict=False):
        yield (count, *(row[:_LINE] or ["nothing"]))


def _files(elements: Sequence[Element]) -> list[Element]:
    """The names in the list of a file manager: cells below the head of their column."""
    head = next((e for e in elements if e.role == "table-column-header" and e.name == "Name"), None)
    if head is None:
        return []
    left, right = head.x - head.width // 2, head.x + head.width // 2
    cells = [e for e in elements if e.role == "table-cell" and e.name and left <= e.x <= right and e.y > head.y]
    return sorted(cells, key=lambda cell: cell.y)[: len(COUNTS)]


def _rows(elements: Sequence[Element], slots: Slots) -> Iterable[list[str]]:
    """Rows of a sheet up to the last one with something in it; an empty cell before a full one is ``-``."""
    cells: dict[tuple[int, int], str] = {}
    for element in elements:
        found = _CELL.fullmatch(element.name) if element.role == "table-cell" else None
        if found and element.text:
            cells[int(found[2]), "ABCD".index(found[1])] = " ".join(tidy(slots.read(element.text))[:1])
    last = max((row for row, _ in cells), default=0)
    for row in range(1, last + 1):
        width = max((column + 1 for at, column in cells if at == row), default=0)
        yield [cells.get((row, column), "-") for column in range(min(width, len(COLUMNS)))]


def _printed(text: str) -> list[str]:
    """Output of the last command of a terminal."""
    lines = text.rstrip().splitlines()
    prompts = [number for number, line in enumerate(lines) if _PROMPT.match(line)]
    begin = prompts[-2] + 1 if len(prompts) > 1 else len(lines)
    return [line for line in lines[begin:] if line.strip() and not _PROMPT.match(line)][:_PRINTED]
