"""A real desktop for the tests that need one."""

import pytest

from rlanything_envs.osworld.desktop.protocol import Desktop


@pytest.fixture
def desktop(bwrap_desktop: Desktop) -> Desktop:
    """A desktop with a pristine home and no application."""
    bwrap_desktop.reset()
    return bwrap_desktop
