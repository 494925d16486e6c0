"""Real runs of all three domains, small; and a browser to look at them with."""

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rlanything_agents.tools.view import Site
from rlanything_agents.tools.view.server import ViewServer

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
MODEL = "{hidden_size: 32, layers: 1, heads: 2, intermediate_size: 64}"
COMMON = ["seed=3", "threads=1", "iterations=2", f"policy={MODEL}", f"reward_model={MODEL}"]
KINDS = "{kinds: [count_lines], difficulty: 0}"
EASY = "{families: [list_steps], levels: {size: 8, steps: 1}}"
SETTINGS: dict[str, tuple[str, list[str]]] = {
    "alfworld": (
        "quickstart.yaml",
        [
            "warm_start={demonstrations: 40, max_steps: 8, epochs: 2, judge_steps: 100, judge_epochs: 1}",
            "rollout={tasks: 4, rollouts: 4, max_steps: 6}",
            "feedback={policy_band: null, judge_band: null}",
            "curriculum={pool_size: 6, knobs: {rooms: [Bathroom], kinds: [simple, clean]}}",
            "evaluation={episodes: 8, max_steps: 6, judge_episodes: 4, every: 1, every_episodes: 6}",
        ],
    ),
    "coding": (
        "coding-quickstart.yaml",
        [
            f"warm_start={{knobs: {EASY}, demonstrations: 200, mistakes: 0.2, epochs: 4, judge_steps: 150, "
            "judge_epochs: 2, learning_rate: 0.005}",
            "rollout={tasks: 3, rollouts: 4, max_steps: 1, threads: 2}",
            "judge={votes: 5}",
            f"curriculum={{pool_size: 4, acceptance: paper, knobs: {EASY}}}",
            f"evaluation={{panels: [valid_seen], knobs: {EASY}, episodes: 6, judge_episodes: 4, max_steps: 1}}",
        ],
    ),
    "osworld": (
        "osworld-quickstart.yaml",
        [
            f"warm_start={{knobs: {KINDS}, demonstrations: 30, max_steps: 8, epochs: 2, judge_steps: 40}}",
            "rollout={tasks: 2, rollouts: 3, max_steps: 3, screenshots: 4}",
            "judge={votes: 2}",
            f"curriculum={{pool_size: 3, acceptance: paper, operators: [evaluator, hints], knobs: {KINDS}}}",
            f"evaluation={{panels: [valid_seen], knobs: {KINDS}, episodes: 4, judge_episodes: 4, max_steps: 3}}",
        ],
    ),
}


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one finished run for each domain."""
    import torch

    from rlanything_agents.config import load_config
    from rlanything_agents.runs.folder import RunFolder
    from rlanything_agents.runs.progress import Reporter
    from rlanything_agents.runs.train import train

    top, threads = tmp_path_factory.mktemp("runs"), torch.get_num_threads()
    for domain, (file, more) in SETTINGS.items():
        config = load_config(Path(__file__).parents[4] / "configs" / file, [f"name={domain}", *COMMON, *more])
        train(config, RunFolder(top / domain), Reporter.silent(), command="rlanything train")
    torch.set_num_threads(threads)
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
