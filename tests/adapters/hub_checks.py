"""Tests of the packages in examples/hub; `test_verifiers.py` runs them where verifiers is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from worlds import WORLDS, World

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

import prime_verifiers as example  # noqa: E402
import verifiers.v1 as vf  # noqa: E402
from verifiers.v1.utils.loaders import load_environment  # noqa: E402

from rlanything_envs.adapters import verifiers as adapter  # noqa: E402
from rlanything_task_pools import TaskPool  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip installed the packages, as it does from the Hub."""
    folder = tmp_path_factory.mktemp("hub")
    sources = sorted(str(path.parent) for path in (EXAMPLES / "hub").glob("*/pyproject.toml"))
    assert len(sources) == 3
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run([*pip, "--target", str(folder), *sources], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    sys.path.insert(0, str(folder))
    return folder


def of_domain(name: str) -> World:
    return next(world for world in WORLDS if world.domain == name)


@pytest.mark.parametrize("domain", ["alfworld", "coding", "osworld"])
def test_a_package_is_loaded_and_played_by_its_name(domain: str, installed: Path, tmp_path: Path) -> None:
    world = of_domain(domain)
    name = f"rlanything-{domain}"
    config = vf.resolve_env_config({"taskset": {"id": f"rlanything/{name}@0.1.0", "count": 3}})
    assert config.taskset.env_id == world.env_id
    env = load_environment(config)
    assert isinstance(env, adapter.TextEnv)
    assert str(installed) in sys.modules[type(env.taskset).__module__].__file__
    assert [task.data.seed for task in env.taskset] == [0, 1, 2]
    task = world.task()
    TaskPool.create(tmp_path / "pool.sqlite", [task]).close()
    answers = world.answers(task)
    taskset = {"id": name, "pool": str(tmp_path / "pool.sqlite")}
    if world.arguments:
        taskset["arguments"] = world.arguments
    (episode,) = example.play(
        lambda messages: answers[sum(message["role"] == "assistant" for message in messages)], taskset=taskset
    )
    (trace,) = episode.traces
    assert (episode.ok, trace.reward, trace.info["task_id"]) == (True, 1.0, task.id)
