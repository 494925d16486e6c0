"""The commands ``rlanything benchmark`` and ``rlanything compare``: what they print, and how they end."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmark_parts import adapted_pool, expert_service
from click.testing import Result
from scripted_service import status
from typer.testing import CliRunner

from rlanything_agents.tools.benchmark.report import plain_command
from rlanything_agents.tools.cli import app
from rlanything_task_pools.panel import Panel

Invoke = Callable[..., Result]
ROOT = Path(__file__).resolve().parents[4]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


EASY = ("benchmark", "--panel", "alfworld-easy", "--limit", "2", "--workers", "1")


@pytest.mark.parametrize(("agent", "module"), [("run:nosuch", "policy"), ("hf:/nosuch", "checkpoint")])
def test_a_missing_folder_is_told_before_anything_is_imported_for_it(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, agent: str, module: str
) -> None:
    monkeypatch.setitem(sys.modules, f"rlanything_agents.tools.benchmark.{module}", None)
    refused = invoke(*EASY, "--agent", agent)
    assert (refused.exit_code, "no such folder" in refused.output) == (2, True), refused.output


def test_from_two_benchmarks_to_their_comparison(invoke: Invoke) -> None:
    done = invoke(*EASY, "--agent", "expert")
    assert done.exit_code == 0, done.output
    assert "100.0 % [34.2, 100.0]" in done.stdout
    out = Path("runs/benchmarks/alfworld-easy/expert")
    assert {"results.jsonl", "results.json", "report.html", "benchmark.json"} <= {path.name for path in out.iterdir()}
    lost = invoke(*EASY, "--agent", "expert", "--env", "max_episode_steps=2", "--out", "short", "--json")
    found: dict[str, Any] = json.loads(lost.stdout)
    assert (lost.exit_code, found["total"]["rate"]) == (0, 0.0)
    assert found["settings"]["environment"] == {"max_episode_steps": 2}
    compared = invoke("compare", out, "short")
    assert compared.exit_code == 0, compared.output
    assert "tasks lost: 2" in compared.stdout
    assert "environment" in compared.stdout
    assert "-100.0" in compared.stdout
    row = invoke(*EASY, "--agent", "expert", "--row").stdout
    cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
    assert cells[:4] == [
        "expert",
        f"alfworld-easy `{found['panel']['hash']}`",
        "max_episode_steps=50",
        "100.0 % [34.2, 100.0], 2 episodes",
    ]
    page = (ROOT / "docs" / "results.md").read_text().splitlines()
    header = next(line for line in page if line.startswith("| agent"))
    assert len(cells) == len(header.strip("|").split("|"))
    assert "--row" not in cells[-1]
    assert plain_command("benchmark --out 'my runs/a'\"'\"'s' --workers=2 --row --seed 1") == "benchmark --seed 1"
    assert json.loads(invoke("compare", out, "short", "--json").stdout)["mcnemar"] == {"gained": 0, "lost": 2, "p": 0.5}


def test_exit_codes(invoke: Invoke) -> None:
    assert invoke(*EASY, "--agent", "expert", "--fail-under", "1").exit_code == 0
    below = invoke(*EASY, "--agent", "expert", "--env", "max_episode_steps=1", "--out", "o", "--fail-under", "0.5")
    assert below.exit_code == 1
    assert "success 0.0 % is below 50.0 %" in below.stderr


def test_nothing_but_failures_is_no_success(invoke: Invoke, games: Panel) -> None:
    with expert_service(games) as service:
        knows, service.default = service.default, status(400)
        failed = invoke(*EASY, "--agent", "openai:m", "--base-url", service.base_url, "--out", "o")
        assert failed.exit_code == 2  # each request is refused
        assert f"the service at {service.base_url} gave no answer (--base-url names another)" in failed.stderr
        service.default = knows
        prices = ("--price-in", "1", "--price-out", "2")
        again = invoke(*EASY, "--agent", "openai:m", "--base-url", service.base_url, "--out", "o", *prices)
    assert again.exit_code == 0, again.output
    assert "$" in again.stdout


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium to open the page with")
def test_the_page_in_a_browser(invoke: Invoke, tmp_path: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    adapted_pool(tmp_path / "pool.sqlite")
    assert (
        invoke("benchmark", "--agent", "random", "--pool", "pool.sqlite", "--workers", "1", "--out", "o").exit_code == 0
    )
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: said.append(request.url) if not request.url.startswith("file:") else None)
        page.goto((tmp_path / "o" / "report.html").as_uri())
        assert page.locator("h2").all_inner_texts()[:2] == ["Success", "Adapted tasks against their roots"]
        rows = page.locator("table").first.locator("tr")
        assert rows.nth(1).inner_text().split()[:2] == ["all", "5"]
        assert page.locator("svg circle").count() >= 3
        tasks = page.locator("details tr")
        assert not tasks.nth(1).is_visible()
        page.locator("summary").click()
        assert tasks.count() == 1 + 5
        assert tasks.nth(1).is_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        browser.close()
    assert said == []
