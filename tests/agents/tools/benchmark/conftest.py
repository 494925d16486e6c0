"""Small panels."""

import pytest

from rlanything_task_pools.panel import Panel, load_panel


@pytest.fixture(scope="session")
def games() -> Panel:
    return load_panel("alfworld-easy", 4)
