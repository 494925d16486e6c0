"""The shell's text filters, which read files or a pipe."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping

from rlanything_envs.osworld.desktop.simulator.files import DiskError
from rlanything_envs.osworld.desktop.simulator.pattern import Pattern, PatternError
from rlanything_envs.osworld.desktop.simulator.process import Process, Usage

__all__ = ["FILTERS"]

_MOST_STEPS = 5_000_000
"""Work of one grep: characters times the length of the pattern."""


def _cat(process: Process) -> None:
    options, words = process.options("nu")
    text = "".join(text for _, text in process.texts("cat", words))
    process.out = "".join(f"{i:>6}\t{line}" for i, line in _numbered(text)) if "n" in options else text


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    return ((i, line) for i, line in enumerate(text.splitlines(keepends=True), 1))


def _lines(text: str) -> list[str]:
    """Lines without their ends; a last one without an end counts."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _tac(process: Process) -> None:
    process.out = "".join(_joined(_lines(text)[::-1]) for _, text in process.texts("tac", process.words))


def _head(process: Process) -> None:
    _ends("head", process, lambda lines, n: lines[:n], lambda lines, n: lines[:-n] if n else lines)


def _tail(process: Process) -> None:
    _ends("tail", process, lambda lines, n: lines[-n:] if n else [], lambda lines, n: lines[max(0, n - 1) :])


def _ends(
    name: str,
    process: Process,
    plain: Callable[[list[str], int], list[str]],
    signed: Callable[[list[str], int], list[str]],
) -> None:
    """``-n 3`` and ``-3``; ``head -n -3`` and ``tail -n +3`` count from the other end."""
    first = process.words[0] if process.words else ""
    if first[:1] == "-" and first[1:].isdigit():
        process.words = ["-n", first[1:], *process.words[1:]]
    options, files = process.options("q", "nc")
    value = options.get("n", options.get("c", "10"))
    sign = value[:1] if value[:1] in ("+", "-") else ""
    number = _number(value.removeprefix(sign), f"invalid number of lines: ‘{value}’")
    take = signed if sign == ("-" if name == "head" else "+") else plain
    blocks = []
    for word, text in process.texts(name, files):
        parts = list(text) if "c" in options else text.split("\n")
        if "c" not in options:
            parts = [f"{line}\n" for line in parts[:-1]] + [parts[-1]] * bool(parts[-1])
        part = "".join(take(parts, number))
        blocks.append(f"==> {word} <==\n{part}" if len(files) > 1 and "q" not in options else part)
    process.out = "\n".join(blocks) if len(files) > 1 and "q" not in options else "".join(blocks)


