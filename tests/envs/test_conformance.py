"""Every registered environment, and the curriculum around it, keeps the contract of text environments."""

import inspect
import json
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import pytest
from coding_tasks import make_task
from scripted_desktop import SCRIPTED

from rlanything_envs import AdaptiveDifficulty, Unicode
from rlanything_envs.errors import SettingError
from rlanything_envs.registration import REGISTRATIONS
from rlanything_envs.testing import ConformanceError, check_text_env
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


class Parrot(gym.Env):
    """A small text environment that is right, but for the one flaw a test gives it."""

    metadata = {"render_modes": []}  # noqa: RUF012
    flaw = ""

    def __init__(self):
        self.action_space = self.observation_space = Unicode(100)
        self.shared = ["look"]

    def info(self):
        commands = self.shared if self.flaw == "shared" else ["look"]
        info = {
            "task_id": "parrot-1",
            "outcome": 1 if self.flaw == "early" else None,
            "admissible_commands": commands,
        }
        if self.flaw == "hash":
            info["hash"] = hash("text")
        if self.flaw == "no-task":
            del info["task_id"]
        return info

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return "hello", self.info()

    def step(self, action):
        if not isinstance(action, str) and self.flaw != "any-action":
            raise TypeError("not a text")
        return (
            action if isinstance(action, str) else "",
            0.5 if self.flaw == "reward" else 0.0,
            False,
            False,
            self.info(),
        )


@pytest.fixture
def parrot_module(monkeypatch, tmp_path):
    """The parrot as a module that a second process can import too."""
    source = inspect.getsource(Parrot)
    Path(tmp_path, "parrot_env.py").write_text(
        f"import gymnasium as gym\nfrom rlanything_envs import Unicode\n\n{source}\n"
        + "".join(
            f"\nclass {name}(Parrot):\n    flaw = {flaw!r}\n"
            for name, flaw in [(f"P{i}", flaw) for i, flaw in enumerate(FLAWS)]
        )
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    yield
    for name in [name for name in gym.registry if name.startswith("Parrot")]:
        del gym.registry[name]


FLAWS = ("", "shared", "early", "reward", "hash", "no-task", "any-action")
WORDS = {
    "shared": "returned twice",
    "early": "running episode",
    "reward": "running episode",
    "hash": "differently",
    "no-task": "info lacks",
    "any-action": "must be refused",
}


@pytest.mark.parametrize("flaw", FLAWS)
def test_the_checker_finds_flaws(flaw, parrot_module):
    gym.register(f"Parrot{FLAWS.index(flaw)}-v0", entry_point=f"parrot_env:P{FLAWS.index(flaw)}")
    env = gym.make(f"Parrot{FLAWS.index(flaw)}-v0")
    if not flaw:
        check_text_env(env)
        return
    with pytest.raises(ConformanceError, match=WORDS[flaw]):
        check_text_env(env)


def test_the_checker_finds_unmasked_engine_failures(parrot_module):
    gym.register("Parrot0-v0", entry_point="parrot_env:P0")
    with pytest.raises(ConformanceError, match="broken engine"):
        check_text_env("Parrot0-v0", break_engine=lambda env: None)
