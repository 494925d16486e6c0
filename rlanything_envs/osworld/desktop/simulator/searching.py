"""The dialogs that find and replace text."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rlanything_envs.osworld.desktop.simulator.dialogs import Answer, Dialog, Row, Tick
from rlanything_envs.osworld.desktop.simulator.text_buffer import TextBuffer

__all__ = ["Search"]

_CLOSE: tuple[str, Answer] = ("Close", lambda: None)


class Search:
    """Search and replacement texts. Case is ignored.

    Args:
        text: the text, as it is now.
        found: called when the selection has moved.
        longest: characters that the text may have.
    """

    def __init__(self, text: Callable[[], TextBuffer], found: Callable[[], None], longest: int) -> None:
        self._text, self._found, self._longest = text, found, longest
        self._sought, self._new = TextBuffer(), TextBuffer()

    def finding(self) -> Dialog:
        """The dialog that finds."""
        self._sought.select_all()
        return Dialog("Find", [("Search for:", self._sought)], [_CLOSE, ("Find", self._find)])

    def replacing(self) -> Dialog:
        """The dialog that replaces."""
        everywhere = Tick("Replace all in: Document")
        rows: list[Row] = [("Search for:", self._sought), ("Replace with:", self._new), everywhere]
        self._sought.select_all()
        answers: list[tuple[str, Answer]] = [
            _CLOSE,
            ("Find", self._find),
            ("Replace", partial(self._replace, everywhere)),
        ]
        return Dialog("Find and Replace", rows, answers)

    def going(self) -> Dialog:
        """The dialog that goes to a line."""
        number = TextBuffer("1")
        number.select_all()
        answers: list[tuple[str, Answer]] = [("Cancel", lambda: None), ("Jump to", partial(self._go, number))]
        return Dialog("Go To", [("Line number:", number)], answers)

    def _go(self, number: TextBuffer) -> str | None:
        text = number.text.strip()
        if not (text.isascii() and text.isdigit() and len(text) < 8):
            return "Type a number."
        buffer = self._text()
        buffer.move(buffer.place_of(max(0, int(text) - 1), 0))
        self._found()
        return None

    def _find(self) -> str:
        sought, buffer = self._sought.text.lower(), self._text()
        if not sought:
            return "Type what to look for."
        text = _folded(buffer.text)
        place = text.find(sought, buffer.selection[1])
        place = place if place >= 0 else text.find(sought)
        if place < 0:
            return "No occurrence was found."
        buffer.select(place, place + len(sought))
        self._found()
        return "Found."

    def _replace(self, everywhere: Tick) -> str:
        sought, new, buffer = self._sought.text.lower(), self._new.text, self._text()
        if not sought:
            return "Type what to look for."
        if not everywhere.checked:
            if buffer.selected.lower() == sought:
                buffer.insert(new)
            return self._find()
        places, text, start = [], _folded(buffer.text), 0
        while (place := text.find(sought, start)) >= 0:
            places.append(place)
            start = place + len(sought)
        if len(text) + len(places) * len(new) > self._longest:
            return "The text would become too long."
        parts, start = [], 0
        for place in places:
            parts += [buffer.text[start:place], new]
            start = place + len(sought)
        parts.append(buffer.text[start:])
        buffer.select_all()
        buffer.insert("".join(parts))
        return f"{len(places)} replaced."


def _folded(text: str) -> str:
    """A text in lower case; the few letters that become two stay as they are, so that places stay the same."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
