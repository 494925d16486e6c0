"""Folders as the problemtools of Kattis have them, in the legacy format and that of 2023-07.

A ``problem.yaml``, a statement, tests in ``data/sample`` and ``data/secret``, submissions.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from rlanything_task_pools.coding.draft import Draft, ImportFormatError, Pair
from rlanything_task_pools.coding.page_text import page_text
from rlanything_task_pools.coding.payload import MAX_PROGRAM, MAX_TEXT, MAX_TOTAL
from rlanything_task_pools.coding.problem_files import read_fields, read_text
from rlanything_task_pools.coding.problem_flags import checker_of, flags_of

__all__ = ["matches", "read"]

CPU = 5.0
"""Seconds where neither folder nor statement has a limit: problemtools then takes a multiple of the slowest program."""
MAX_CPU = 60.0
MAX_MEMORY = 4096.0
"""MiB."""
MAX_OUTPUT = 64.0
"""MiB."""
MAX_PROGRAMS = 8
_STATEMENTS = ("problem_statement", "statement")
_SUFFIXES = ("md", "html", "tex")
_TIME = re.compile(r"\btime limit: ([0-9]{1,4}(?:\.[0-9]{1,3})?) second", re.IGNORECASE)
_MEMORY = re.compile(r"\bmemory limit: ([0-9]{1,5}) ?([MG])i?B", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"^[ \t]*(?:\{\{(?:next|remaining)samples?\}\}|\\(?:next|remaining)samples?)[ \t]*$", re.MULTILINE
)


def matches(folder: Path) -> bool:
    """Whether a folder is of this format."""
    return (folder / "problem.yaml").is_file()


def read(folder: Path) -> Draft:
    """The problem of a folder; its Python submissions are kept as correct and wrong programs.

    The English statement is taken, or, where there is none, the first of another language (trait ``language``). Tests
    that are absent or too long are left out, and the trait ``left_out`` says so.

    Raises:
        ImportFormatError: A file is missing or malformed, or the judging cannot be expressed.
        MissingExtra: PyYAML is not installed.
    """
    folder = folder.resolve()
    config = read_fields(folder, "problem.yaml")
    kinds = f"{config.get('type', '')} {config.get('validation', '')}"
    for kind in ("interactive", "multi-pass", "submit-answer"):
        if kind in kinds:
            raise ImportFormatError("problem.yaml type", f"{kind} problems cannot be expressed")
    statement, language = _statement(folder, config)
    limits = config.get("limits")
    limits = limits if isinstance(limits, Mapping) else {}
    memory, output = (
        _number(limits, "memory", MAX_MEMORY) or _stated_memory(statement),
        _number(limits, "output", MAX_OUTPUT),
    )
    tests = _Tests(folder)
    public, hidden = tests.public(), tests.hidden()
    traits: dict[str, str | int | float | bool] = {"name": folder.name[:200] or "problem"}
    if language != "en":
        traits["language"] = language
    if tests.left_out:
        traits["left_out"] = f"{len(tests.left_out)} secret tests, such as {tests.left_out[0]}"[:400]
    return Draft(
        statement=statement,
        public=public,
        hidden=hidden,
        checker=checker_of(folder, config, flags_of(folder, config)),
        cpu=_number(limits, "time_limit", MAX_CPU) or _time_file(folder) or _stated_time(statement) or CPU,
        memory=None if memory is None else int(memory) * 2**20,
        output=None if output is None else int(output * 2**20),
        good=_programs(folder, "accepted"),
        wrong=_programs(folder, "wrong_answer"),
        traits=traits,
    )


def _statement(folder: Path, config: Mapping[str, Any]) -> tuple[str, str]:
    """The statement, and its language."""
    found = {path.name: path for place in _STATEMENTS for path in sorted((folder / place).glob("problem.*"))}
    names = [f"problem{language}.{suffix}" for language in (".en", "") for suffix in _SUFFIXES]
    for name in chain(names, sorted(found)):
        path, parts = found.get(name), name.split(".")
        if path is None or parts[-1] not in _SUFFIXES or len(parts) > 3 or not path.is_file():
            continue
        language = parts[1] if len(parts) == 3 else "en"
        text = read_text(folder, path, 4 * MAX_TEXT)
        if parts[-1] == "html":
            # Pages of contests mark formulas with three or four dollars, where people write one or two.
            text = page_text(text).replace("$$$$", "$$").replace("$$$", "$")
        return f"{_title(folder, config, language)}\n\n{_PLACEHOLDER.sub('', text).strip()}\n", language
    raise ImportFormatError("problem_statement", "there is no problem.LANGUAGE.md, .html or .tex")


def _title(folder: Path, config: Mapping[str, Any], language: str) -> str:
    name = config.get("name")
    if isinstance(name, Mapping):
        name = name.get(language, next(iter(name.values()), None))
    return name if isinstance(name, str) and name else folder.name


class _Tests:
    """The tests of a folder, as far as a task has room for them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.left_out: list[str] = []
        self._room = MAX_TOTAL

    def public(self) -> list[Pair]:
        """The samples: those in the data, and those next to the statement."""
        pairs = list(self._below("sample"))
        for place in _STATEMENTS:
            paths = sorted((self.folder / place).glob("*_sample_*_input.txt"))
            pairs += [(path, path.with_name(path.name.removesuffix("input.txt") + "output.txt")) for path in paths]
        known: dict[str, str] = {}
        for path, answer in pairs:
            test = self._read(path, answer)
            if test is not None:
                known.setdefault(*test)
        return list(known.items())

    def hidden(self) -> list[Pair]:
        """The secret tests, in the order of their names.

        Raises:
            ImportFormatError: None can be kept; the reason is that of the first.
        """
        found = [test for paths in self._below("secret") if (test := self._read(*paths)) is not None]
        if not found and self.left_out:
            raise ImportFormatError("data/secret", f"no test can be kept: {self.left_out[0]}")
        return found

    def _below(self, name: str) -> Iterator[tuple[Path, Path]]:
        place = self.folder / "data" / name
        stems = {path.with_suffix("") for suffix in ("in", "ans") for path in place.rglob(f"*.{suffix}")}
        # A name may have dots in it, which `with_suffix` would take for the end.
        return ((Path(f"{stem}.in"), Path(f"{stem}.ans")) for stem in sorted(stems))

    def _read(self, path: Path, answer: Path) -> Pair | None:
        name = path.relative_to(self.folder).as_posix()
        if absent := [file.suffix for file in (path, answer) if not file.is_file()]:
            self.left_out.append(f"{name.removesuffix('.in')} (no regular file {' and '.join(absent)})")
            return None
        # A character takes at least a byte: what is longer in bytes may still be short enough.
        size = path.stat().st_size + answer.stat().st_size
        pair = None
        if size <= 8 * MAX_TEXT:
            pair = read_text(self.folder, path, 4 * MAX_TEXT), read_text(self.folder, answer, 4 * MAX_TEXT)
        if pair is None or max(map(len, pair)) > MAX_TEXT or len(pair[0]) + len(pair[1]) > self._room:
            self.left_out.append(f"{name} ({size} bytes are too many)")
            return None
        self._room -= len(pair[0]) + len(pair[1])
        return pair


