"""A desktop that another program started: any server of the guest protocol at an address."""

from __future__ import annotations

from typing import Self

from rlanything_envs.osworld.desktop.client import GuestClient
from rlanything_envs.osworld.desktop.errors import DesktopError

__all__ = ["HttpDesktop"]


class HttpDesktop:
    """A running guest.

    Args:
        url: ``http://host:port``.
        token: the bearer token, for guests that want one.

    Raises:
        SettingError: that is not an address.
    """

    name = "http"

    def __init__(self, url: str, token: str | None = None) -> None:
        self.client = GuestClient(url, token)
        self._apart = False

    def start(self) -> None:
        """See whether the guest answers.

        Raises:
            DesktopError: it does not.
        """
        self.client.screen_size()
        self._apart = self.client.health().apart

    def reset(self) -> None:
        """A new home and no application.

        Raises:
            DesktopError: the guest cannot do that by itself: a virtual machine goes back to a snapshot from outside.
        """
        if not self.client.health().own:
            raise DesktopError(f"the guest at {self.client.url} cannot reset itself; use the backend that started it")
        self.client.reset()

    def intact(self) -> bool:
        """Whether a failure after an action is the agent's: any, but that of a server that no agent can reach."""
        if not self._apart:
            return True
        try:
            return self.client.health().apart
        except DesktopError:
            return False

    def close(self) -> None:
        """Leave the guest as it is; it is not ours to end."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
