"""Spreadsheet formulas: reading them, moving them to another cell, working them out. Nothing here runs code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

__all__ = [
    "Formula",
    "FormulaError",
    "Part",
    "Range",
    "Ref",
    "Tree",
    "address",
    "parse",
    "place_of",
    "references",
    "shifted",
    "stored",
]

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)
    |(?P<text>"(?:[^"]|"")*")
    |(?P<ref>(?:(?:\$?'(?P<quoted>(?:[^']|'')+)'|\$?(?P<sheet>\w+))[!.])?\$?(?P<column>[A-Za-z]{1,3})\$?(?P<row>\d{1,7})(?![\w(]))
    |(?P<name>[A-Za-z_][\w.]*)
    |(?P<op><=|>=|<>|[-+*/^&=<>%(),;:])
    )""",
    re.VERBOSE,
)
_LONGEST, _DEEPEST = 2000, 40
LAST_ROW, LAST_COLUMN = 1_048_575, 16_383
"""The last row and column of a sheet, counted from 0."""

_LEVELS = (("=", "<>", "<=", ">=", "<", ">"), ("&",), ("+", "-"), ("*", "/"), ("^",))


class FormulaError(ValueError):
    """A formula that cannot be read; the message is what the cell shows."""


@dataclass(frozen=True, slots=True)
class Formula:
    """The content of a cell that is worked out; the text starts with ``=``."""

    text: str


@dataclass(frozen=True, slots=True)
class Ref:
    """One cell, counted from 0; None for the sheet the formula is on."""

    sheet: str | None
    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Range:
    """A rectangle of cells; both corners are in it."""

    sheet: str | None
    top: int
    left: int
    bottom: int
    right: int


@dataclass(frozen=True, slots=True)
class Tree:
    """An operation: a function's name or an operator, and what it works on."""

    name: str
    parts: tuple[Part, ...]


Part = Tree | Ref | Range | float | str | bool | None


def address(row: int, column: int) -> str:
    """``A1`` for row 0 and column 0."""
    letters = ""
    column += 1
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return f"{letters}{row + 1}"


def place_of(text: str) -> tuple[int, int] | None:
    """Row and column of ``A1``; None where it is no address."""
    found = re.fullmatch(r"\$?([A-Za-z]{1,3})\$?([1-9]\d{0,6})", text.strip())
    if found is None:
        return None
    row, column = int(found[2]) - 1, _column(found[1])
    return (row, column) if row <= LAST_ROW and column <= LAST_COLUMN else None


def _column(letters: str) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


@lru_cache(maxsize=4096)
def parse(text: str) -> Part:
    """Read a formula.

    Raises:
        FormulaError: it is wrong, too long or nested too deeply.
    """
    if len(text) > _LONGEST:
        raise FormulaError("Err:513")
    parser = _Parser(_tokens(text.removeprefix("=")))
    part = parser.level(0, 0)
    if parser.here[0]:
        raise FormulaError("Err:509")
    return part


def _tokens(text: str) -> list[tuple[str, re.Match[str] | None]]:
    tokens: list[tuple[str, re.Match[str] | None]] = []
    i = 0
    text = text.rstrip()
    while i < len(text):
        found = _TOKEN.match(text, i)
        if found is None or not found.lastgroup:
            raise FormulaError("Err:509")
        kind = "ref" if found["ref"] else "op" if found["op"] else "name" if found["name"] else "value"
        tokens.append((found["op"] or kind, found))
        i = found.end()
    return [*tokens, ("", None)]


