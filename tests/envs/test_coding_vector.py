"""Many coding environments at once: Gymnasium's vector environments, in one process and in several."""

import gymnasium as gym
import numpy as np
import pytest
from coding_tasks import POSITIVE_ONLY, RIGHT, WRONG, act, make_task
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

import rlanything_envs  # noqa: F401 (registers the environment)
from rlanything_verifiers.coding.cache import RUNS

ID = "RLAnything/Coding-v0"
TASK = make_task()
ACTIONS = [
    [act("TEST", RIGHT), act("RUN", "print(input())", "7"), "nonsense"],
    [act("SUBMIT", RIGHT), act("SUBMIT", POSITIVE_ONLY), act("TEST", WRONG)],
]


def make():
    return gym.make(ID, tasks=[TASK], reward="fraction")


def plain(value):
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


def play(vector):
    try:
        records = [vector.reset(seed=5)]
        records += [vector.step(actions) for actions in ACTIONS]
        return [tuple(map(plain, record)) for record in records]
    finally:
        vector.close()


@pytest.fixture(scope="module")
def in_one_process():
    return play(SyncVectorEnv([make] * 3))


def test_three_in_one_process(in_one_process):
    (_, first), (_, _, _, _, tried), (observations, rewards, terminated, truncated, info) = in_one_process
    assert first["task_id"] == [TASK.id] * 3
    assert tried["public_verdicts"][0] == ["AC", "AC"]
    assert tried["action"] == ["TEST", "RUN", None]
    assert observations[0].startswith("SUBMIT: 4 of 4")
    assert (rewards, terminated, truncated) == ([1.0, 0.75, 0.0], [True, True, False], [False] * 3)
    assert info["outcome"] == [1, -1, None]
    assert info["hidden_counts"]["AC"] == [4, 3, 0]


def test_each_process_has_a_sandbox_of_its_own(in_one_process):
    env = make()
    env.reset()
    env.step(act("RUN", "print(1)"))  # this process has one, which the forked ones must leave alone
    RUNS.clear()  # else they inherit what was run already
    assert play(AsyncVectorEnv([make] * 3)) == in_one_process
    assert env.step(act("SUBMIT", RIGHT))[1] == 1.0
