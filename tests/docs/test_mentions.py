"""What the documents name exists: commands and their options, files of the project, pages and extras."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from doc_blocks import read_page
from doc_runner import ROOT

from rlanything_agents.tools.cli import app

PARSER = typer.main.get_command(app)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMAND = re.compile(r"^(?:[A-Z_]+=\S+ )?(?:.*\| )?(?:timeout \S+ \S+ )?rlanything ((?:[^\n\\]|\\\n)+)", re.MULTILINE)
INLINE = re.compile(r"(?<!`)`rlanything ([^`]+)`")
OPTION = re.compile(r"(?<!\S)--[a-z][a-z-]*")
PROJECT_FILE = re.compile(r"\b(?:configs|examples|benchmarks)/[\w./-]+\.(?:py|yaml)\b")
EXTRA = re.compile(r"rlanything-envs\[([a-z,]+)\]")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)")


def _ids(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


each_page = pytest.mark.parametrize("path", PAGES, ids=_ids)


def _commands(path: Path) -> Iterator[str]:
    """All command lines of a page: of its blocks, also of those that are not run, and in running text."""
    page = read_page(path)
    for block in page.blocks:
        if block.language == "bash":
            yield from COMMAND.findall(block.text)
            yield f"train {block.run_with}" if "train" in block.text and block.run_with else ""
    yield from (text.replace("\n", " ") for text in INLINE.findall(path.read_text(encoding="utf-8")))


def _unknown(words: list[str]) -> str | None:
    """The first word of a command line that the parser does not know, with its place; None if it knows all."""
    command: Any = PARSER
    way = ["rlanything"]
    while words and hasattr(command, "commands"):
        word = words.pop(0).rstrip(".,;:")
        if word.startswith("-"):
            words.insert(0, word)
            break
        for name in word.split("|"):
            if name not in command.commands:
                return f"{' '.join(way)} {name}"
        command = command.commands[name]
        way.append(name)
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    for word in OPTION.findall(" ".join(words)):
        if word not in known | {"--help"}:
            return f"{' '.join(way)} {word}"
    return None


@each_page
def test_commands_and_options_exist(path: Path) -> None:
    lines = [re.split(r"\s[|>#]\s|\s2>|\s&&\s|\|\|", line)[0].split() for line in _commands(path)]
    assert [unknown for words in lines if (unknown := _unknown(words))] == []


def test_a_wrong_option_is_noticed() -> None:
    assert _unknown(["train", "--no-such-option"]) == "rlanything train --no-such-option"
    assert _unknown(["pool", "shw"]) == "rlanything pool shw"
    assert _unknown(["pool", "show|metrics", "runs", "--json"]) is None


@each_page
def test_files_of_the_project_exist(path: Path) -> None:
    named = set(PROJECT_FILE.findall(path.read_text(encoding="utf-8")))
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []


@each_page
def test_extras_exist(path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {extra for extras in EXTRA.findall(path.read_text(encoding="utf-8")) for extra in extras.split(",")}
    assert named <= set(project["optional-dependencies"])


@each_page
def test_links_to_files_lead_somewhere(path: Path) -> None:
    """Anchors are the business of ``mkdocs build --strict``; pages that it makes itself have no file."""
    targets = [link for link in LINK.findall(path.read_text(encoding="utf-8")) if "://" not in link]
    assert [link for link in targets if not (path.parent / link).exists() and "reference/" not in link] == [] or (
        path.parent.name == "reference"
    )


@each_page
def test_no_page_names_a_place_of_one_machine(path: Path) -> None:
    assert not re.search(r"(?<![\w.])/(?:home|root|tmp)/\w|localhost:\d+/(?!v1)", path.read_text(encoding="utf-8"))
