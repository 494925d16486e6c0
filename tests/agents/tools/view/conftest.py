"""Real runs of all three domains, small; and a browser to look at them with."""

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from small_runs import DOMAINS, small_run

from rlanything_agents.tools.view import Site
from rlanything_agents.tools.view.server import ViewServer

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one finished run for each domain."""
    top = tmp_path_factory.mktemp("runs")
    for domain in DOMAINS:
        shutil.copytree(small_run(domain), top / domain)
    return top


@pytest.fixture
def run(runs: Path, tmp_path: Path) -> Path:
    """A copy of the ALFWorld run, to be spoiled."""
    return Path(shutil.copytree(runs / "alfworld", tmp_path / "copy"))


@pytest.fixture
def served() -> Iterator[Callable[[Path], ViewServer]]:
    """Starts viewers; they end with the test."""
    servers: list[ViewServer] = []

    def start(path: Path) -> ViewServer:
        server = ViewServer(Site(path))
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")  # its event loop must not outlive the tests that use it
def chromium() -> Iterator[Any]:
    """A headless browser."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium here")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()
