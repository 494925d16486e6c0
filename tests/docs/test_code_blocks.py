"""Every block of code in the README and the documentation does what the page says.

A block that cannot run here says so in the page, in an HTML comment with its reason; `test_few_blocks_are_not_run`
lists them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium as gym
import pytest
from doc_blocks import Page, PageError, read_page
from doc_runner import ROOT, BlockFailed, run_page
from isolated import Isolated
from light import Light
from preloaded import Preloaded

import rlanything_envs  # noqa: F401 (what it registers is to stay)
from rlanything_task_pools import get_domain

PAGES = [read_page(path) for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))]
MOST_NOT_RUN = 20
SLOW = {"docs/tutorial/train.md", "docs/howto/scaling.md"}
"""Pages that train for half a minute; slow are those, too, for which packages of other makers are installed."""


CORE = "the core"
HERE = {
    "docs/tutorial/your-domain.md": "installs a package with pip and setuptools, which the core's environment has not"
}
"""Pages of the core that run in this environment, and why."""


def _name(page: Page) -> str:
    return page.path.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def commands(preloaded: Preloaded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an ``rlanything`` that has PyTorch imported."""
    folder = tmp_path_factory.mktemp("bin")
    preloaded.command(folder / "rlanything", str(Path(sys.executable).with_name("rlanything")))
    return folder


@pytest.fixture
def undone(tmp_path: Path) -> Iterator[None]:
    """Takes back what a page does to this process: modules from its folder, environments that it registered."""
    registered = dict(gym.registry)
    yield
    gym.registry.clear()
    gym.registry.update(registered)
    get_domain.cache_clear()
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith((str(tmp_path), "plugins")):
            del sys.modules[name]


@pytest.mark.usefixtures("undone")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page, id=_name(page), marks=[pytest.mark.slow] * (_name(page) in SLOW or page.environment is not None)
        )
        for page in PAGES
        if any(block.runs for block in page.blocks)
    ],
)
def test_page(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if page.needs == CORE and _name(page) not in HERE:
        light: Light = request.getfixturevalue("light")
        light.run("python", str(ROOT / "tests/docs/doc_runner.py"), str(page.path), str(tmp_path), cwd=tmp_path)
        return
    if page.environment is None:
        commands: Path = request.getfixturevalue("commands")
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(str(tmp_path))
        run_page(page, tmp_path, commands)
        return
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    isolated = Isolated(page.environment)
    command = [str(isolated.python()), str(ROOT / "tests" / "docs" / "doc_runner.py"), str(page.path), str(tmp_path)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, **isolated.variables}
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=_name(page))
        for page in PAGES
        if page.needs not in (None, CORE) and page.environment is None and any(block.runs for block in page.blocks)
    ],
)
def test_a_page_needs_no_more_than_it_says(page: Page, tmp_path: Path) -> None:
    """Each process of the page finds the packages that it names, what they require, and no others."""
    path = [str(ROOT / "tests" / "docs" / "only"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "docs" / "doc_runner.py"), str(page.path), str(tmp_path)],
        env={**os.environ, "ONLY": str(page.needs), "PYTHONPATH": os.pathsep.join(filter(None, path))},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]


def test_each_page_with_code_says_under_its_title_what_it_needs() -> None:
    pages = [
        page for page in PAGES if page.blocks and page.path.name != "README.md" and "reference" not in page.path.parts
    ]
    assert [_name(page) for page in pages if page.needs is None] == []
    for page in pages:
        head = page.path.read_text(encoding="utf-8").partition("**Needs**")[0]
        assert head.count("\n") <= 5, f"{_name(page)}: it stands under the title"


def test_few_blocks_are_not_run() -> None:
    blocks = [block for page in PAGES for block in page.blocks]
    elsewhere = "tests/docs/test_readme.py"  # types the block that begins with a clone
    listed = [
        f"{b.place}: {b.not_run}" for b in blocks if b.not_run is not None and not b.not_run.startswith(elsewhere)
    ]
    print(*listed, sep="\n")
    assert len(listed) <= MOST_NOT_RUN, "\n".join(listed)
    assert len(blocks) > 5 * len(listed)


# -- the runner itself ---------------------------------------------------------------------------------------


def _page(text: str) -> Page:
    return read_page(Path("page.md"), text)


def _run(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(folder)
    return [block.place for block in run_page(_page(text), folder)]


def test_blocks_share_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = '```python title="one.py"\nx = 2\n```\n\n```bash\ncat one.py\n```\n\n```text\nx = ...\n```\n'
    assert _run(page, tmp_path, monkeypatch) == []


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("```python\nprint(1)\n```\n```text\n2\n```\n", "page.md:2"),
        ("one\n\n```python\n1 / 0\n```\n", "ZeroDivisionError"),
        ("```python\nx = 2\n```\n```python\nprint(x)\n```\n", "NameError"),
        ("```bash\nfalse\n```\n", "exit 1"),
        ("```bash\nmake no-such-target\n```\n", "exit 2"),
        ("```yaml\nno_such_key: 1\n```\n", "no_such_key"),
        ("```json\n{\n```\n", "page.md:2"),
        ("```rust\nmain\n```\n", "rust"),
        ('```python title="examples/recipe_trl.py"\nmain()\n```\n', "an old examples/recipe_trl.py"),
    ],
)
def test_a_page_that_is_wrong_fails(page: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BlockFailed, match=said):
        _run(page, tmp_path, monkeypatch)


@pytest.mark.parametrize("said", ["not run: why", "needs: no-such-program"])
def test_what_is_not_run_is_returned(said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run(f"<!-- {said} -->\n```bash\nfalse\n```\n", tmp_path, monkeypatch) == ["page.md:3"]


def test_a_block_runs_where_its_program_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BlockFailed, match="exit 1"):
        _run("<!-- needs: bash -->\n```bash\nfalse\n```\n", tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("- a list\n\n  ```bash\n  true\n  ```\n", "inside a list"),
        ("<!-- not run: why -->\n\nProse.\n", "before no block"),
        ("<!-- run with: --seed 1 -->\n", "before no block"),
        ("<!-- needs: g++ -->\n", "before no block"),
    ],
)
def test_a_page_that_would_slip_through_is_refused(page: str, said: str) -> None:
    with pytest.raises(PageError, match=said):
        _page(page)
