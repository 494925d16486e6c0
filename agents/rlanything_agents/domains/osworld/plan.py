"""Plan of the commands that remain, from patterns of the generated tasks and knowledge of the programs.

A plan starts from the belief about the current state, not from a script, so it recovers from mistakes where it can.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rlanything_agents.domains.osworld.belief import KEPT, Belief
from rlanything_envs.osworld.short.words import NOBODY, SLOTS

__all__ = ["Deed", "plan"]

Deed = tuple[str, str]
"""The slot that a command serves, and the command."""

_DONE: Deed = (NOBODY, "done")


def plan(belief: Belief) -> list[Deed]:
    """The remaining commands with their slots, ending in ``done``; only ``fail`` where no plan is known."""
    words = belief.words
    if "rename" in words:
        deeds = _rename(belief)
    elif "configuration" in words:
        deeds = _configure(belief)
    elif "spreadsheet" in words:
        deeds = _fill(belief)
    elif "count" in words:
        deeds = _count(belief)
    elif "terminal" in words:
        deeds = _write(belief)
    else:
        deeds = None
    return [(NOBODY, "fail")] if deeds is None else [*deeds, _DONE]


def _rename(belief: Belief) -> list[Deed] | None:
    deeds: list[Deed] = []
    for old, new in _pairs(belief.words, "rename"):
        if belief.row(new) is not None:
            continue
        number = belief.row(old)
        if number is None:
            return None
        rename: list[Deed] = [(old, f"click {number}"), (old, "press rename"), (new, f"type {new} enter")]
        if not deeds and belief.dialog is not None:
            rename = rename[2:] if belief.dialog == (old,) else [(NOBODY, "press escape"), *rename]
        elif not deeds and belief.chosen == (str(number),):
            rename = rename[1:]
        deeds += rename
    if not deeds and belief.dialog is not None:
        return [(NOBODY, "press escape")]
    return deeds


def _configure(belief: Belief) -> list[Deed]:
    deeds: list[Deed] = []
    for key, value in _pairs(belief.words, "set"):
        if belief.row(key, "=", value) is not None:
            continue
        number = belief.row_of(key)
        if number is not None:
            if deeds or belief.chosen != (str(number),):
                deeds.append((key, f"line {number}"))
            deeds.append((key, f"type {key} = {value}"))
    for key, value in _after(belief.words, ("setting", "", "with", "the", "value", "")):
        if belief.row(key, "=", value) is None:
            number = belief.row_of(key)
            place = "bottom" if number is None else str(number)
            if deeds or belief.chosen != (place,):
                deeds.append((key, "press bottom" if number is None else f"line {number}"))
            deeds.append((key, f"type {key} = {value} enter"))
    return deeds + _saving(belief, deeds)


def _fill(belief: Belief) -> list[Deed]:
    deeds: list[Deed] = []
    for what, column in (("amount", "b"), ("price", "c")):
        for item, value in _after(belief.words, (what, "of", "", "to", "")):
            number = belief.row_of(item)
            if number is None or belief.rows[number]["bc".index(column) + 1 :][:1] == (value,):
                continue
            if deeds or belief.chosen != (column, str(number)):
                deeds.append((item, f"cell {column} {number}"))
            deeds.append((value, f"type {value} enter"))
    end = max(belief.rows, default=0) + 1
    for row in _after(belief.words, ("item", "", ",", "amount", "", ",", "price", "")):
        if belief.row(*row) is not None:
            continue
        number = belief.row_of(row[0]) or end
        if deeds or belief.chosen != ("a", str(number)):
            deeds.append((row[0], f"cell a {number}"))
        deeds.append((row[0], f"type {' tab '.join(row)} enter"))
        end += number == end
    return deeds + _saving(belief, deeds)


def _count(belief: Belief) -> list[Deed] | None:
    words = belief.words
    files = [slot for (slot,) in _after(words, ("file", ""))]
    if len(files) < 2:
        return None
    log, out = files[:2]
    texts = _between(words, "count", "file")
    source, target = ("desktop/", log), (">", "desktop/", out)
    command: tuple[str, ...]
    if "neither" in words:
        command = ("grep-v", texts[0], "blank", *source, "|", "grep-vc", texts[1], *target)
    elif "both" in words:
        command = ("grep", texts[0], "blank", *source, "|", "grep-c", texts[1], *target)
    elif texts:
        command = ("grep-c", texts[0], "blank", *source, *target)
    else:
        command = ("wc-l<", *source, *target)
    last = next((ran for ran in reversed(belief.ran) if ran[-3:] == target), None)
    return _prompt(belief, [] if last == command else [(log, f"type {' '.join(command)} enter")])


def _write(belief: Belief) -> list[Deed] | None:
    words, deeds = belief.words, list[Deed]()
    moved, inner = [slot for (slot,) in _after(words, ("move", "the", "file", ""))], ""
    place = next((slot for (slot,) in _after(words, ("in", "the", "folder", ""))), None)
    new = next((slot for (slot,) in _after(words, ("create", "the", "file", ""))), None)
    if place is None or new is None:
        return None
    folder: tuple[str, ...] = (place, "/")
    for inner in (slot for (slot,) in _after(words, ("make", "the", "folder", ""))):
        folder = (place, "/", inner, "/")
        if (place, "/", inner, "/") not in belief.files:
            deeds.append((inner, f"type mkdir desktop/ {place} / {inner} enter"))
    lines = [slot for (slot,) in _after(words, ("line", ""))][:1] if "single" in words else []
    lines = lines or [slot for pair in _after(words, ("lines", ":", "", ",", "then", "")) for slot in pair]
    deeds += _written((*folder, new), lines, belief)
    for line, old in _after(words, ("append", "the", "line", "", "to", "the", "file", "")):
        deeds += _written((place, "/", old), [KEPT, line], belief)
    for old in moved:
        if ((place, "/", old), (place, "/", inner)) not in belief.moved:
            deeds.append((old, f"type mv desktop/ {place} / {old} blank desktop/ {place} / {inner} enter"))
    return _prompt(belief, deeds) if lines else None


def _written(path: tuple[str, ...], lines: Sequence[str], belief: Belief) -> Iterator[Deed]:
    """Commands that write the lines of a file: those that are missing, or all where the file holds other lines."""
    have = belief.files.get(path, [KEPT] if KEPT in lines else [])
    begin = len(have) if have == list(lines[: len(have)]) else 0
    for number in range(begin, len(lines)):
        if lines[number] != KEPT:
            how = ">>" if number else ">"
            yield lines[number], f"type echo {lines[number]} {how} desktop/ {' '.join(path)} enter"


def _prompt(belief: Belief, deeds: list[Deed]) -> list[Deed]:
    """The commands, after a return that sends text left on the prompt."""
    return [(NOBODY, "press return"), *deeds] if belief.begun and deeds else deeds


def _saving(belief: Belief, deeds: Sequence[Deed]) -> list[Deed]:
    return [(NOBODY, "press save")] if deeds or belief.unsaved else []


def _pairs(words: Sequence[str], verb: str) -> list[tuple[str, str]]:
    """All pairs ``slot to slot`` after a verb."""
    begin = words.index(verb) if verb in words else len(words)
    return [(old, new) for old, new in _after(words[begin:], ("", "to", ""))]


def _after(words: Sequence[str], pattern: Sequence[str]) -> list[tuple[str, ...]]:
    """The slots of each match of a pattern, in which an empty word matches a slot."""
    found = []
    for begin in range(len(words) - len(pattern) + 1):
        part = words[begin : begin + len(pattern)]
        if all(word in SLOTS if wanted == "" else word == wanted for word, wanted in zip(part, pattern, strict=True)):
            found.append(tuple(word for word, wanted in zip(part, pattern, strict=True) if wanted == ""))
    return found


def _between(words: Sequence[str], begin: str, end: str) -> list[str]:
    """The slots between two words, or from or to the end where a word is missing."""
    first = words.index(begin) if begin in words else 0
    last = words.index(end, first) if end in words[first:] else len(words)
    return [word for word in words[first:last] if word in SLOTS]
