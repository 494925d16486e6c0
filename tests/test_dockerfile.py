"""The Dockerfile agrees with the checkout and the documents; building it needs a registry, so no test does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINES = re.findall(r"(?m)^([A-Z]+) (.+)$", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def of(instruction: str) -> list[str]:
    """Arguments of all lines with an instruction."""
    return [arguments for name, arguments in LINES if name == instruction]


def test_what_is_copied_exists_and_is_sent_to_the_builder() -> None:
    sources = [source for arguments in of("COPY") for source in arguments.split()[:-1]]
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert ignored[0] == "*"
    for source in sources:
        assert (ROOT / source).exists(), source
        assert f"!{source}" in ignored


def test_all_that_the_wheel_is_made_of_is_copied() -> None:
    copied = {source for arguments in of("COPY") for source in arguments.split()[:-1]}
    packages = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert {package.partition("/")[0] for package in packages} <= copied
    assert {"pyproject.toml", PROJECT["project"]["readme"], *PROJECT["project"]["license-files"]} <= copied


def test_it_installs_what_the_page_on_installation_installs() -> None:
    (pip,) = (line for line in of("RUN") if "pip install" in line)
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    extras = re.search(r"pip install .*'\.\[(.+?)\]'", pip)
    assert extras
    assert f"pip install '.[{extras[1]}]'" in page
    base = re.search(r"python:(3\.\d+)-slim", " ".join(of("ARG")))
    assert base
    assert f"Programming Language :: Python :: {base[1]}" in PROJECT["project"]["classifiers"]


def test_it_runs_the_command_as_an_ordinary_user() -> None:
    names = [name for name, _ in LINES]
    assert of("USER") == ["player"]
    assert names.index("USER") > max(i for i, name in enumerate(names) if name in ("RUN", "COPY"))
    (entry,) = of("ENTRYPOINT")
    assert entry == '["rlanything"]'
    assert "rlanything" in PROJECT["project"]["scripts"]