def _number(text: str, complaint: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise Usage(complaint)
    return int(text)


def _wc(process: Process) -> None:
    options, words = process.options("lwcm")
    wanted = [letter for letter in "lwmc" if letter in options] or ["l", "w", "c"]
    rows = []
    for name, text in process.texts("wc", words):
        size = len(text.encode(errors="surrogateescape"))
        counts = {"l": text.count("\n"), "w": len(text.split()), "m": len(text), "c": size}
        rows.append(([counts[letter] for letter in wanted], "" if name == "-" and not words else name))
    if len(words) > 1:
        rows.append(([sum(column) for column in zip(*(row for row, _ in rows), strict=True)], "total"))
    width = 1 if len(wanted) == 1 and len(words) <= 1 else max((len(str(n)) for row, _ in rows for n in row), default=1)
    if not words and len(wanted) > 1:
        width = 7
    process.out = "".join(f"{' '.join(f'{n:>{width}}' for n in row)} {name}".rstrip() + "\n" for row, name in rows)


def _sort(process: Process) -> None:
    options, words = process.options("nrufb", "tko")
    lines = [line for _, text in process.texts("sort", words) for line in _lines(text)]
    separator, field = options.get("t"), 0
    if "k" in options:
        field = _number(options["k"].split(",")[0].rstrip("nr"), f"invalid number at field start: {options['k']!r}")
    numeric = "n" in options or "n" in options.get("k", "")

    def key(line: str) -> tuple[float, str]:
        parts = line.split(separator) if separator else line.split()
        part = line if not field else (parts[field - 1] if 0 < field <= len(parts) else "")
        part = part.lower() if "f" in options else part
        return (_leading_number(part) if numeric else 0.0), part if not numeric else ""

    if "u" in options:
        first: dict[tuple[float, str], str] = {}
        for line in lines:
            first.setdefault(key(line), line)
        lines = list(first.values())
    backwards = "r" in options or "r" in options.get("k", "")
    lines = sorted(sorted(lines, reverse=backwards), key=key, reverse=backwards)
    process.out = _joined(lines)
    if "o" in options:
        process.disk.write(process.path(options["o"]), process.out.encode(errors="surrogateescape"))
        process.out = ""


def _leading_number(text: str) -> float:
    """The number at the start of a text, as ``sort -n`` sees it."""
    text = text.lstrip()
    end = 1 if text[:1] == "-" else 0
    while end < len(text) and (text[end] in "0123456789" or (text[end] == "." and "." not in text[:end])):
        end += 1
    digits = text[:end].strip("-.")
    return float(text[:end]) if digits and len(digits) < 300 else 0.0


def _uniq(process: Process) -> None:
    options, words = process.options("cdui")
    lines = [line for _, text in process.texts("uniq", words[:1]) for line in _lines(text)]
    groups = [list(group) for _, group in itertools.groupby(lines, str.lower if "i" in options else None)]
    if "d" in options:
        groups = [group for group in groups if len(group) > 1]
    if "u" in options:
        groups = [group for group in groups if len(group) == 1]
    process.out = _joined([f"{len(group):>7} {group[0]}" if "c" in options else group[0] for group in groups])


def _cut(process: Process) -> None:
    options, words = process.options("s", "dfc")
    if not {"f", "c"} & set(options):
        raise Usage("you must specify a list of bytes, characters, or fields", hint=True)
    separator = options.get("d", "\t")
    if len(separator) != 1:
        raise Usage("the delimiter must be a single character")
    wanted = list(_ranges(options.get("f", options.get("c", ""))))
    kept = []
    for line in (line for _, text in process.texts("cut", words) for line in _lines(text)):
        parts = list(line) if "c" in options else line.split(separator)
        if len(parts) == 1 and "c" not in options:
            kept += [line] * ("s" not in options)
            continue
        chosen = [part for i, part in enumerate(parts, 1) if any(low <= i <= high for low, high in wanted)]
        kept.append(("" if "c" in options else separator).join(chosen))
    process.out = _joined(kept)


def _ranges(text: str) -> Iterator[tuple[int, int]]:
    """``1,3-5,7-`` as pairs of numbers."""
    for part in text.split(","):
        low, dash, high = part.partition("-")
        if not (low + high):
            raise Usage("invalid field range")
        first = _number(low or "1", "invalid field value")
        last = _number(high or ("999999999" if dash else low), "invalid field value")
        if first < 1:
            raise Usage("fields are numbered from 1")
        yield first, last


def _tr(process: Process) -> None:
    options, words = process.options("ds")
    if len(words) != (1 if "d" in options else 2):
        raise Usage("two sets are needed, or -d and one")
    sets = [_set(word) for word in words]
    if "d" in options:
        process.out = process.stdin.translate({ord(letter): None for letter in sets[0]})
        return
    if not sets[1]:
        raise Usage("when not truncating set1, string2 must be non-empty")
    target = sets[1] + sets[1][-1] * max(0, len(sets[0]) - len(sets[1]))
    process.out = process.stdin.translate({ord(a): b for a, b in zip(sets[0], target, strict=False)})


def _set(text: str) -> str:
    """``a-z`` written out, and the classes that are used most."""
    for name, letters in (("[:upper:]", "A-Z"), ("[:lower:]", "a-z"), ("[:digit:]", "0-9")):
        text = text.replace(name, letters)
    text = text.replace("\\n", "\n").replace("\\t", "\t")
    parts, i = [], 0
    while i < len(text):
        if text[i + 1 : i + 2] == "-" and i + 2 < len(text):
            parts += [chr(code) for code in range(ord(text[i]), min(ord(text[i + 2]), ord(text[i]) + 1000) + 1)]
            i += 3
        else:
            parts.append(text[i])
            i += 1
    return "".join(parts)


def _grep(process: Process) -> None:
    options, words = process.options("civnqlrRhHEFGxs", "em")
    if "e" not in options and not words:
        raise Usage("", 2, hint=True)
    source = options.get("e") or words.pop(0)
    flags = set(options)
    recursive = bool(flags & {"r", "R"})
    try:
        alike, whole = "i" in flags, "x" in flags
        pattern = Pattern(source, extended="E" in flags, fixed="F" in flags, ignore_case=alike, whole=whole)
    except PatternError as error:
        raise Usage(str(error), 2) from None
    files = [path for word in words or ["."] for path in _below(process, word)] if recursive else words
    named = ("H" in flags or len(files) > 1 or recursive) and "h" not in flags
    process.status = 1
    steps, found_any = 0, False
    for name, text in process.texts("grep", files):
        lines = _lines(text)
        steps += len(text) * pattern.cost()
        if steps > _MOST_STEPS:
            raise Usage("more text than the simulated grep looks through", 2)
        hits = [(i, line) for i, line in enumerate(lines, 1) if pattern.found_in(line) != ("v" in flags)]
        found_any |= bool(hits)
        process.out += _found(hits, flags, "(standard input)" if name == "-" else name, named)
    if process.status != 2:
        process.status = 0 if found_any else 1
    if "q" in flags:
        process.out = ""


def _found(hits: list[tuple[int, str]], flags: set[str], name: str, named: bool) -> str:
    head = f"{name}:" if named else ""
    if "c" in flags:
        return f"{head}{len(hits)}\n"
    if "l" in flags:
        return f"{name}\n" if hits else ""
    return _joined([f"{head}{f'{i}:' if 'n' in flags else ''}{line}" for i, line in hits])


def _below(process: Process, word: str) -> list[str]:
    base = process.path(word)
    if not process.disk.is_folder(base):
        return [word]
    paths = [path for path in process.disk.walk(base) if process.disk.is_file(path)]
    return [word.rstrip("/") + path[len(base) :] for path in paths]


def _tee(process: Process) -> None:
    options, words = process.options("a")
    process.out = process.stdin
    for word in words:
        path = process.path(word)
        old = process.disk.read(path) if "a" in options and process.disk.is_file(path) else b""
        try:
            process.disk.write(path, old + process.stdin.encode(errors="surrogateescape"))
        except DiskError as error:
            process.fail(f"tee: {word}: {error.reason}")


FILTERS: Mapping[str, Callable[[Process], None]] = {
    "cat": _cat,
    "cut": _cut,
    "grep": _grep,
    "head": _head,
    "sort": _sort,
    "tac": _tac,
    "tail": _tail,
    "tee": _tee,
    "tr": _tr,
    "uniq": _uniq,
    "wc": _wc,
}
"""Each command under its name."""
