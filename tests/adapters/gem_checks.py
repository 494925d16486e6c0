"""Tests of the adapter for GEM; `test_gem.py` runs them where GEM is installed."""

from __future__ import annotations

import random
import runpy
from pathlib import Path
from typing import Any

import gem
import numpy as np
import pytest
from canary_search import found_in
from canary_tasks import CASES, MARKERS, Case
from gem.wrappers.observation_wrapper import ObservationWrapper
from worlds import FAILING, ONE_QUICKLY, WORLDS, World, break_engine

from rlanything_envs import Conversation
from rlanything_envs.adapters import gem as adapter
from rlanything_envs.errors import EpisodeOver, InfrastructureError, InvalidAction


def made(world: World, **arguments: Any) -> Any:
    adapter.register(world.domain, world.env_id, **world.arguments)
    return gem.make(world.domain, **arguments)


@pytest.mark.parametrize("world", ONE_QUICKLY, ids=str)
def test_an_episode_is_won(world: World) -> None:
    task = world.task()
    env = made(world, tasks=[task])
    assert isinstance(env, gem.Env)
    observation, info = env.reset(seed=0)
    assert (info["task_id"], isinstance(observation, str)) == (task.id, True)
    *before, last = [env.step(answer) for answer in world.answers(task)]
    assert {step[1:4] for step in before} <= {(0.0, False, False)}
    assert last[1:4] == (1.0, True, False)
    assert last[4]["outcome"] == 1
    with pytest.raises(EpisodeOver):
        env.step("look")
    env.close()


@pytest.mark.parametrize("world", ONE_QUICKLY, ids=str)
def test_seeds_are_honoured_and_global_ones_left_alone(world: World) -> None:
    random.seed(1)
    np.random.seed(1)
    before = random.getstate(), np.random.get_state()[1].tolist()
    first, second = made(world, seed=9), made(world, seed=9)
    assert first.reset(seed=5) == second.reset(seed=5) != first.reset(seed=6)
    second.reset(seed=6)
    assert [first.reset() for _ in range(2)] == [second.reset() for _ in range(2)]
    assert first.reset()[1]["task_id"] != first.reset()[1]["task_id"]
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before
    first.close()
    second.close()


@pytest.mark.parametrize("world", ONE_QUICKLY, ids=str)
def test_a_limit_truncates_without_reward(world: World) -> None:
    env = made(world, tasks=[world.task()], max_episode_steps=2)
    env.reset(seed=0)
    assert env.step(world.idle)[1:4] == (0.0, False, False)
    _, reward, terminated, truncated, info = env.step(world.idle)
    assert (reward, terminated, truncated, info["outcome"]) == (0.0, False, True, -1)
    env.close()


@pytest.mark.parametrize("world", ONE_QUICKLY, ids=str)
def test_a_broken_engine_is_no_reward(world: World) -> None:
    env = made(world, tasks=[world.task()])
    env.reset(seed=0)
    break_engine(env._conversation.env)
    with pytest.raises(InfrastructureError):
        env.step(world.answers(world.task())[0])


@pytest.mark.parametrize("world", ONE_QUICKLY, ids=str)
def test_a_copy_stands_where_the_first_one_stands(world: World) -> None:
    task = world.task()
    env = made(world, tasks=[task])
    env.reset()
    answers = world.answers(task)
    for answer in answers[:-1]:
        env.step(answer)
    copy = env.spawn(same_state=True)
    ends = [one.step(answers[-1]) for one in (env, copy)]
    assert ends[0] == ends[1]
    assert ends[0][1] == 1.0
    env.close()
    copy.close()


def test_a_failure_that_is_an_outcome_ends_a_vector() -> None:
    adapter.register("failing", FAILING)
    vector = gem.make_vec(["failing", "failing"])
    vector.reset(seed=0)
    with pytest.raises(InfrastructureError, match="the disk is full"):
        vector.step(["look", "look"])


@pytest.mark.parametrize("threads", [False, True])
def test_a_vector_plays_on(threads: bool) -> None:
    adapter.register("short", "RLAnything/AlfWorld-v0", max_episode_steps=3)
    vector = gem.make_vec(["short"] * 3, seed=4, async_mode=threads)
    observations, infos = vector.reset(seed=7)
    for number, (observation, info) in enumerate(zip(observations, infos, strict=True)):
        with Conversation("RLAnything/AlfWorld-v0") as conversation:
            turn = conversation.start(seed=7 + number)
            assert (observation, info["task_id"]) == (turn.text, turn.info["task_id"])
    for step in range(3):
        _, rewards, _, truncations, infos = vector.step([env.sample_random_action() for env in vector.envs])
        assert truncations.tolist() == [step == 2] * 3
        assert not rewards.any()
    again = {info["task_id"] for info in infos}  # of the episodes that follow, each environment's own
    assert len(again) == 3


def test_wrappers_of_gem_keep_the_history() -> None:
    env = ObservationWrapper(made(WORLDS[0]), include_action=True, include_chat_template=False)
    opening, _ = env.reset(seed=1)
    seen, *_ = env.step("look")
    assert opening.strip() in seen
    assert "look" in seen


def test_random_actions_are_commands_of_now() -> None:
    env = made(WORLDS[0], seed=3)
    with pytest.raises(NotImplementedError, match="lists no commands"):
        env.sample_random_action()
    _, info = env.reset(seed=1)
    assert {env.sample_random_action() for _ in range(20)} <= set(info["admissible_commands"])
    desktop = made(WORLDS[2])
    desktop.reset(seed=0)
    with pytest.raises(NotImplementedError, match="sample from a model"):
        desktop.sample_random_action()
    desktop.close()


def test_what_is_no_text_is_refused() -> None:
    env = made(WORLDS[0])
    env.reset(seed=0)
    with pytest.raises(InvalidAction):
        env.step(3)


def test_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(Path(__file__).resolve().parents[2] / "examples" / "gem_env.py"), run_name="__main__")
    assert capsys.readouterr().out.count("reward 1") == 3


@pytest.mark.parametrize("case", CASES, ids=str)
def test_nothing_secret_of_a_task_is_seen(case: Case) -> None:
    adapter.register("canary", case.env_id, **case.arguments)
    env = gem.make("canary", tasks=[case.task])
    seen: list[Any] = []
    for answers in case.episodes:
        seen.append(env.reset(seed=0))
        for answer in answers:
            try:
                seen.append(env.step(answer))
            except InfrastructureError as error:
                seen.append(error)
                break
            if seen[-1][2] or seen[-1][3]:
                break
    env.close()
    assert len(seen) > 10
    assert found_in(seen, MARKERS) == set()
