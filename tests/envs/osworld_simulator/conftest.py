"""A simulated desktop for the tests, and a real one to compare it with."""

from collections.abc import Iterator

import pytest
from simulator_hands import Hands

from rlanything_envs.osworld.desktop import DesktopError, MissingPackages, make_desktop
from rlanything_envs.osworld.desktop.protocol import Desktop
from rlanything_envs.osworld.desktop.simulator import SimulatorDesktop


@pytest.fixture
def hands() -> Hands:
    desktop = SimulatorDesktop()
    desktop.start()
    return Hands(desktop.client)


@pytest.fixture(scope="module")
def real() -> Iterator[Desktop]:
    try:
        made = make_desktop("bwrap", screen=(1280, 720))
        made.start()
    except MissingPackages as error:
        pytest.skip(str(error))
    except DesktopError as error:
        if "made no sandbox" in str(error):
            pytest.skip(str(error))
        raise
    yield made
    made.close()
