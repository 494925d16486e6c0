"""What the tests of desktop agents share: generated tasks, and a desktop in the short view."""

from collections.abc import Callable, Iterator

import gymnasium as gym
import pytest

from rlanything_envs.views import make_env
from rlanything_task_pools import Task
from rlanything_task_pools.osworld import DOMAIN

PLAYED = ("rename_files", "write_files", "count_lines", "edit_config")
"""The kinds that the small model knows."""


@pytest.fixture(scope="session")
def desktops() -> Callable[..., list[Task]]:
    """Tasks of some kinds, levels and numbers of hints in turn."""

    def make(number: int, kinds: tuple[str, ...] = PLAYED, first: int = 100, split: str = "train") -> list[Task]:
        return [
            DOMAIN.generate(first + n, split, kinds=[kinds[n % len(kinds)]], difficulty=(n // 4 % 4) / 3, hints=n % 3)
            for n in range(number)
        ]

    return make


@pytest.fixture(scope="session")
def small() -> Iterator[gym.Env[str, str]]:
    env = make_env("RLAnything/OSWorld-v0", "short", max_turns=15)
    yield env
    env.close()