def _programs(folder: Path, name: str) -> list[str]:
    """The first programs of a folder of submissions that are not too long."""
    paths = sorted((folder / "submissions" / name).glob("*.py"))
    short = [path for path in paths if path.is_file() and path.stat().st_size <= MAX_PROGRAM]
    return [read_text(folder, path, MAX_PROGRAM) for path in short[:MAX_PROGRAMS]]


def _time_file(folder: Path) -> float | None:
    """The limit in ``.timelimit``, a file that contest systems add to the legacy format."""
    path = folder / ".timelimit"
    if not path.is_file():
        return None
    try:
        value = float(read_text(folder, path, 100))
    except ValueError:
        value = 0.0
    if not value > 0:
        raise ImportFormatError(".timelimit", "expected a number of seconds above 0")
    return min(value, MAX_CPU)


def _stated_time(statement: str) -> float | None:
    found = _TIME.search(statement)
    return None if found is None or not float(found[1]) else min(float(found[1]), MAX_CPU)


def _stated_memory(statement: str) -> float | None:
    found = _MEMORY.search(statement)
    return None if found is None else min(int(found[1]) * (1024.0 if found[2] in "gG" else 1.0), MAX_MEMORY) or None


def _number(limits: Mapping[str, Any], name: str, most: float) -> float | None:
    value = limits.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ImportFormatError(f"problem.yaml limits.{name}", f"expected a number above 0, got {value!r:.80}")
    return float(min(value, most))
