"""Tests of curricula that are live in verifiers and prime-rl; `test_verifiers.py` runs them where verifiers is."""

from __future__ import annotations

import asyncio
import importlib
import itertools
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from worlds import FAILING, SHORT, Half

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

import verifiers.v1 as vf
from prime_verifiers import served

from rlanything_envs.adapters.prime_rl import CurriculumSampler
from rlanything_envs.adapters.verifiers import TextTaskData
from rlanything_envs.curriculum import CurriculumSource
from rlanything_envs.errors import SettingError
from rlanything_task_pools import TaskPool, get_domain


@pytest.fixture
def path(tmp_path: Path) -> Path:
    TaskPool.create(
        tmp_path / "pool.sqlite", [get_domain("alfworld").generate(seed, **SHORT) for seed in range(3)]
    ).close()
    return tmp_path / "pool.sqlite"


def settings(path: Path, **more: Any) -> dict[str, Any]:
    curriculum = {"rewriting": "inline"}
    return {"taskset": {"id": "live_env", "pool": str(path), "rollouts": 2, "curriculum": curriculum, **more}}


def group(env: Any, task: Any, url: str, episodes: int = 2) -> list[Any]:
    """Episodes of a task, one after the other."""
    client = vf.EvalClientConfig(base_url=url, api_key_var="NO_KEY")
    context = vf.ModelContext(model="player", client=client, sampling=vf.SamplingConfig())

    async def played() -> list[Any]:
        async with env.serving():
            return [await env.run_slot(slot, context) for slot in env.slots(task, episodes)]

    return asyncio.run(played())


def environment(path: Path, **more: Any) -> Any:
    config = {**settings(path, **more), "player": {"max_turns": 8}}
    return vf.load_environment(vf.resolve_env_config(config))


def test_an_endless_taskset_adapts_to_its_episodes(path: Path) -> None:
    env = environment(path)
    assert not env.taskset.bounded
    with served(Half(path)) as url:
        for task in itertools.islice(env.taskset, 5):
            assert all(episode.ok for episode in group(env, task, url))
    with TaskPool.open(path) as pool:
        counts = pool.counts()
        assert (counts["outcomes"], counts["errors"]) == (10, 0)
        assert counts["accepted"] > 0
        slot = pool.events(kind="accepted")[0].slot
        assert [task.rewrite is None for task in pool.lineage(pool.active(slot).id)][:2] == [True, False]


def test_a_worker_that_never_reads_the_taskset_gives_outcomes_back(path: Path) -> None:
    """As verifiers' servers: tasks come over the wire, to a process with a taskset of its own."""
    env, worker = environment(path), environment(path)
    task = next(iter(env.taskset))
    data = TextTaskData.model_validate_json(task.data.model_dump_json())
    with served(Half(path)) as url:
        group(worker, type(task)(data, task.config), url, 1)
        group(env, task, url, 1)
    with TaskPool.open(path) as pool:
        assert [record.batch for record in pool.outcomes()] == [1, 1]
        assert pool.counts()["proposed"] == 1


def test_failed_machinery_is_no_outcome(path: Path) -> None:
    env = environment(path, env_id=FAILING)
    with served(lambda _: "look") as url:
        episodes = group(env, next(iter(env.taskset)), url)
    assert [episode.ok for episode in episodes] == [False, False]
    with TaskPool.open(path) as pool:
        assert (pool.counts()["errors"], pool.events()) == (2, [])


def test_a_taskset_without_a_pool_is_refused() -> None:
    with pytest.raises(ValidationError, match="pool"):
        vf.resolve_env_config({"taskset": {"id": "live_env"}})


# --- prime-rl ---


def test_the_recipe_plays_an_endless_taskset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    import recipe_prime_rl
    from small_player import make_player

    monkeypatch.setattr(recipe_prime_rl, "ROLLOUTS", 2)
    config = tomllib.loads(recipe_prime_rl.prepare(tmp_path / "out", recipe_prime_rl.SMALL).read_text())
    taskset = config["orchestrator"]["train"]["source"][0]["env"]["taskset"]
    assert taskset["rollouts"] == config["orchestrator"]["group_size"] == 2
    vf.resolve_env_config({"taskset": taskset})
    with TaskPool.open(taskset["pool"]) as pool:
        make_player(Path("my-model"), [pool.active(0)], 3, each=2, epochs=1)
        numbers = recipe_prime_rl.play(Path(taskset["pool"]), 3, Path("my-model"), 2)
        assert (numbers["groups"], pool.counts()["outcomes"], pool.counts()["errors"]) == (2, 4, 0)


RECORDED = ("__next__", "observe", "state_dict", "load_state_dict", "metrics")
"""Methods of ``TaskSampler`` in prime-rl 0.8.0, as its orchestrator calls them: none with other arguments than the
finished group's episodes and the state. Its package is on no index, so the interface is recorded here."""


def test_a_sampler_has_the_recorded_interface_of_prime_rl(path: Path) -> None:
    assert all(callable(getattr(CurriculumSampler, method)) for method in RECORDED)
    assert issubclass(CurriculumSampler, Iterator)


def test_the_how_tos_configuration_names_a_sampler(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).resolve().parents[2] / "docs/howto/verifiers.md"
    (block,) = [text for text in page.read_text(encoding="utf-8").split("```toml\n")[1:] if "import_path" in text]
    named = tomllib.loads(block.partition("```")[0])["orchestrator"]["train"]["source"]["curriculum"]["sampler"]
    module, _, name = named["import_path"].rpartition(".")
    monkeypatch.chdir(path.parent)
    config = {"taskset": {"id": "prime_verifiers", "pool": str(path)}}
    tasks = list(vf.load_environment(vf.resolve_env_config(config)).taskset.load())
    sampler = getattr(importlib.import_module(module), name)(tasks, **named["kwargs"])  # as the lines on the page do
    assert isinstance(sampler, CurriculumSampler)
    task = next(sampler)
    assert (task.config, sampler.source.rollouts) == (tasks[0].config, 8)
    assert task.data.id in {sampler.source.pool.active(slot).id for slot in sampler.source.pool.slots}


def test_a_sampler_adapts_the_tasks_to_the_groups_it_observes(path: Path) -> None:
    env = environment(path)
    with CurriculumSource(path, rollouts=2, rewriting="inline") as source, served(Half(path)) as url:
        sampler = CurriculumSampler(source, env.taskset.config.task)
        keys = []
        for task in itertools.islice(sampler, 5):
            episodes = group(env, task, url)
            keys.append({episode.task.key for episode in episodes})
            sampler.observe(episodes)
        assert all(len(of_group) == 1 and None not in of_group for of_group in keys)
        metrics = sampler.metrics()
        assert metrics["accepted"] > 0
        assert metrics["groups"] == 5  # by the sampler, and not by the environment too
        state = sampler.state_dict()
        after = [next(sampler).data.id for _ in range(3)]
    with CurriculumSource(path, rollouts=2, rewriting="inline") as source:
        sampler = CurriculumSampler(source, env.taskset.config.task)
        sampler.load_state_dict(state)
        assert [next(sampler).data.id for _ in range(3)] == after


def test_episodes_of_other_tasks_are_refused(path: Path) -> None:
    env = environment(path)
    with CurriculumSource(path, rollouts=2) as source, served(Half(path)) as url:
        sampler = CurriculumSampler(source)
        (one,), (other,) = group(env, next(sampler), url, 1), group(env, next(sampler), url, 1)
        with pytest.raises(SettingError, match="one task"):
            sampler.observe([one, other])
