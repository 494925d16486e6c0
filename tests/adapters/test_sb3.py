"""The adapter for Stable-Baselines3, on the real package."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from worlds import FAILING, WORLDS, World, break_engine

pytest.importorskip("stable_baselines3", reason="the adapter is for stable-baselines3")
contrib = pytest.importorskip("sb3_contrib", reason="masks are for sb3-contrib")

from sb3_contrib.common.maskable.evaluation import evaluate_policy  # noqa: E402
from sb3_contrib.common.maskable.utils import get_action_masks  # noqa: E402
from stable_baselines3 import PPO  # noqa: E402
from stable_baselines3.common.env_checker import check_env  # noqa: E402
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402

from rlanything_envs.adapters.sb3 import AdmissibleActions, HashedText, counts, scaled  # noqa: E402
from rlanything_envs.errors import InfrastructureError  # noqa: E402

QUICK = {"n_steps": 16, "batch_size": 16, "n_epochs": 1, "seed": 0, "device": "cpu"}
IDS = [str(world) for world in WORLDS]


def made(world: World, **arguments: Any) -> gym.Env[Any, Any]:
    text = {"observation": "text"} if world.domain == "osworld" else {}
    return gym.make(world.env_id, **{"tasks": [world.task()], **world.arguments, **text, **arguments})


def numbered(world: World, **arguments: Any) -> AdmissibleActions:
    """With the answers that win as the first commands, where the environment lists none."""
    commands = None if world.domain == "alfworld" else [*world.answers(world.task()), world.idle]
    return AdmissibleActions(made(world, **arguments), commands)


def winning_numbers(env: AdmissibleActions, world: World) -> list[Any]:
    """How each action that wins is found when its turn comes."""
    answers = world.task().proof if world.domain == "alfworld" else world.answers(world.task())
    return [lambda answer=answer: env.commands.index(answer) for answer in answers]


@pytest.mark.parametrize("world", WORLDS, ids=IDS)
def test_an_episode_is_won_by_numbers(world: World) -> None:
    env = numbered(world)
    _, info = env.reset(seed=0)
    assert info["task_id"] == world.task().id
    *before, last = [env.step(number()) for number in winning_numbers(env, world)]
    assert {step[1:4] for step in before} <= {(0.0, False, False)}
    assert not any("is_success" in step[4] for step in before)
    assert last[1:4] == (1.0, True, False)
    assert last[4]["is_success"] is True
    env.close()


@pytest.mark.parametrize("world", WORLDS, ids=IDS)
def test_the_checker_of_the_package_finds_nothing(world: World) -> None:
    env = HashedText(numbered(world), features=32, command_features=8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)
    env.close()


@pytest.mark.parametrize("world", WORLDS, ids=IDS)
def test_seeds_are_honoured(world: World) -> None:
    tasks = [world.task(seed) for seed in range(3)]
    env = HashedText(AdmissibleActions(made(world, tasks=tasks), None if world is WORLDS[0] else [world.idle]))
    seeds = (5, 5, *range(6, 16))
    (first, one), (second, two), *others = [env.reset(seed=seed) for seed in seeds]
    assert one["task_id"] == two["task_id"]
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert len({info["task_id"] for _, info in others}) == 3
    env.close()


@pytest.mark.parametrize("world", WORLDS, ids=IDS)
def test_a_broken_engine_is_no_reward(world: World) -> None:
    env = numbered(world)
    env.reset(seed=0)
    break_engine(env)
    with pytest.raises(InfrastructureError):
        env.step(0)


def test_a_failure_that_is_an_outcome_ends_the_training() -> None:
    model = PPO("MultiInputPolicy", HashedText(AdmissibleActions(gym.make(FAILING), slots=2), 8, 4), **QUICK)
    with pytest.raises(InfrastructureError, match="the disk is full"):
        model.learn(16)


def test_time_that_runs_out_is_a_loss() -> None:
    env = AdmissibleActions(made(WORLDS[0], max_episode_steps=2))
    env.reset(seed=0)
    env.step(0)
    _, reward, terminated, truncated, info = env.step(0)
    assert (reward, terminated, truncated, info["outcome"], info["is_success"]) == (0.0, False, True, -1, False)


def test_masks_are_of_what_is_possible_now() -> None:
    env = AdmissibleActions(made(WORLDS[0]), slots=60)
    _, info = env.reset(seed=0)
    possible = info["admissible_commands"]
    assert env.commands == possible
    assert (info["action_mask"] == [True] * len(possible) + [False] * (60 - len(possible))).all()
    *_, info = env.step(59)  # no command has this number: the turn is wasted
    assert info["admissible_commands"] == possible
    env.action_masks()[:] = False
    assert env.action_masks().sum() == len(possible)


def test_a_list_of_ones_own_gives_commands_numbers_for_good() -> None:
    world = WORLDS[0]
    commands = [*world.task().proof, "dance", "look"]
    env = AdmissibleActions(made(world), commands)
    assert env.action_space == gym.spaces.Discrete(len(commands))
    _, info = env.reset(seed=0)
    for number in range(len(world.task().proof)):
        assert (info["action_mask"] == [command in info["admissible_commands"] for command in commands]).all()
        assert not info["action_mask"][commands.index("dance")]
        *_, info = env.step(number)
    assert info["is_success"]


def test_commands_may_depend_on_the_message() -> None:
    world = WORLDS[1]
    program, idle = world.answers(world.task())[0], world.idle
    env = AdmissibleActions(made(world), lambda turn: [program] if turn.info["turn"] else [idle, idle], slots=4)
    _, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [True, True, False, False]
    *_, info = env.step(1)
    assert info["action_mask"].tolist() == [True, False, False, False]
    *_, info = env.step(0)
    assert info["is_success"]


@pytest.mark.parametrize(
    ("world", "commands", "slots", "complaint"),
    [
        (WORLDS[0], None, 3, "commands for 3 slots: give slots="),
        (WORLDS[0], ["dance"], None, "none of those given is possible now"),
        (WORLDS[1], None, None, "the environment lists none"),
    ],
)
def test_settings_that_leave_no_choice_are_refused(world: World, commands: Any, slots: Any, complaint: str) -> None:
    env = AdmissibleActions(made(world), commands, slots)
    with pytest.raises(ValueError, match=complaint):
        env.reset(seed=0)


@pytest.mark.parametrize("world", WORLDS, ids=IDS)
def test_ppo_with_and_without_masks_trains(world: World) -> None:
    env = make_vec_env(lambda: HashedText(numbered(world), 32, 8), n_envs=2, seed=0)
    assert get_action_masks(env).shape == (2, env.action_space.n)
    assert PPO("MultiInputPolicy", env, **QUICK).learn(32).num_timesteps == 32
    model = contrib.MaskablePPO("MultiInputPolicy", env, **QUICK).learn(32)
    assert model.num_timesteps == 32
    rewards, lengths = evaluate_policy(model, env, n_eval_episodes=2, return_episode_rewards=True, warn=False)
    assert set(rewards) <= {0.0, 1.0}
    assert min(lengths) > 0
    env.close()


def test_what_is_said_goes_from_latest_to_past() -> None:
    env = HashedText(AdmissibleActions(made(WORLDS[0])), features=512, command_features=16)
    opening, _ = env.reset(seed=0)
    assert np.array_equal(opening["opening"], opening["latest"])
    assert not opening["past"].any()
    said = env.env.commands[0]
    first, *_ = env.step(0)
    assert np.array_equal(first["past"], scaled(counts(said, 512)))
    assert np.array_equal(first["opening"], opening["opening"])
    second, *_ = env.step(0)
    assert not np.array_equal(second["past"], first["past"])
    assert all(vector.dtype == np.float32 and env.observation_space[name].contains(vector)
               for name, vector in second.items())  # fmt: skip


@given(st.text(max_size=200), st.integers(1, 64))
def test_any_text_has_a_vector_of_length_one_or_none(text: str, features: int) -> None:
    vector = scaled(counts(text, features))
    assert vector.shape == (features,)
    assert vector.dtype == np.float32
    assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-5) or not vector.any()


def test_vectors_are_the_same_in_every_process() -> None:
    assert counts("Open fridge 1, é", 7).tolist() == counts("open FRIDGE 1 é", 7).tolist() == [0, 0, 0, -1, -1, 2, -1]
    assert not np.array_equal(counts("open fridge 1", 64), counts("open fridge 2", 64))


@pytest.mark.slow
def test_the_example_beats_random_play() -> None:
    script = Path(__file__).resolve().parents[2] / "examples" / "sb3_ppo.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "better: True" in done.stdout
