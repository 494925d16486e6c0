"""The site is built without a warning, asks nobody else for anything, and shows formulas."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from doc_runner import ROOT

pytest.importorskip("mkdocs", reason="mkdocs is not installed (extra: docs)")
pytest.importorskip("mkdocstrings", reason="mkdocstrings is not installed (extra: docs)")

FOREIGN = re.compile(r'<(?:script|img|iframe)\b[^>]*\bsrc="(?:https?:)?//[^"]+|<link\b[^>]*\bhref="(?:https?:)?//[^"]+')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    return folder


def test_every_page_is_there(site: Path) -> None:
    pages = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    for page in pages:
        built = site / page.with_suffix("") / "index.html"
        assert built.is_file() or (page.stem == "index" and (site / page.parent / "index.html").is_file()), page


def test_models_find_every_page(site: Path) -> None:
    links = re.findall(r"^- \[.+\]\((.*)\)$", (site / "llms.txt").read_text(encoding="utf-8"), re.MULTILINE)
    listed = {(site / link / "index.html").resolve() for link in links}
    assert listed == {path.resolve() for path in site.rglob("index.html")}


def test_nothing_comes_from_elsewhere(site: Path) -> None:
    found = {path.name: FOREIGN.findall(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    assert {name: links for name, links in found.items() if links} == {}
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert not re.search(r"url\([\"']?(?:https?:)?//", styles)


def test_the_search_finds_words_in_code(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    words = {word for page in index["docs"] for word in re.split(index["config"]["separator"], page["text"])}
    assert {"make_vec", "shared_memory", "max_episode_steps"} <= words


def test_formulas_are_mathml(site: Path) -> None:
    theory = (site / "theory" / "index.html").read_text(encoding="utf-8")
    assert theory.count("<math") > 40
    assert "arithmatex" not in theory
    assert "merror" not in theory


def test_the_reference_has_what_the_code_has(site: Path) -> None:
    reference = site / "reference"
    assert "rlanything pool lineage" in (reference / "cli" / "index.html").read_text(encoding="utf-8")
    configuration = (reference / "configuration" / "index.html").read_text(encoding="utf-8")
    assert "rollout.max_steps" in configuration
    titles = re.findall(r'<h2 id="[^"]+">(.*?)<a', configuration)
    assert len(set(titles)) == len(titles) > 15, "the contents list a section twice"
    for page, name in (
        ("envs", "rlanything_envs.coding.env.CodingEnv"),
        ("curriculum", "rlanything_envs.curriculum.AdaptiveDifficulty"),
        ("task_pools", "rlanything_task_pools.TaskPool.propose"),
        ("agents", "rlanything_agents.feedback.group_feedback"),
    ):
        assert f'id="{name}"' in (reference / page / "index.html").read_text(encoding="utf-8"), name
