"""A real desktop for the tests that need one."""

from collections.abc import Iterator

import pytest

from rlanything_envs.osworld.desktop import DesktopError, MissingPackages, make_desktop
from rlanything_envs.osworld.desktop.protocol import Desktop


@pytest.fixture(scope="session")
def bwrap_desktop() -> Iterator[Desktop]:
    """The desktop all tests of a process share; `desktop` is the same one, put back."""
    try:
        made = make_desktop("bwrap")
        made.start()
    except MissingPackages as error:
        pytest.skip(str(error))
    except DesktopError as error:
        if "made no sandbox" in str(error):
            pytest.skip(str(error))
        raise
    yield made
    made.close()


@pytest.fixture
def desktop(bwrap_desktop: Desktop) -> Desktop:
    """A desktop with a pristine home and no application."""
    bwrap_desktop.reset()
    return bwrap_desktop
