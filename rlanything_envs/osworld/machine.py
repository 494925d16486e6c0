"""The desktop of one environment: started on demand, reset between episodes, replaced when it is broken."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from rlanything_envs.errors import SettingError
from rlanything_envs.osworld.desktop import BACKENDS, Client, Desktop, make_desktop
from rlanything_envs.osworld.desktop.root import installed
from rlanything_envs.osworld.winnable import Provided
from rlanything_task_pools.osworld import Requirements

__all__ = ["Machine"]

_ATTACHED = "http"
"""The backend that starts nothing: its screen has the size it has, and its desktop was used by others before."""


class Machine:
    """One desktop and its state.

    Args:
        backend: a backend's name, or a desktop; a given one is started and reset here, and ended by its owner.
        screen: width and height in pixels that the desktop must have.
        settings: further settings of the backend.

    Raises:
        SettingError: there is no such backend, or a desktop was given with settings.
    """

    def __init__(self, backend: str | Desktop, screen: tuple[int, int], settings: Mapping[str, Any] | None) -> None:
        if isinstance(backend, str) and backend not in BACKENDS:
            raise SettingError(f"no desktop is called {backend!r}; there are {', '.join(BACKENDS)}")
        if not isinstance(backend, str) and settings:
            raise SettingError("settings are for a backend by its name; this desktop has been made already")
        self._backend, self._settings, self.screen = backend, dict(settings or {}), screen
        self._desktop: Desktop | None = None if isinstance(backend, str) else backend
        self.running = False
        """Whether the desktop has been started."""
        self._provided = Provided()
        self.independent = True
        """Whether an episode begins in a state that no other episode had a part in."""

    @property
    def alone(self) -> bool:
        """Whether there can be no second desktop like this one: it was given, or runs elsewhere."""
        return not self._ours or self._backend == _ATTACHED

    @property
    def root(self) -> str | None:
        """Hash of the root folder that the desktop is made of; None where it is of something else."""
        found = installed() if self._backend == "bwrap" else None
        return None if found is None else found.hash

    @property
    def client(self) -> Client:
        """Client of the running desktop; raises `DesktopError` where it is not running."""
        return self._made().client

    def pristine(self) -> Client:
        """Client of the desktop with a new home directory and no application.

        Raises:
            DesktopError: the desktop cannot be started or reset.
            SettingError: its screen has another size, or it has no such settings.
        """
        desktop = self._made()
        self.independent = bool(getattr(desktop, "independent", True))
        if not self.running:
            desktop.start()
            self.running = True
            if self.alone:
                desktop.reset()
        else:
            desktop.reset()
        if (found := desktop.client.screen_size()) != self.screen:
            raise SettingError(f"the screen has {found[0]} by {found[1]} pixels; give screen={found!r}")
        return desktop.client

    def intact(self) -> bool:
        """Whether a failure after an action is the agent's, see `Desktop.intact`."""
        return self._desktop is not None and self._desktop.intact()

    def lacking(self, requirements: Requirements) -> list[str]:
        """What the running desktop lacks of what a task requires.

        Raises:
            DesktopError: the desktop is out of order.
        """
        return self._provided.lacking(requirements, self.client)

    def replace(self) -> None:
        """End a broken desktop, so that the next episode starts a new one."""
        with contextlib.suppress(Exception):  # the desktop is broken; its remains end with this process
            self.close()
        self.running = False

    def close(self) -> None:
        """End the desktop if it was made here; may be called twice."""
        if self._ours and self._desktop is not None:
            desktop, self._desktop, self.running = self._desktop, None, False
            desktop.close()

    @property
    def _ours(self) -> bool:
        return isinstance(self._backend, str)

    def _made(self) -> Desktop:
        if self._desktop is None:
            assert isinstance(self._backend, str)  # nosec B101 # for the type checker; a desktop that was given stays
            screen = None if self._backend == _ATTACHED else self.screen
            self._desktop = make_desktop(self._backend, screen=screen, **self._settings)
        return self._desktop

    def __getstate__(self) -> dict[str, Any]:
        """State without the desktop: a copy in another process starts its own."""
        return {**self.__dict__, "running": False, "_desktop": None if self._ours else self._desktop}
