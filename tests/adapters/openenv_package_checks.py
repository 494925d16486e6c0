"""Tests of examples/openenv_package; `test_openenv.py` runs them where OpenEnv is installed."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from rlanything_envs.adapters.openenv import TextClient

PACKAGE = Path(__file__).resolve().parents[2] / "examples" / "openenv_package"
TOKEN = "a-secret-of-tests-0123456789"


def validated(folder: Path) -> tuple[int, dict[str, object]]:
    """Exit status and report of OpenEnv's own validation."""
    command = [str(Path(sys.executable).with_name("openenv")), "validate", str(folder), "--level", "static", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout)


def test_openenv_validates_the_package(tmp_path: Path) -> None:
    status, report = validated(PACKAGE)
    assert (status, report["verdict"]) == (0, "pass")
    # The check can fail.
    broken = shutil.copytree(PACKAGE, tmp_path / "broken")
    text = (broken / "openenv.yaml").read_text()
    (broken / "openenv.yaml").write_text(text.replace("range: [0.0, 1.0]", "range: [1.0, 0.0]"))
    status, report = validated(broken)
    assert (status, report["verdict"]) == (1, "fail")


def test_the_package_passes_the_older_check_once_it_is_locked(tmp_path: Path) -> None:
    """The rules of openenv-core's `openenv validate`, which are in OpenEnv as a function. The lock is made by users."""
    from openenv.cli._validation import get_deployment_modes, validate_multi_mode_deployment

    assert validate_multi_mode_deployment(PACKAGE) == (False, ["Missing uv.lock - run 'uv lock' to generate it"])
    locked = shutil.copytree(PACKAGE, tmp_path / "locked")
    (locked / "uv.lock").touch()
    assert validate_multi_mode_deployment(locked) == (True, [])
    assert all(get_deployment_modes(locked).values())


@pytest.mark.parametrize("env_id", ["RLAnything/AlfWorld-v0", "RLAnything/Coding-v0"])
def test_its_server_plays(env_id: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    env = {**os.environ, "RLANYTHING_ENV": env_id, "RLANYTHING_PORT": str(port), "RLANYTHING_TOKEN": TOKEN}
    process = subprocess.Popen([sys.executable, "-m", "server.app"], cwd=PACKAGE, env=env, stderr=subprocess.PIPE)
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(600):
            assert process.poll() is None, process.stderr
            try:
                with urllib.request.urlopen(f"{url}/health", timeout=1) as answer:
                    assert json.load(answer)["status"] == "healthy"
                break
            except OSError:
                time.sleep(0.1)
        with TextClient(url, token=TOKEN).sync() as client:
            result = client.reset(seed=0)
            assert result.observation.text
            assert client.step("no action of any environment").reward == 0.0
    finally:
        process.terminate()
        process.wait(30)


def test_it_does_not_listen_to_others_without_a_token() -> None:
    env = {name: value for name, value in os.environ.items() if name != "RLANYTHING_TOKEN"}
    command = [sys.executable, "-m", "server.app"]
    done = subprocess.run(
        command, cwd=PACKAGE, env={**env, "RLANYTHING_HOST": "0.0.0.0"}, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "give a token" in done.stderr
