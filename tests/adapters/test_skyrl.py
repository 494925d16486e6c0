"""The adapter for SkyRL-Gym, on the real package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from isolated import Isolated
from worlds import FAILING, SEEN, WORLDS, World, break_engine

skyrl_gym = pytest.importorskip("skyrl_gym", reason="the adapter needs skyrl-gym")
omegaconf = pytest.importorskip("omegaconf")

from skyrl_gym.metrics import aggregate_for_environment  # noqa: E402

from rlanything_envs import Conversation  # noqa: E402
from rlanything_envs.adapters import skyrl  # noqa: E402
from rlanything_envs.curriculum import CurriculumSource  # noqa: E402
from rlanything_envs.errors import InfrastructureError, SettingError, UnknownTask  # noqa: E402
from rlanything_task_pools import TaskFormatError, TaskPool  # noqa: E402

EMPTY = omegaconf.DictConfig({})
PROMPT = [{"role": "system", "content": "Act."}]


def made(world: World, **row: Any) -> Any:
    skyrl.register(world.domain, world.env_id, **world.arguments)
    return skyrl_gym.make(world.domain, env_config=EMPTY, extras=row)


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_an_episode_is_won(world: World) -> None:
    task = world.task()
    env = made(world, task=task.to_json(), max_turns=30)
    messages, info = env.init(PROMPT)
    assert [message["role"] for message in messages] == ["system", "user"]
    assert (messages[0], info["task_id"]) == (PROMPT[0], task.id)
    *before, last = [env.step(answer) for answer in world.answers(task)]
    for step in before:
        assert (step["reward"], step["done"]) == (0.0, False)
        assert [message["role"] for message in step["observations"]] == ["user"]
    assert (last["reward"], last["done"], last["observations"], last["metadata"]["outcome"]) == (1.0, True, [], 1)
    assert env.get_metrics() == {"success": 1.0, "finished": 1.0, "turns": len(before) + 1}
    env.close()


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_a_seed_is_an_episode(world: World) -> None:
    openings = []
    for seed in (5, 5, 6):
        env = made(world, seed=seed)
        openings.append(env.init(PROMPT))
        env.close()
    assert openings[0] == openings[1] != openings[2]


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_the_turns_of_the_trainer_end_an_episode_without_reward(world: World) -> None:
    env = made(world, task=world.task().to_json(), max_turns=2)
    env.init(PROMPT)
    first, second = env.step(world.idle), env.step(world.idle)
    assert (first["done"], second["done"], second["reward"]) == (False, True, 0.0)
    assert second["metadata"]["outcome"] == -1
    assert env.get_metrics() == {"success": 0.0, "finished": 1.0, "turns": 2}
    env.close()


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_a_broken_engine_is_an_error_of_skyrl(world: World) -> None:
    env = made(world, task=world.task().to_json())
    env.init(PROMPT)
    break_engine(env._conversation.env)
    with pytest.raises(skyrl_gym.error.Error) as raised:
        env.step(world.answers(world.task())[0])
    assert isinstance(raised.value, InfrastructureError)
    assert env.get_metrics()["finished"] == 0.0


def test_a_failure_that_is_an_outcome_is_an_error_too() -> None:
    skyrl.register("failing", FAILING)
    env = skyrl_gym.make("failing", env_config=EMPTY, extras={"seed": 0})
    env.init(PROMPT)
    with pytest.raises(skyrl.EpisodeFailed, match="the disk is full"):
        env.step("look")


def test_the_configuration_of_the_trainer_adds_arguments() -> None:
    config = omegaconf.OmegaConf.create(
        {"env_id": "RLAnything/AlfWorld-v0", "arguments": {"knobs": {"kinds": ["clean"]}}}
    )
    env = skyrl.SkyRLEnv(config, {"seed": 3})
    messages, _ = env.init([])
    assert "clean" in messages[-1]["content"].rpartition("Your task is to")[2]


def test_rows_go_through_a_file_of_the_trainer(tmp_path: Any) -> None:
    datasets = pytest.importorskip("datasets")
    tasks = [WORLDS[0].task(seed) for seed in range(3)]
    pool = TaskPool.create(tmp_path / "pool.sqlite", tasks)
    active = [pool.active(slot) for slot in pool.slots]
    datasets.Dataset.from_list(skyrl.rows(active, "alfworld")).to_parquet(tmp_path / "rows.parquet")
    rows = datasets.Dataset.from_parquet(str(tmp_path / "rows.parquet"), cache_dir=str(tmp_path))
    assert len(rows) == 3
    for row, task in zip(rows, tasks, strict=True):
        extras = {key: value for key, value in row.items() if key not in ("prompt", "env_class")}
        env = made(WORLDS[0], **extras)
        messages, info = env.init(row["prompt"])
        assert info["task_id"] == task.id
        assert messages[0]["content"].startswith("You are in a house")
        assert len(messages) == 1


def test_tasks_adapt_while_a_data_set_of_groups_is_played(tmp_path: Path) -> None:
    world = WORLDS[0]
    pool = TaskPool.create(tmp_path / "pool.sqlite", [world.task(seed) for seed in range(2)])
    with CurriculumSource(pool, rollouts=2, rewriting="inline") as source:
        skyrl.register("live", world.env_id, source=source)
        for _epoch in range(3):
            for row in skyrl.group_rows(2, "live", "Be quick."):
                envs = [skyrl_gym.make("live", env_config=EMPTY, extras=row) for _ in range(2)]
                openings = [env.init(row["prompt"]) for env in envs]
                assert openings[0][1]["task_id"] == openings[1][1]["task_id"]
                task = pool.task(openings[0][1]["task_id"])
                for place, env in enumerate(envs):
                    for answer in world.answers(task) if place == 0 or task.rewrite is None else []:
                        step = env.step(answer)
                    assert step["done"]
                    env.close()  # of the second one of a rewrite before its end
        numbers = aggregate_for_environment("live", [env.get_metrics() for env in envs])
        assert (numbers["turns"] > 0, numbers["curriculum/groups"]) == (True, 6.0)
        assert pool.counts()["outcomes"] == 12
        assert pool.counts()["accepted"] > 0


def test_a_failed_episode_of_a_group_is_no_outcome(tmp_path: Path) -> None:
    with CurriculumSource(TaskPool.create(tmp_path / "pool.sqlite", [WORLDS[0].task()]), rollouts=1) as source:
        skyrl.register("failing", FAILING, source=source)
        env = skyrl_gym.make("failing", env_config=EMPTY, extras={"group": "1"})
        env.init(PROMPT)
        with pytest.raises(skyrl.EpisodeFailed):
            env.step("look")
        env.close()
        assert [record.outcome.success for record in source.pool.outcomes()] == [None]
    with pytest.raises(SettingError, match="a source"):
        made(WORLDS[0], group="1")


def test_a_last_message_of_the_user_is_joined_with_the_first_of_the_environment() -> None:
    env = made(WORLDS[0], seed=1)
    messages, _ = env.init([{"role": "user", "content": "Be quick."}])
    with Conversation(WORLDS[0].env_id) as conversation:
        assert messages == [{"role": "user", "content": f"Be quick.\n\n{conversation.start(seed=1).text}"}]


def test_rows_that_say_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="neither 'task' nor 'seed'"):
        made(WORLDS[0], max_turns=3)
    with pytest.raises(TaskFormatError):
        made(WORLDS[0], task=json.dumps({"domain": "alfworld"})).init(PROMPT)
    with pytest.raises(UnknownTask):
        made(WORLDS[0], task="alfworld-0000000000000000").init(PROMPT)
    with pytest.raises(ValueError, match="env_id is missing"):
        skyrl.SkyRLEnv(extras={"seed": 1})


def test_metrics_are_averaged_by_the_package() -> None:
    metrics = [{"success": 1.0, "finished": 1.0, "turns": 2}, {"success": 0.0, "finished": 1.0, "turns": 4}]
    skyrl.register("averaged", WORLDS[0].env_id)
    averages = aggregate_for_environment("averaged", metrics)
    assert averages == {"success": 0.5, "finished": 1.0, "turns": 3.0}


@pytest.mark.slow
def test_the_recipe() -> None:
    Isolated("skyrl").run_tests("adapters/skyrl_checks.py")


def test_screens_are_image_parts() -> None:
    env = made(SEEN, seed=0, max_turns=3)
    messages, _ = env.init([{"role": "user", "content": "Hello."}])
    step = env.step("WAIT")
    env.close()
    for (message,), text in ((messages, "Hello."), (step["observations"], "Screen:")):
        image, said = message["content"]
        assert image["image_url"]["url"].startswith("data:image/png;base64,")
        assert said["type"] == "text"
        assert said["text"].startswith(text)
