"""``rlanything view`` as it is typed."""

import json
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from functools import partial
from http.cookiejar import CookieJar
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rlanything_agents.tools.cli import app


def test_a_viewer_prints_its_address_answers_and_ends(runs: Path) -> None:
    command = [sys.executable, "-m", "rlanything_agents", "view", str(runs / "alfworld"), "--json"]
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # ignored where tests run in the background
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heard)
    try:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["url"]
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        with browser.open(address, timeout=60) as page:
            assert page.url.endswith("/")
            assert b'<main id="main"' in page.read()
        with browser.open(f"{address.split('?')[0]}data/runs.json", timeout=60) as answer:
            assert [run["name"] for run in json.load(answer)["runs"]] == ["alfworld"]
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"{address.split('?')[0]}data/runs.json", timeout=60)
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert errors == ""


def test_an_export_is_told(runs: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    result = CliRunner().invoke(app, ["view", str(runs / "osworld"), "--out", str(target), "--json"])
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert told["index"] == str(target / "index.html")
    assert told["bytes"] == sum(file.stat().st_size for file in target.rglob("*") if file.is_file())


def test_the_viewer_loads_no_learning_machinery() -> None:
    code = "import sys, rlanything_agents.tools.view; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "transformers", "trl", "matplotlib", "scipy", "pandas", "fastapi"} & set(loaded)


def test_a_port_that_is_taken_is_told(runs: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(app, ["view", str(runs), "--port", str(port)])
    assert result.exit_code == 2
    assert f"port {port} cannot be used" in result.stderr
