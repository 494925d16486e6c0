"""grep's patterns, matched in linear time: Python's own regular expressions can be made to run for years."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Pattern", "PatternError"]

_LONGEST = 500
_CLASSES = {"alpha": str.isalpha, "digit": str.isdigit, "alnum": str.isalnum, "space": str.isspace}
_CLASSES |= {"upper": str.isupper, "lower": str.islower}


class PatternError(ValueError):
    """A malformed pattern, or one with an unsupported feature: groups, counts and back references."""


@dataclass(frozen=True, slots=True)
class _Atom:
    """One character of the pattern.

    Attributes:
        ranges: first and last character of each range it may be; None for any character.
        classes: names of the character classes it may be in.
        negated: whether it may be anything else instead.
        repeat: ``""``, ``"*"``, ``"+"`` or ``"?"``.
    """

    ranges: tuple[tuple[str, str], ...] | None
    classes: tuple[str, ...] = ()
    negated: bool = False
    repeat: str = ""

    def takes(self, character: str) -> bool:
        if self.ranges is None:
            return True
        found = any(low <= character <= high for low, high in self.ranges)
        return (found or any(_CLASSES[name](character) for name in self.classes)) != self.negated


class Pattern:
    """A pattern of ``grep`` (basic) or ``grep -E`` (extended), without groups.

    Args:
        text: the pattern.
        extended: whether ``+``, ``?`` and ``|`` mean something without a backslash.
        fixed: whether nothing means anything.
        ignore_case: whether upper and lower case are the same.
        whole: whether the whole line must match.

    Raises:
        PatternError: it cannot be read.
    """

    def __init__(
        self, text: str, *, extended: bool = False, fixed: bool = False, ignore_case: bool = False, whole: bool = False
    ) -> None:
        if len(text) > _LONGEST:
            raise PatternError(f"a pattern of more than {_LONGEST} characters")
        self._fold = ignore_case
        text = text.lower() if ignore_case else text
        self._branches = [_Branch.fixed(text)] if fixed else _branches(text, extended)
        if whole:
            self._branches = [_Branch(branch.atoms, True, True) for branch in self._branches]

    def cost(self) -> int:
        """Steps for each character of a line."""
        return 1 + sum(len(branch.atoms) for branch in self._branches)

    def found_in(self, line: str) -> bool:
        """Whether a line matches."""
        line = line.lower() if self._fold else line
        return any(branch.found_in(line) for branch in self._branches)


@dataclass(frozen=True, slots=True)
class _Branch:
    """One alternative: atoms in a row, and whether they must be at the start or the end of the line."""

    atoms: tuple[_Atom, ...]
    start: bool = False
    end: bool = False

    @classmethod
    def fixed(cls, text: str) -> _Branch:
        return cls(tuple(_Atom(((letter, letter),)) for letter in text))

    def found_in(self, line: str) -> bool:
        places = self._skip({0})
        for character in line:
            if not self.end and len(self.atoms) in places:
                return True
            after = set()
            for place in places:
                if place < len(self.atoms) and self.atoms[place].takes(character):
                    after.add(place if self.atoms[place].repeat in ("*", "+") else place + 1)
                    if self.atoms[place].repeat == "+":
                        after.add(place + 1)
            places = self._skip(after if self.start else after | {0})
            if not places:
                return False
        return len(self.atoms) in places

    def _skip(self, places: set[int]) -> set[int]:
        """These places and those behind atoms that may be left out."""
        reached = set(places)
        for place in range(len(self.atoms)):
            if place in reached and self.atoms[place].repeat in ("*", "?"):
                reached.add(place + 1)
        return reached


def _branches(text: str, extended: bool) -> list[_Branch]:
    branches: list[_Branch] = []
    atoms: list[_Atom] = []
    start = end = False
    i = 0
    while i < len(text):
        letter, special = text[i], True
        if letter == "\\":
            i += 1
            if i == len(text):
                raise PatternError("Trailing backslash")
            letter = text[i]
            if (letter in "(){}" and not extended) or letter.isdigit():
                raise PatternError("groups, counts and back references are not in this grep")
            special = not extended and letter in "+?|"
        elif not extended and letter in "+?|":
            special = False
        i += 1
        if special and letter in "(){}" and extended:
            raise PatternError("groups, counts and back references are not in this grep")
        if special and letter in "*+?" and atoms:
            last = atoms[-1]
            atoms[-1] = _Atom(last.ranges, last.classes, last.negated, letter if not last.repeat else "*")
        elif special and letter == "|":
            branches.append(_Branch(tuple(atoms), start, end))
            atoms, start, end = [], False, False
        elif special and letter == "^" and not atoms:
            start = True
        elif special and letter == "$" and (i == len(text) or text[i] == "|" or text.startswith("\\|", i)):
            end = True
        elif special and letter == ".":
            atoms.append(_Atom(None))
        elif special and letter == "[":
            atom, i = _bracket(text, i)
            atoms.append(atom)
        else:
            atoms.append(_Atom(((letter, letter),)))
    return [*branches, _Branch(tuple(atoms), start, end)]


def _bracket(text: str, i: int) -> tuple[_Atom, int]:
    """Parse the text between brackets; the index is behind the opening one."""
    ranges: list[tuple[str, str]] = []
    classes: list[str] = []
    negated = text.startswith("^", i)
    i += negated
    first = True
    while i < len(text) and (text[i] != "]" or first):
        first = False
        if text.startswith("[:", i):
            close = text.find(":]", i)
            name = text[i + 2 : close] if close > 0 else ""
            if name not in _CLASSES:
                raise PatternError("Invalid character class name")
            classes.append(name)
            i = close + 2
        elif i + 2 < len(text) and text[i + 1] == "-" and text[i + 2] != "]":
            ranges.append((text[i], text[i + 2]))
            i += 3
        else:
            ranges.append((text[i], text[i]))
            i += 1
    if i >= len(text):
        raise PatternError("Unmatched [, [^, [:, [., or [=")
    return _Atom(tuple(ranges), tuple(classes), negated), i + 1
