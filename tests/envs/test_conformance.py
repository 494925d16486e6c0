"""Every registered environment, and the curriculum around it, keeps the contract of text environments."""

import json
from dataclasses import replace

import gymnasium as gym
import pytest
from coding_tasks import make_task
from scripted_desktop import SCRIPTED

from rlanything_envs import AdaptiveDifficulty
from rlanything_envs.errors import SettingError
from rlanything_envs.registration import REGISTRATIONS
from rlanything_envs.testing import check_text_env
from rlanything_task_pools.alfworld import DOMAIN

IDS = [row.id for row in REGISTRATIONS]
#: Arguments that make an environment quick to reset (generated programming tasks are proved by running programs), and
#: without which it is no text environment, or needs programs that not every machine has.
QUICK = {
    "RLAnything/Coding-v0": {"tasks": [json.loads(make_task(text).to_json()) for text in ("Add.", "Sum.")]},
    "RLAnything/OSWorld-v0": {**SCRIPTED, "screen": [800, 600], "observation": "text"},
}


def quick(env_id):
    spec = gym.spec(env_id)
    if "OSWorld" in env_id:  # other processes that make it know the stand-in, too
        spec = replace(spec, entry_point="scripted_desktop:OSWorldEnv")
    return gym.make(spec, **QUICK.get(env_id, {}))


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
