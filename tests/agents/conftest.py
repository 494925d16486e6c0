"""What the tests of agents share: generated games, environments to play them in, and an untrained policy."""

from collections.abc import Callable

import gymnasium as gym
import pytest
import torch
from families import policy

from rlanything_agents.rollout.rollout import Policy
from rlanything_envs.views import make_env
from rlanything_task_pools import Task
from rlanything_task_pools.alfworld import DOMAIN


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def games() -> Callable[..., list[Task]]:
    def make(number: int, first: int = 0, split: str = "train") -> list[Task]:
        return [DOMAIN.generate(first + seed, split) for seed in range(number)]

    return make


@pytest.fixture(scope="session")
def envs() -> list[gym.Env[str, str]]:
    """ALFWorld in the short view."""
    return [make_env("RLAnything/AlfWorld-v0", "short") for _ in range(8)]


@pytest.fixture(scope="session")
def full_envs() -> list[gym.Env[str, str]]:
    """ALFWorld as it is."""
    return [make_env("RLAnything/AlfWorld-v0") for _ in range(8)]


@pytest.fixture(scope="session")
def untrained() -> Policy:
    """A small policy of random weights, for the short view of ALFWorld."""
    return policy("small")
