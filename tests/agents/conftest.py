"""What the tests of small models share: generated games, and models made on the spot."""

from collections.abc import Callable

import gymnasium as gym
import pytest
import torch
from rlanything_agents.domains.alfworld.dialect import DIALECT, AlfWorldDialect
from transformers import Qwen3ForCausalLM

from rlanything_agents.models.small import tiny_model
from rlanything_envs import registration  # noqa: F401  (registers the environments)
from rlanything_task_pools import Task
from rlanything_task_pools.alfworld import DOMAIN


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def dialect() -> AlfWorldDialect:
    return DIALECT


@pytest.fixture(scope="session")
def games() -> Callable[..., list[Task]]:
    def make(number: int, first: int = 0, split: str = "train") -> list[Task]:
        return [DOMAIN.generate(first + seed, split) for seed in range(number)]

    return make


@pytest.fixture(scope="session")
def envs() -> list[gym.Env[str, str]]:
    return [gym.make("RLAnything/AlfWorld-v0") for _ in range(16)]


@pytest.fixture(scope="session")
def untrained() -> Qwen3ForCausalLM:
    """A policy of random weights; a wide initial spread makes it choose decidedly."""
    return tiny_model(DIALECT.tokenizer, hidden_size=32, layers=2, heads=4, intermediate_size=64, initializer_range=0.3)
