"""The pins install on the oldest Python that we support, and what needs a compiler stays out of ``make test``."""

import re
import tomllib
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
OLDEST = "3.11.0"
PINS = {
    canonicalize_name(name): version
    for name, version in re.findall(r"(?m)^([A-Za-z0-9_.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text())
}
INSTALLED: dict[str, Distribution] = {canonicalize_name(found.metadata["Name"]): found for found in distributions()}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_every_pinned_version_admits_the_oldest_python() -> None:
    too_new = []
    for name, version in PINS.items():
        if name in INSTALLED and INSTALLED[name].version.partition("+")[0] == version:
            wanted = INSTALLED[name].metadata["Requires-Python"] or ""
            if not SpecifierSet(wanted).contains(OLDEST):
                too_new.append(f"{name}=={version} needs Python {wanted}")
    assert not too_new


def test_this_project_admits_the_oldest_python() -> None:
    assert SpecifierSet(PROJECT["requires-python"]).contains(OLDEST)


def test_everything_installed_by_make_test_is_pinned() -> None:
    """What an unpinned package would bring changes from day to day."""
    loose = set()
    todo = [Requirement(text) for text in PROJECT["dependencies"]]
    extras = re.search(r"-e '\.\[(train,[a-z,]+,dev)\]'", (ROOT / "Makefile").read_text())
    assert extras is not None
    for extra in extras[1].split(","):
        todo += [Requirement(text) for text in PROJECT["optional-dependencies"][extra]]
    seen = set()
    while todo:
        need = todo.pop()
        name = canonicalize_name(need.name)
        wanted = {None, *need.extras}
        if not any(need.marker is None or need.marker.evaluate({"extra": extra or ""}) for extra in wanted):
            continue
        key = (name, frozenset(need.extras))
        if key in seen or name not in INSTALLED:
            continue
        seen.add(key)
        if name not in PINS:
            loose.add(name)
        for text in INSTALLED[name].requires or []:
            inner = Requirement(text)
            if inner.marker is None or any(inner.marker.evaluate({"extra": extra}) for extra in ("", *need.extras)):
                inner.marker = None
                todo.append(inner)
    assert not loose - {"rlanything-envs", "setuptools", "pip"}, f"not in constraints.txt: {sorted(loose)}"
    assert not {"textworld", "alfworld", "jericho", "fast-downward-textworld"} & {name for name, _ in seen}, (
        "these are compiled on installation: they belong to `make test-all`"
    )
