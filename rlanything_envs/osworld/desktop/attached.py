"""A desktop that another program started: any server of the guest protocol at an address."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Self
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from rlanything_envs.errors import InfrastructureError, SettingError
from rlanything_envs.osworld.desktop.client import GuestClient
from rlanything_envs.osworld.desktop.errors import DesktopError
from rlanything_envs.osworld.desktop.transport import Transport

__all__ = ["HttpDesktop"]

_REVERT_SECONDS = 300.0
"""Limit of the request that reverts a machine, and of the wait until its guest answers again: OSWorld's for a start."""
_AGAIN_SECONDS = 1.0
_NEVER = "never"
_USERS: WeakValueDictionary[str, HttpDesktop] = WeakValueDictionary()
"""Who of this process plays on a guest, by its address."""
_USERS_LOCK = threading.Lock()


class HttpDesktop:
    """A running guest: our own, OSWorld's server in a virtual machine, or any other of the protocol.

    Args:
        url: ``http://host:port``.
        token: the bearer token, for guests that want one.
        reset: what puts the machine back into its first state: a function without arguments that returns when it has;
            an address, ``http://...``, whose answer to a POST says the same; or ``"never"``: each episode then begins
            with what the last one left. Our own guests reset themselves without it.

    Raises:
        SettingError: one of them is none of these.
    """

    name = "http"

    def __init__(self, url: str, token: str | None = None, reset: Callable[[], object] | str | None = None) -> None:
        self.client = GuestClient(url, token)
        self._revert = _post_to(reset) if isinstance(reset, str) and reset != _NEVER else reset
        self._own = self._apart = False
        if not self.independent:
            said = f"the guest at {url} is never reset: its episodes are not independent (info['independent'] is False)"
            warnings.warn(said, stacklevel=2)

    @property
    def independent(self) -> bool:
        """Whether an episode begins in a state that no other episode had a part in."""
        return self._revert != _NEVER

    def start(self) -> None:
        """See whether the guest answers.

        Raises:
            DesktopError: it does not.
            SettingError: another environment of this process plays on it.
        """
        with _USERS_LOCK:
            if _USERS.setdefault(self.client.url, self) is not self:
                raise SettingError(
                    f"another environment plays on the guest at {self.client.url}, and would act on the same screen: "
                    "close it, or play one episode at a time (benchmark --workers 1, rollout.environments: 1)"
                )
        self._check()
        health = self.client.health()
        self._own, self._apart = health.own, health.apart

    def reset(self) -> None:
        """The first state of the machine; with ``"never"``, the one it is in.

        Raises:
            DesktopError: it was not put back, or its guest does not answer afterwards.
            SettingError: the guest cannot do that by itself, and nothing else was given that does.
        """
        if self._revert is None:
            if not self.client.health().own:
                raise SettingError(
                    f"the guest at {self.client.url} cannot reset itself: add to the settings of the desktop reset=, "
                    'a function or an address that reverts its machine, or "never"'
                )
            self.client.reset()
            return
        if callable(self._revert):
            try:
                self._revert()
            except InfrastructureError:
                raise
            except Exception as error:
                raise DesktopError(f"the reset of the guest at {self.client.url} failed: {error!r}") from error
        self._check(0.0 if self._revert == _NEVER else _REVERT_SECONDS)

    def intact(self) -> bool:
        """Whether a failure after an action is the agent's.

        It is where no agent can reach the server, and that still runs. Where it can, as in OSWorld's machines, a
        machine that works again after a reset shows that the agent broke it; with ``"never"`` nobody can tell, and else
        an agent could void an episode that it loses.
        """
        try:
            if self._apart:
                return self.client.health().apart
            if not self._own and self.independent:
                self.reset()
        except DesktopError:
            return False
        return True

    def close(self) -> None:
        """Leave the guest as it is; it is not ours to end."""
        with _USERS_LOCK:
            if _USERS.get(self.client.url) is self:
                del _USERS[self.client.url]

    def _check(self, seconds: float = 0.0) -> None:
        """Wait until the guest shows its screen and carries out an action.

        Raises:
            DesktopError: it does not, within the limit.
        """
        end = time.monotonic() + seconds
        while True:
            try:
                width, height = self.client.screen_size()
                shape = self.client.screenshot_array().shape
                if shape != (height, width, 3):
                    raise DesktopError(f"{self.client.url}: a screen of {width} by {height} pixels looks like {shape}")
                done = self.client.act("pass")
                if done.returncode:
                    raise DesktopError(f"{self.client.url} carries out no action: {done.error.strip()[-500:]}")
                return
            except DesktopError:
                if time.monotonic() > end:
                    raise
            time.sleep(_AGAIN_SECONDS)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _post_to(address: str) -> Callable[[], None]:
    """A function that reverts a machine by a POST to an address.

    Raises:
        SettingError: that is not an address.
    """
    parts = urlsplit(address)
    try:
        host = parts.netloc if parts.port else f"{parts.netloc}:80"
        there = Transport(f"http://{host}") if parts.scheme == "http" else None
    except ValueError:
        there = None
    if there is None:
        raise SettingError(f'reset= is a function, "never" or http://HOST:PORT/PATH, not {address!r}')
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"

    return partial(_post, there, path)


def _post(there: Transport, path: str) -> None:
    answer = there.once("POST", path, b"{}", {"Content-Type": "application/json"}, _REVERT_SECONDS)
    if not 200 <= answer.status < 300:
        raise DesktopError(f"{there.url}{path} reverts no machine: HTTP {answer.status}: {answer.reason}")
