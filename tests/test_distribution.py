"""Wheel and sdist: built from the checkout, complete, and usable where there is nothing of the checkout."""

from __future__ import annotations

import os
import subprocess
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable
from importlib.metadata import metadata
from pathlib import Path

import pytest
import yaml
from light import Light, build

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PACKAGES = ("rlanything_verifiers", "rlanything_task_pools", "rlanything_envs", "rlanything_agents")

SMOKE = """
import gymnasium as gym
env = gym.make("rlanything_envs:RLAnything/AlfWorld-v0")
from rlanything_task_pools import get_domain
task = get_domain("alfworld").generate(0)
env.reset(options={"task": task})
for command in task.proof:
    _, reward, over, _, info = env.step(command)
assert (reward, over, info["outcome"]) == (1.0, True, 1)
env = gym.make("rlanything_envs:RLAnything/Coding-v0")
env.reset(seed=0)
print(env.step("GIVE_UP")[1], __import__("rlanything_envs").__file__)
from rlanything_envs.osworld.desktop.packages import packages
assert packages()
"""


def run(*command: str, cwd: Path, **env: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env={**os.environ, **env}, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def code(names: Iterable[str]) -> set[str]:
    return {name for name in names if name.startswith(PACKAGES)}


@pytest.mark.slow
def test_wheel_and_sdist(light: Light, tmp_path: Path) -> None:
    wheel, sdist = light.wheel, build(ROOT, tmp_path / "sdist", "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()
    again = build(source, tmp_path / "again", "wheel")
    held = code(zipfile.ZipFile(wheel).namelist())
    assert held == code(zipfile.ZipFile(again).namelist())
    folders = [ROOT / "verifiers", ROOT / "task_pools", ROOT, ROOT / "agents"]
    tracked = run("git", "ls-files", cwd=ROOT).splitlines()
    wanted = {
        str((ROOT / name).relative_to(folder))
        for folder in folders
        for name in tracked
        if (ROOT / name).is_relative_to(folder) and (ROOT / name).is_file()
    }
    assert code(wanted) <= held

    printed = light.run("python", "-c", SMOKE, cwd=tmp_path)
    assert printed.startswith("0.0 ")
    assert str(light.bin.parent) in printed


def versions(classifiers: Iterable[str]) -> set[tuple[int, ...]]:
    found = (text.removeprefix("Programming Language :: Python :: ") for text in classifiers)
    return {tuple(map(int, text.split("."))) for text in found if text.replace(".", "").isdigit() and "." in text}


def test_declared_versions_of_python_are_those_of_the_dependencies() -> None:
    ours = versions(PROJECT["classifiers"])
    assert min(ours) == tuple(map(int, PROJECT["requires-python"].removeprefix(">=").split(".")))
    for need in PROJECT["dependencies"]:
        name = need.partition(">")[0]
        theirs = versions(metadata(name).get_all("Classifier") or [])
        assert ours <= theirs or not theirs, name  # Jinja names no minor version


def test_the_hooks_of_pre_commit_are_the_linters_of_make() -> None:
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    lint = (ROOT / "Makefile").read_text().partition("lint:")[2].partition("\n\n")[0]
    for hook in local["hooks"]:
        program = Path(hook["entry"].split()[0]).name
        assert f"$(BIN)/{program}" in lint
