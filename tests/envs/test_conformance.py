"""Every registered environment, and the curriculum around it, keeps the contract of text environments."""

import json
import pickle
from dataclasses import replace
from functools import partial

import gymnasium as gym
import pytest
from coding_tasks import make_task
from scripted_desktop import SCRIPTED

from rlanything_envs import AdaptiveDifficulty
from rlanything_envs.errors import EpisodeOver, SettingError, UnknownTask
from rlanything_envs.registration import REGISTRATIONS
from rlanything_envs.testing import check_text_env
from rlanything_task_pools import PoolError, TaskFormatError, TaskPool, get_domain
from rlanything_task_pools.alfworld import DOMAIN

IDS = [row.id for row in REGISTRATIONS]
#: Arguments that make an environment quick to reset (generated programming tasks are proved by running programs), and
#: without which it is no text environment, or needs programs that not every machine has.
QUICK = {
    "RLAnything/Coding-v0": {"tasks": [json.loads(make_task(text).to_json()) for text in ("Add.", "Sum.")]},
    "RLAnything/OSWorld-v0": {**SCRIPTED, "screen": [800, 600], "observation": "text"},
}


def quick(env_id, **arguments):
    spec = gym.spec(env_id)
    if "OSWorld" in env_id:  # other processes that make it know the stand-in, too
        spec = replace(spec, entry_point="scripted_desktop:OSWorldEnv")
    return gym.make(spec, **{**QUICK.get(env_id, {}), **arguments})


class Broken:
    """An engine whose every use fails."""

    def __getattr__(self, name):
        raise OSError("the engine is gone")


def break_engine(env):
    if env.unwrapped.domain == "alfworld":
        env.unwrapped.world = Broken()
    elif env.unwrapped.domain == "coding":
        env.unwrapped._sandbox = Broken
    elif env.unwrapped.domain == "osworld":
        env.unwrapped._machine._desktop = Broken()
    else:
        pytest.fail(f"say how to break the engine of {env}")


@pytest.mark.parametrize("env_id", IDS)
def test_registered_environment(env_id):
    check_text_env(quick(env_id), break_engine=break_engine)


@pytest.mark.parametrize("env_id", IDS)
def test_a_misspelt_option_is_refused(env_id):
    env = quick(env_id)
    with pytest.raises(SettingError, match="no option 'tsk': the one option is 'task'"):
        env.reset(seed=0, options={"tsk": "alfworld-0123456789abcdef"})
    env.close()


@pytest.mark.parametrize("env_id", IDS)
def test_any_source_has_its_tasks_and_any_form_asks_for_one(env_id, tmp_path):
    env = quick(env_id).unwrapped
    domain, made = get_domain(env.domain), partial(type(env), **QUICK.get(env_id, {}))
    one, two, other = (domain.generate(seed) for seed in range(3))
    records = [json.loads(task.to_json()) for task in (one, two)]
    with TaskPool.create(tmp_path / "pool.sqlite", [one, two]) as pool:
        for source in ([one, two], records, pool, pool.path, str(pool.path)):
            env = made(tasks=source)
            assert {env.reset(seed=seed)[1]["task_id"] for seed in range(10)} == {one.id, two.id}
            for wanted in (two, records[1], two.id):
                assert env.reset(options={"task": wanted})[1]["task_id"] == two.id
            assert env.reset(options={"task": other})[1]["task_id"] == other.id
            for unknown in (other.id, f"{two.id}\n", "no/such/file", 7, b"x", "x" * 10_000, "\x00"):
                with pytest.raises(UnknownTask):
                    env.reset(options={"task": unknown})
            with pytest.raises(TaskFormatError):
                env.reset(options={"task": {"goal": "put it."}})
            env.close()
    with pytest.raises(UnknownTask, match="among the 2 tasks"):
        made(tasks=[one, two]).reset(options={"task": other.id})
    with pytest.raises(ValueError, match="empty"):
        made(tasks=[])
    with pytest.raises(PoolError, match="no task pool at"):
        made(tasks=tmp_path / "none.sqlite")


@pytest.mark.parametrize("env_id", IDS)
def test_copies_and_ends(env_id):
    env = quick(env_id)
    remade = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    for again in (remade, pickle.loads(pickle.dumps(env))):
        assert again.reset(seed=1) == env.reset(seed=1)
        again.close()
    env.close()
    env.close()
    with pytest.raises(EpisodeOver):
        env.unwrapped.step("look")


@pytest.mark.parametrize("env_id", IDS)
def test_adaptive_difficulty(env_id):
    env = AdaptiveDifficulty(quick(env_id), pool_size=2, rollouts=2)
    check_text_env(env, break_engine=break_engine)
    env.close()


@pytest.mark.slow
@pytest.mark.textworld
def test_alfworld_on_the_original_stack():
    tasks = [json.loads(DOMAIN.generate(seed, rooms=["Bathroom"]).to_json()) for seed in range(2)]
    env = gym.make("RLAnything/AlfWorld-v0", engine="textworld", tasks=tasks)
    check_text_env(env, steps=5, break_engine=break_engine)
