"""Plain text, CSV, JSON and YAML files."""

from __future__ import annotations

import csv
import io
import re
import sys
from dataclasses import dataclass
from itertools import dropwhile
from typing import Any

from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.matching import ValueRule, line_likeness, pattern, searches
from rlanything_verifiers.osworld.metrics.values import Expected, ExpectedText
from rlanything_verifiers.osworld.registry import metric
from rlanything_verifiers.osworld.structured import read_json, read_yaml


@dataclass(frozen=True)
class Texts:
    """Texts that have to occur."""

    expected: list[str]


@dataclass(frozen=True)
class Count:
    """A number."""

    expected: int


@dataclass(frozen=True)
class Patterns:
    """Regular expressions that some line has to match, and others that no line may match."""

    expect: list[str] = ()  # type: ignore[assignment]
    unexpect: list[str] = ()  # type: ignore[assignment]

    def __post_init__(self) -> None:
        for source in (*self.expect, *self.unexpect):
            pattern(source)


@dataclass(frozen=True)
class Records:
    """Values of columns that some row has to have, and others that no row may have."""

    expect: list[dict[str, str]] = ()  # type: ignore[assignment]
    unexpect: list[dict[str, str]] = ()  # type: ignore[assignment]


@dataclass(frozen=True, kw_only=True)
class KeyRule(ValueRule):
    """Required relation of the value at the end of a path of keys to a reference."""

    key: list[str | int]


@dataclass(frozen=True)
class KeyRules:
    """Rules that have to hold, and others that must not."""

    expect: list[KeyRule] = ()  # type: ignore[assignment]
    unexpect: list[KeyRule] = ()  # type: ignore[assignment]


@dataclass(frozen=True)
class Settings:
    """Keys with values."""

    expected: dict[str, Any]


_CLOCK = re.compile(r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)")
_COMMENT = re.compile(r"\s*(#!|# -\*- coding:|# coding[:=])")


@metric
def compare_text_file(result: File, expected: File, *, ignore_blanks: bool = False, ignore_case: bool = False) -> float:
    """The text is the expected one."""

    def read(file: File) -> str:
        text = file.text()
        if ignore_blanks:
            text = re.sub(r"\s+", " ", re.sub(r"[\t\n]", " ", text).strip())
        return text.lower() if ignore_case else text

    return float(read(result) == read(expected))


@metric
def diff_text_file(result: File, expected: File) -> float:
    """Share of lines in blocks that match the expected ones."""
    return line_likeness(result.lines(), expected.lines())


@metric
def file_contains(result: File, rules: Texts) -> float:
    """All texts occur."""
    text = result.text()
    return float(all(part in text for part in rules.expected))


@metric
def check_line_number(result: File, rules: Count) -> float:
    """The number of lines with a time of day is the expected one."""
    return float(sum(_CLOCK.search(line) is not None for line in result.lines()) == rules.expected)


@metric
def check_list(result: File, rules: Patterns) -> float:
    """Each of some regular expressions occurs in a line, others in none."""
    lines = [line + "\n" for line in result.lines()]  # a pattern may ask for the end of a line by its name

    def occurs(source: str) -> bool:
        return searches(pattern(source), *lines)

    return float(all(map(occurs, rules.expect)) and not any(map(occurs, rules.unexpect)))


@metric
def compare_csv(result: File, expected: File | list[File], *, strict: bool = True, ignore_case: bool = False) -> float:
    """The lines are those of the expected file, or of one of several."""

    def read(file: File) -> list[str]:
        lines = file.lines() if strict else [line.strip() for line in file.lines()]
        return [line.lower() for line in lines] if ignore_case else lines

    return float(any(read(result) == read(file) for file in (expected if isinstance(expected, list) else [expected])))


@metric
def check_csv(result: File, rules: Records) -> float:
    """Each of some records is there, others are not; columns that a record does not name do not matter."""
    with result.reading():
        rows = csv.reader(io.StringIO(result.text()))
        column = {name: number for number, name in enumerate(next(rows, []))}
        wanted = (*rules.expect, *rules.unexpect)  # no dictionary of a row: it has all columns, however short the row
        records = [[(column.get(key, sys.maxsize), value) for key, value in record.items()] for record in wanted]
        found = {
            number
            for row in filter(None, rows)
            for number, record in enumerate(records)
            if all(row[place : place + 1] == [value] for place, value in record)
        }
    return float(found == set(range(len(rules.expect))))


@metric
def check_json(result: File, rules: KeyRules, *, is_yaml: bool = False) -> float:
    """Values at paths of keys fulfil their rules."""
    if (value := json_value(result, is_yaml)) is None:
        return 0.0

    def holds(rule: KeyRule) -> bool:
        return has_key(value, rule) and rule.holds(_at(value, rule))

    return float(all(map(holds, rules.expect)) and not any(map(holds, rules.unexpect)))


def json_value(file: File, is_yaml: bool) -> Any:
    """The value of a file in JSON or YAML."""
    return read_yaml(file) if is_yaml else read_json(file)


def has_key(value: Any, rule: KeyRule) -> bool:
    """Whether a value has something at the end of a rule's path."""
    try:
        _at(value, rule)
    except (KeyError, IndexError, TypeError):
        return False
    return True


def _at(value: Any, rule: KeyRule) -> Any:
    for key in rule.key:
        value = value[key]
    return value


@metric
def check_json_settings(result: File, rules: Settings) -> float:
    """The settings are there with the expected values; others do not matter."""
    value = read_json(result)
    expected = rules.expected.items()
    return float(isinstance(value, dict) and all(key in value and value[key] == wanted for key, wanted in expected))


@metric
def check_json_keybindings(result: File, rules: Expected) -> float:
    """One of the key bindings is the expected one."""
    value = read_json(result)
    return float(isinstance(value, list) and rules.expected in value)


@metric
def compare_config(result: File, rules: ExpectedText) -> float:
    """The text is the expected one."""
    return float(result.text() == rules.expected)


@metric
def compare_python_pure_text(result: File, expected: File) -> float:
    """The program text is the expected one; blank lines, ends of lines, tabs and the first comment do not matter."""

    def read(file: File) -> list[str]:
        lines = dropwhile(_COMMENT.match, file.lines())
        return [line.expandtabs(4).rstrip() for line in lines if line.strip()]

    return float(read(result) == read(expected))


@metric
def compare_result_files(result: File, expected: File) -> float:
    """The expected number occurs, or the whole text is about that number; any other text is the expected one."""
    one, other = result.text().strip(), expected.text().strip()
    try:
        number = float(other)
    except ValueError:
        return float(one == other)
    try:
        return float(other in one or abs(float(one) - number) < 1e-4)
    except ValueError:
        return 0.0


@metric
def is_included_all_json_objects(result: File, expected: File) -> float:
    """All statements of the first file are in the second one."""
    one, other = read_json(result), read_json(expected)
    if not isinstance(one, dict) or not isinstance(other, dict):
        return 0.0
    return float(all(key in other and other[key] == value for key, value in one.items()))


@metric
def check_python_file_by_gold_file(result: File, expected: File) -> float:
    """The program text is the expected one, as `compare_python_pure_text` compares it."""
    return compare_python_pure_text(result, expected)


@metric
def compare_terminal_and_txt(result: File, expected: str) -> float:
    """The file holds the text of the terminal."""
    return float(result.text() == expected)
