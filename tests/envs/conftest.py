"""Tasks that the tests of environments share."""

import pytest

from rlanything_task_pools import TaskPool
from rlanything_task_pools.alfworld import DOMAIN


@pytest.fixture(scope="session")
def tasks():
    """Eight generated tasks of all rooms and kinds."""
    return [DOMAIN.generate(seed) for seed in range(8)]


@pytest.fixture(scope="session")
def task(tasks):
    return tasks[0]


@pytest.fixture
def pool(tasks, tmp_path):
    with TaskPool.create(tmp_path / "pool.sqlite", tasks) as pool:
        yield pool
