"""Commands that install something name what can be installed: a checkout, a file, or a name that an index has."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from rlanything_verifiers import installed

ROOT = Path(__file__).resolve().parents[1]
BY_NAME = re.compile(
    r"""(?:install|dependencies\s*=\s*\[|Requires-Dist:)[^\n]{0,80}(?<![@\w./-])rlanything-envs(?![\w-])"""
)


def test_no_text_installs_a_name_that_no_index_has() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no checkout of git")
    texts = (".py", ".md", ".toml", ".yaml", ".yml", ".ipynb", ".txt", "Dockerfile", "Makefile")
    named = []
    for name in listed.stdout.split("\0"):
        if name.endswith(texts) and not name.startswith(("tests/", "CHANGELOG")) and (ROOT / name).is_file():
            text = (ROOT / name).read_text(encoding="utf-8")
            named += [f"{name}: {found}" for found in BY_NAME.findall(text)]
    assert not named


def test_the_pattern_finds_what_it_should() -> None:
    assert BY_NAME.search("pip install 'rlanything-envs[train]'")
    assert BY_NAME.search('dependencies = ["openenv>=0.10", "rlanything-envs"]')
    assert not BY_NAME.search("pip install '.[train]'")


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        ({"url": "file:///tmp/a%20b.whl", "archive_info": {}}, "pip install '/tmp/a b.whl[train]'"),
        ({"url": "file:///src/it", "dir_info": {}}, "pip install '/src/it[train]'"),
        (
            {"url": "https://x.org/it", "vcs_info": {"vcs": "git", "commit_id": "ab12"}},
            "pip install 'rlanything-envs[train] @ git+https://x.org/it@ab12'",
        ),
        (
            {"url": "https://x.org/it.whl", "archive_info": {}},
            "pip install 'rlanything-envs[train] @ https://x.org/it.whl'",
        ),
        (None, "pip install 'rlanything-envs[train]'"),
        ([], "pip install 'rlanything-envs[train]'"),
    ],
)
def test_the_command_names_where_the_library_came_from(
    origin: object, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if origin is not None:
        (tmp_path / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.setattr(installed, "checkout", lambda: None)
    monkeypatch.setattr(installed, "distribution", lambda name: PathDistribution(tmp_path))
    installed._origin.cache_clear()
    try:
        assert installed.install("train") == command
    finally:
        installed._origin.cache_clear()


def test_a_checkout_is_named_by_a_dot_within_and_by_its_place_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert installed.install() == "pip install -e ."
    assert installed.install("train", "llm") == "pip install -e '.[train,llm]'"
    monkeypatch.chdir(tmp_path)
    assert installed.install("train") == f"pip install -e '{ROOT}[train]'"


def test_a_release_is_refused_until_all_is_in_order(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        from check_release import problems
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    project = '[project]\nversion = "1.2.3"\n[project.urls]\nRepository = "ADDRESS"\n'
    (tmp_path / "pyproject.toml").write_text(project.replace("ADDRESS", "https://example.org/x"))
    (tmp_path / "README.md").write_text("git clone https://real.net/x && cd x\n")
    (tmp_path / "CHANGELOG.md").write_text("## Unreleased\n")
    assert len(list(problems(tmp_path, "v1.2.4"))) == 4
    (tmp_path / "pyproject.toml").write_text(project.replace("ADDRESS", "https://real.net/x"))
    (tmp_path / "CHANGELOG.md").write_text("## 1.2.3 (today)\n")
    assert list(problems(tmp_path, "v1.2.3")) == list(problems(tmp_path, "")) == []
