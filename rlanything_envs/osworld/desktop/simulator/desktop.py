"""A desktop without a computer behind it."""

from __future__ import annotations

from typing import Self

from rlanything_envs.errors import SettingError
from rlanything_envs.osworld.desktop.errors import DesktopError
from rlanything_envs.osworld.desktop.simulator.client import SimulatorClient
from rlanything_envs.osworld.desktop.simulator.programs import start
from rlanything_envs.osworld.desktop.simulator.screen import Screen

__all__ = ["SimulatorDesktop"]

_SMALLEST, _LARGEST = (640, 480), (3840, 2160)


class SimulatorDesktop:
    """A simulated desktop: file manager, text editor and terminal over files in memory.

    It is a simulator, not a desktop: pure Python, deterministic, without processes, threads or clocks, ready in
    milliseconds. Its windows, keys and accessibility tree follow the ``bwrap`` desktop's, so that an agent learns what
    is true there too; what it has not is an error that says so.

    Args:
        screen: width and height in pixels.

    Raises:
        SettingError: no such screen.
    """

    name = "simulator"
    synchronous = True
    """The screen changes only during calls: there is nothing to wait for."""

    def __init__(self, screen: tuple[int, int] = (1280, 720)) -> None:
        width, height = screen
        if not (_SMALLEST[0] <= width <= _LARGEST[0] and _SMALLEST[1] <= height <= _LARGEST[1]):
            raise SettingError(f"a screen of {width} by {height}; it has from 640 by 480 to 3840 by 2160 pixels")
        self._size = (int(width), int(height))
        self._client: SimulatorClient | None = None

    @property
    def client(self) -> SimulatorClient:
        """The way to the running desktop; DesktopError where it does not run."""
        if self._client is None:
            raise DesktopError("the simulated desktop is not running; call start()")
        return self._client

    def start(self) -> None:
        """Start it, unless it runs."""
        if self._client is None:
            self.reset()

    def reset(self) -> None:
        """A pristine home and no application."""
        self._client = SimulatorClient(Screen(self._size, start))

    def intact(self) -> bool:
        """No action can break a simulator; what it lacks is no failure of an agent."""
        return False

    def close(self) -> None:
        """Forget everything; may be called twice."""
        self._client = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