class _Parser:
    """Reads tokens from left to right."""

    def __init__(self, tokens: list[tuple[str, re.Match[str] | None]]) -> None:
        self._tokens = tokens
        self._i = 0

    @property
    def here(self) -> tuple[str, re.Match[str] | None]:
        return self._tokens[self._i]

    def _take(self, *kinds: str) -> bool:
        if self.here[0] in kinds:
            self._i += 1
            return True
        return False

    def level(self, level: int, depth: int) -> Part:
        """An expression of operators that bind at least as tightly as a level's."""
        if depth > _DEEPEST:
            raise FormulaError("Err:512")
        if level == len(_LEVELS):
            return self._signed(depth)
        left = self.level(level + 1, depth)
        while self.here[0] in _LEVELS[level]:
            operator = self.here[0]
            self._i += 1
            left = Tree(operator, (left, self.level(level + 1, depth)))
        return left

    def _signed(self, depth: int) -> Part:
        if self._take("-"):
            return Tree("minus", (self._signed(depth + 1) if depth < _DEEPEST else self._deep(),))
        if self._take("+"):
            return self._signed(depth + 1) if depth < _DEEPEST else self._deep()
        part = self._atom(depth)
        while self._take("%"):
            part = Tree("percent", (part,))
        return part

    @staticmethod
    def _deep() -> Part:
        raise FormulaError("Err:512")

    def _atom(self, depth: int) -> Part:
        kind, found = self.here
        if found is None:
            raise FormulaError("Err:509")
        self._i += 1
        if kind == "(":
            part = self.level(0, depth + 1)
            if not self._take(")"):
                raise FormulaError("Err:508")
            return part
        if kind == "value":
            return float(found["number"]) if found["number"] else found["text"][1:-1].replace('""', '"')
        if kind == "ref":
            first = _ref(found)
            if self._take(":"):
                other = self.here[1]
                if other is None or self.here[0] != "ref":
                    raise FormulaError("Err:509")
                self._i += 1
                last = _ref(other)
                rows, columns = sorted((first.row, last.row)), sorted((first.column, last.column))
                return Range(first.sheet, rows[0], columns[0], rows[1], columns[1])
            return first
        if kind == "name":
            return self._call(found["name"].upper(), depth)
        raise FormulaError("Err:509")

    def _call(self, name: str, depth: int) -> Part:
        if not self._take("("):
            if name in ("TRUE", "FALSE"):
                return name == "TRUE"
            raise FormulaError("#NAME?")
        parts: list[Part] = []
        if not self._take(")"):
            parts.append(self.level(0, depth + 1))
            while self._take(",", ";"):
                parts.append(self.level(0, depth + 1))
            if not self._take(")"):
                raise FormulaError("Err:508")
        return Tree(name, tuple(parts))


def _ref(found: re.Match[str]) -> Ref:
    row, column = int(found["row"]) - 1, _column(found["column"])
    if not 0 <= row <= LAST_ROW or column > LAST_COLUMN:
        raise FormulaError("#REF!")
    quoted = found["quoted"]
    return Ref(quoted.replace("''", "'") if quoted else found["sheet"], row, column)


def references(part: Part) -> Iterator[Ref | Range]:
    """The cells and ranges a formula looks at."""
    if isinstance(part, (Ref, Range)):
        yield part
    elif isinstance(part, Tree):
        for child in part.parts:
            yield from references(child)


def _rewritten(text: str, change: Callable[[re.Match[str]], str]) -> str:
    """A formula with its references changed; what cannot be read stays as it is."""
    if len(text) > _LONGEST + 1:
        return text
    parts, i = [], 1
    while i < len(text):
        found = _TOKEN.match(text, i)
        if found is None or not found.lastgroup:
            return text
        parts.append(change(found) if found["ref"] else text[i : found.end()])
        i = found.end()
    return "=" + "".join(parts)


_PARTS = re.compile(r"(.*?)(\$?)([A-Za-z]{1,3})(\$?)(\d{1,7})", re.DOTALL)


def shifted(text: str, rows: int, columns: int) -> str:
    """A formula as it reads after it was copied to another cell: references without ``$`` move along."""

    def change(found: re.Match[str]) -> str:
        parts = _PARTS.fullmatch(found[0])
        if parts is None:
            return found[0]
        row, column = int(parts[5]) - 1, _column(parts[3])
        row += 0 if parts[4] else rows
        column += 0 if parts[2] else columns
        if not (0 <= row <= LAST_ROW and 0 <= column <= LAST_COLUMN):
            return "#REF!"
        name = address(row, column)
        letters = name.rstrip("0123456789")
        return f"{parts[1]}{parts[2]}{letters}{parts[4]}{name[len(letters) :]}"

    return _rewritten(text, change)


def stored(text: str) -> str:
    """A formula as xlsx files have it: ``!`` behind a sheet's name, commas, functions in capitals."""

    def change(found: re.Match[str]) -> str:
        name, cell = found["quoted"] or found["sheet"], found["ref"]
        if not name:
            return found[0]
        blank = found[0][: len(found[0]) - len(found[0].lstrip())]
        cell = re.split(r"[!.](?=[^!.]*$)", cell)[1]
        plain = found["sheet"] and not found["sheet"][0].isdigit()
        return f"{blank}{name if plain else chr(39) + name + chr(39)}!{cell}"

    if len(text) > _LONGEST + 1:
        return text
    parts, i = [], 0
    text = _rewritten(text, change)
    while i < len(text):
        found = _TOKEN.match(text, i) if i else None
        if found is None or not found.lastgroup:
            parts.append(text[i])
            i += 1
            continue
        sheet, mark, piece = found[0].rpartition("!") if found["ref"] else ("", "", found[0])
        piece = piece.upper() if found["ref"] or found["name"] else piece.replace(";", ",") if found["op"] else piece
        parts.append(sheet + mark + piece)
        i = found.end()
    return "".join(parts)
