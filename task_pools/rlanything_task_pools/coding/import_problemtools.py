"""Folders as the problemtools of Kattis have them: ``problem.yaml``, ``data/sample``, ``data/secret``, a statement."""

import re
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from rlanything_task_pools.coding.draft import Draft, ImportFormatError, Pair, float_checker
from rlanything_task_pools.coding.payload import MAX_PROGRAM, MAX_TEXT
from rlanything_task_pools.errors import MissingExtra
from rlanything_verifiers.plain_file import read_plain
from rlanything_verifiers.plain_yaml import YamlError, read_yaml

__all__ = ["matches", "read"]

MAX_YAML = 100_000
MAX_PROGRAMS = 8


def matches(folder: Path) -> bool:
    """Whether a folder is of this format."""
    return (folder / "problem.yaml").is_file()


def read(folder: Path) -> Draft:
    """The problem of a folder; its Python submissions are kept as correct and wrong programs.

    Tokens are compared with their case, whatever the folder says of it.

    Raises:
        ImportFormatError: A file is missing or malformed, or the judging needs a validator of its own.
        MissingExtra: PyYAML is not installed.
    """
    folder = folder.resolve()
    config = _config(folder)
    kind = str(config.get("type", "pass-fail"))
    validators = [name for name in ("output_validator", "output_validators") if (folder / name).is_dir()]
    if "interactive" in kind or "multi-pass" in kind:
        raise ImportFormatError("problem.yaml type", f"{kind!r:.80} cannot be expressed")
    if str(config.get("validation", "default")) != "default" or validators:
        place = "problem.yaml validation" if not validators else validators[0]
        raise ImportFormatError(place, "a validator of its own cannot be expressed")
    limits = config.get("limits")
    limits = limits if isinstance(limits, Mapping) else {}
    return Draft(
        statement=_statement(folder, config),
        public=_tests(folder, "sample"),
        hidden=_tests(folder, "secret"),
        checker=_checker(config.get("validator_flags")),
        cpu=_number(limits, "time_limit", 60.0),
        memory=None if (memory := _number(limits, "memory", 4096.0)) is None else int(memory) * 2**20,
        good=_programs(folder, "accepted"),
        wrong=_programs(folder, "wrong_answer"),
        traits={"name": folder.name[:200] or "problem"},
    )


def _config(folder: Path) -> dict[str, Any]:
    text = _text(folder, folder / "problem.yaml", MAX_YAML)
    try:
        value = read_yaml(text)
    except ImportError as error:
        raise MissingExtra("folders with a problem.yaml need the package pyyaml: pip install pyyaml") from error
    except YamlError as error:
        raise ImportFormatError("problem.yaml", f"not YAML: {error}") from None
    if not isinstance(value, dict):
        raise ImportFormatError("problem.yaml", f"expected fields, got {type(value).__name__}")
    return value


def _text(folder: Path, path: Path, limit: int) -> str:
    """The text of a file of the folder; links may lead about in it, and not out of it."""
    place = "/".join(path.parts[-3:])
    try:
        if not path.resolve().is_relative_to(folder):
            raise ImportFormatError(place, "a link that leads out of the folder is not followed")
        content = read_plain(path, limit + 1)
        if len(content) > limit:
            raise ImportFormatError(place, f"too many bytes; at most {limit} are read")
        return content.decode().replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, RuntimeError, UnicodeDecodeError) as error:  # RuntimeError: links in a circle
        raise ImportFormatError(place, f"cannot be read: {error}") from None


def _statement(folder: Path, config: Mapping[str, Any]) -> str:
    for suffix in ("md", "html", "tex"):
        for place in ("problem_statement", "statement"):
            for name in (f"problem.en.{suffix}", f"problem.{suffix}"):
                path = folder / place / name
                if path.is_file():
                    text = _text(folder, path, 4 * MAX_TEXT)
                    body = _html_text(text) if suffix == "html" else text.strip()
                    return f"{_title(folder, config)}\n\n{body}\n"
    raise ImportFormatError("problem_statement", "there is no problem.en.md, .html or .tex")


def _title(folder: Path, config: Mapping[str, Any]) -> str:
    name = config.get("name")
    if isinstance(name, Mapping):
        name = name.get("en", next(iter(name.values()), None))
    return name if isinstance(name, str) and name else folder.name


def _tests(folder: Path, name: str) -> list[Pair]:
    """The tests below a folder of data, in the order of their names."""
    found: list[Pair] = []
    place = folder / "data" / name
    for path in sorted(place.rglob("*.in")) if place.is_dir() else []:
        answer = path.with_suffix(".ans")
        found.append((_text(folder, path, MAX_TEXT), _text(folder, answer, MAX_TEXT)))
    return found


def _programs(folder: Path, name: str) -> list[str]:
    """The first programs of a folder of submissions that are not too long."""
    place = folder / "submissions" / name
    paths = sorted(place.glob("*.py")) if place.is_dir() else []
    short = [path for path in paths if path.is_file() and path.stat().st_size <= MAX_PROGRAM]
    return [_text(folder, path, MAX_PROGRAM) for path in short[:MAX_PROGRAMS]]


def _checker(flags: object) -> dict[str, Any]:
    """The checker of the flags of the default validator."""
    if flags is None:
        return {"kind": "tokens"}
    words = [str(flag) for flag in flags] if isinstance(flags, list) else str(flags).split()
    tolerances: dict[str, float] = {}
    kind = "tokens"
    place = "problem.yaml validator_flags"
    while words:
        word = words.pop(0)
        if word in ("float_tolerance", "float_absolute_tolerance", "float_relative_tolerance"):
            value = float_checker(words.pop(0) if words else None, place)["abs"]
            tolerances |= {side: value for side, other in _SIDES if word != other}
        elif word == "space_change_sensitive":
            kind = "lines"
        elif word != "case_sensitive":
            raise ImportFormatError(place, f"{word!r:.80} is unknown")
    return {"kind": "float", "abs": 0.0, "rel": 0.0, **tolerances} if tolerances else {"kind": kind}


_SIDES = (("abs", "float_relative_tolerance"), ("rel", "float_absolute_tolerance"))
"""A tolerance, and the flag that does not set it."""


def _number(limits: Mapping[str, Any], name: str, most: float) -> float | None:
    value = limits.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ImportFormatError(f"problem.yaml limits.{name}", f"expected a number above 0, got {value!r:.80}")
    return float(min(value, most))


_BREAKS = {"p", "br", "div", "li", "tr", "pre", "h1", "h2", "h3", "h4", "table", "ul", "ol"}
_SILENT = {"script", "style"}


class _Text(HTMLParser):
    """The text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.silent = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.silent += tag in _SILENT
        if tag in _BREAKS:
            self.parts.append("\n")
        if tag == "sup":
            self.parts.append("^")

    def handle_endtag(self, tag: str) -> None:
        self.silent -= tag in _SILENT and self.silent > 0
        if tag in _BREAKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self.silent:
            self.parts.append(data)


def _html_text(page: str) -> str:
    parser = _Text()
    parser.feed(page)
    parser.close()
    lines = [line.strip() for line in "".join(parser.parts).splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
