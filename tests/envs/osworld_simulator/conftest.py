"""A simulated desktop for the tests."""

import pytest
from simulator_hands import Hands

from rlanything_envs.osworld.desktop.simulator import SimulatorDesktop


@pytest.fixture
def hands() -> Hands:
    desktop = SimulatorDesktop()
    desktop.start()
    return Hands(desktop.client)
