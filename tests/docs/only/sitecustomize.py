"""Hides from Python, and from each Python that it starts, every package that a page does not name: first on the path.

``$ONLY`` is the page's line of needs. What it names, the core, and what they require can be imported; a package that is
installed for another reason is not found.
"""

from __future__ import annotations

import importlib.metadata as metadata
import os
import re
import sys
import tomllib
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

OURS = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PROJECT = OURS["name"]
RUNS_PAGES = {"markdown-it-py", "pip", "setuptools", "hatchling", "editables"}
"""What ``doc_runner.py`` itself imports, and what installs packages."""


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _lines(name: str, extra: str) -> list[str]:
    """Requirements of a package; of this project by its file, since what is installed may be older."""
    if name == PROJECT:
        extras = OURS["optional-dependencies"]
        return [*OURS["dependencies"], *extras[extra]] if extra in extras else list(OURS["dependencies"])
    try:
        return metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return []


def _required(wanted: set[tuple[str, str]]) -> set[str]:
    """Names of packages and of all that they require; each with one of its extras, or none."""
    from packaging.requirements import Requirement

    seen: set[tuple[str, str]] = set()
    while wanted - seen:
        name, extra = (wanted - seen).pop()
        seen.add((name, extra))
        for requirement in map(Requirement, _lines(name, extra)):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                wanted |= {(_plain(requirement.name), part) for part in ("", *requirement.extras)}
    return {name for name, _ in seen}


def _named(needs: str) -> set[tuple[str, str]]:
    """Packages that a line of needs names: ``the extras `train` and `llm` ``, `` `pip install 'trl>=1'` ``."""
    found = {(PROJECT, "")}
    for code in re.findall(r"`([^`]+)`", needs):
        if code.startswith("pip install "):
            found |= {(_plain(re.split(r"[<>=\[]", word.strip("'"))[0]), "") for word in code.split()[2:]}
        else:
            found.add((PROJECT, code))
    return found


class _Others(PathFinder):
    """Finds what Python finds along its path, but for some modules."""

    hidden: set[str]

    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return None if fullname.partition(".")[0] in cls.hidden else PathFinder.find_spec(fullname, path, target)


if needs := os.environ.get("ONLY"):
    allowed = _required(_named(needs)) | RUNS_PAGES
    providers = metadata.packages_distributions()
    _Others.hidden = {module for module, names in providers.items() if not {*map(_plain, names)} & allowed}
    sys.meta_path[:] = [_Others if finder is PathFinder else finder for finder in sys.meta_path]
