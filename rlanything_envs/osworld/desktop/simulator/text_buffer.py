"""Text with a cursor and a selection: the inside of an editor and of an entry."""

from __future__ import annotations

from dataclasses import dataclass

from rlanything_envs.osworld.desktop.simulator.keys import Key

__all__ = ["Clipboard", "TextBuffer"]

_LONGEST = 200_000
"""Most characters of a text; further input is ignored."""
_UNDO_STEPS = 100
_PAGE = 30
"""Lines that PageUp and PageDown move."""


@dataclass(slots=True)
class Clipboard:
    """The text that was cut or copied last.

    Attributes:
        text: as text.
        files: paths, where files were copied.
        cut: whether the files are to move.
    """

    text: str = ""
    files: tuple[str, ...] = ()
    cut: bool = False

    def put_text(self, text: str) -> None:
        """Replace the content by a text."""
        self.text, self.files, self.cut = text, (), False


class TextBuffer:
    """A text that keys change.

    Args:
        text: the initial text.
        lines: whether it may have several lines; an entry leaves Enter and Tab to its dialog.

    Attributes:
        text: the text.
        cursor: index of the character behind the cursor.
        anchor: where the selection began; equal to the cursor where nothing is selected.
    """

    def __init__(self, text: str = "", lines: bool = False) -> None:
        self.text = text
        self.lines = lines
        self.cursor = self.anchor = 0 if lines else len(text)
        self._column: int | None = None
        self._past: list[tuple[str, int]] = []
        self._future: list[tuple[str, int]] = []
        self._typing = False

    @property
    def selection(self) -> tuple[int, int]:
        """Start and end index of the selection; equal where it is empty."""
        return min(self.cursor, self.anchor), max(self.cursor, self.anchor)

    @property
    def selected(self) -> str:
        """The selected text."""
        first, last = self.selection
        return self.text[first:last]

    def select(self, first: int, last: int) -> None:
        """Select a part; the cursor is at its end."""
        self.anchor, self.cursor = (max(0, min(place, len(self.text))) for place in (first, last))
        self._typing, self._column = False, None

    def select_all(self) -> None:
        """Select everything."""
        self.select(0, len(self.text))

    def move(self, place: int, extend: bool = False) -> None:
        """Put the cursor somewhere, and take the end of the selection along where it is to be extended."""
        self.cursor = max(0, min(place, len(self.text)))
        if not extend:
            self.anchor = self.cursor
        self._typing, self._column = False, None

    def insert(self, text: str, typed: bool = False) -> None:
        """Replace the selection by a text. Typed letters in a row are undone together, up to a blank."""
        if not self.lines:
            text = text.replace("\r", "").split("\n", 1)[0]
        first, last = self.selection
        if len(self.text) - (last - first) + len(text) > _LONGEST:
            return
        if not (typed and self._typing and first == last and not text.isspace()):
            self._remember()
        self.text = self.text[:first] + text + self.text[last:]
        self.cursor = self.anchor = first + len(text)
        self._typing, self._column = typed, None

    def undo(self) -> None:
        """Take the last change back."""
        if self._past:
            self._future.append((self.text, self.cursor))
            self._restore(self._past.pop())

    def redo(self) -> None:
        """Make a change again that was taken back."""
        if self._future:
            self._past.append((self.text, self.cursor))
            self._restore(self._future.pop())

    def key(self, key: Key, clipboard: Clipboard) -> bool:
        """Handle a key; returns whether it has an effect here."""
        if key.char:
            self.insert(key.char, typed=True)
            return True
        place = self._target(key.plain)
        if place is not None:
            column = self._column
            self.move(place, extend=key.shift)
            self._column = column if key.plain in ("Up", "Down", "Prior", "Next") else None
            return True
        return self._edit(key, clipboard)

    def _edit(self, key: Key, clipboard: Clipboard) -> bool:
        match key.combo:
            case "BackSpace" | "shift+BackSpace":
                self._delete(self.cursor - 1)
            case "Delete":
                self._delete(self.cursor + 1)
            case "ctrl+BackSpace":
                self._delete(self._word(-1))
            case "ctrl+Delete":
                self._delete(self._word(1))
            case "ctrl+a":
                self.select_all()
            case "ctrl+c" | "ctrl+Insert":
                self.copy(clipboard)
            case "ctrl+x" | "shift+Delete":
                self.cut(clipboard)
            case "ctrl+v" | "shift+Insert":
                self.insert(clipboard.text)
            case "ctrl+z":
                self.undo()
            case "ctrl+y" | "ctrl+shift+z":
                self.redo()
            case "Return" | "KP_Enter" if self.lines:
                self.insert("\n")
            case "Tab" if self.lines:
                self.insert("\t")
            case _:
                return False
        return True

    def copy(self, clipboard: Clipboard) -> None:
        """Copy the selection, if any."""
        if self.selected:
            clipboard.put_text(self.selected)

    def cut(self, clipboard: Clipboard) -> None:
        """Copy the selection and delete it."""
        if self.selected:
            clipboard.put_text(self.selected)
            self.insert("")

    def line_of(self, place: int) -> tuple[int, int]:
        """Line and column of an index."""
        before = self.text[:place]
        return before.count("\n"), place - (before.rfind("\n") + 1)

    def place_of(self, line: int, column: int) -> int:
        """The index of a line and column; beyond the end of either, the end."""
        start = 0
        for _ in range(line):
            end = self.text.find("\n", start)
            if end < 0:
                return len(self.text)
            start = end + 1
        end = self.text.find("\n", start)
        return min(start + column, len(self.text) if end < 0 else end)

    def _target(self, combo: str) -> int | None:
        """Where a key moves the cursor; None where it moves none."""
        first, last = self.selection
        match combo:
            case "Left":
                return first if first != last else self.cursor - 1
            case "Right":
                return last if first != last else self.cursor + 1
            case "Home":
                return self.text.rfind("\n", 0, self.cursor) + 1
            case "End":
                end = self.text.find("\n", self.cursor)
                return len(self.text) if end < 0 else end
            case "ctrl+Left":
                return self._word(-1)
            case "ctrl+Right":
                return self._word(1)
            case "ctrl+Home":
                return 0
            case "ctrl+End":
                return len(self.text)
            case "Up" | "Down" | "Prior" | "Next" if self.lines:
                step = {"Up": -1, "Down": 1, "Prior": -_PAGE, "Next": _PAGE}[combo]
                return self._vertical(step)
        return None

    def _vertical(self, step: int) -> int:
        line, column = self.line_of(self.cursor)
        self._column = column if self._column is None else self._column
        if line + step < 0:
            return 0
        return self.place_of(line + step, self._column)

    def _word(self, step: int) -> int:
        """The start of this word (-1) or the end of the next (1)."""
        place, text = self.cursor, self.text
        if step < 0:
            while place > 0 and not _in_word(text[place - 1]):
                place -= 1
            while place > 0 and _in_word(text[place - 1]):
                place -= 1
            return place
        while place < len(text) and not _in_word(text[place]):
            place += 1
        while place < len(text) and _in_word(text[place]):
            place += 1
        return place

    def _delete(self, place: int) -> None:
        """Delete the selection, or the text between the cursor and a place."""
        if self.anchor == self.cursor:
            self.anchor = max(0, min(place, len(self.text)))
        if self.anchor != self.cursor:
            self.insert("")

    def _remember(self) -> None:
        self._past = [*self._past[-_UNDO_STEPS:], (self.text, self.cursor)]
        self._future = []

    def _restore(self, state: tuple[str, int]) -> None:
        self.text, self.cursor = state
        self.anchor, self._typing = self.cursor, False


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"
