"""Desktops in containers, through the docker SDK."""

from __future__ import annotations

import contextlib
import importlib
import secrets
import time
import weakref
from typing import Any

from rlanything_envs.errors import MissingExtra
from rlanything_envs.osworld.desktop.client import GuestClient
from rlanything_envs.osworld.desktop.errors import DesktopError, NotPrepared
from rlanything_envs.osworld.desktop.local import LocalDesktop, check_screen
from rlanything_verifiers.installed import install

__all__ = ["DockerDesktop", "engine", "sdk"]

_START_SECONDS = 60.0
_SHARED_MEMORY = "512m"
"""Size of ``/dev/shm``: a browser fails with docker's 64 MB."""
_TEMPORARY = "2g"
_PROCESSES = 1024
"""With threads."""


def sdk() -> Any:
    """The docker SDK.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        return importlib.import_module("docker")
    except ImportError as error:
        raise MissingExtra(f"the docker desktop needs the docker SDK: {install('docker')}") from error


def engine() -> Any:
    """A connection to the docker engine.

    Raises:
        MissingExtra: the SDK is not installed.
        DesktopError: no engine answers.
    """
    docker = sdk()
    try:
        client = docker.from_env()
        client.ping()
    except docker.errors.DockerException as error:
        raise DesktopError(f"no docker engine answers: {error}") from error
    return client


class _Container:
    """A container whose guest answers."""

    def __init__(self, container: Any, client: GuestClient) -> None:
        self.container, self.client = container, client
        self._remove = weakref.finalize(self, _remove, container)

    def restore(self) -> None:
        self.client.reset()

    def runs(self) -> bool:
        """Whether the guest's server, which is the container's root, still runs."""
        try:
            self.container.reload()
        except Exception:  # of the engine, the SDK or the connection
            return False
        return bool(self.container.status == "running")

    def end(self) -> None:
        self._remove()


class DockerDesktop(LocalDesktop):
    """The light desktop in a container of the image that ``rlanything desktop build`` makes.

    Args:
        screen: width and height in pixels.
        image: the image.
        memory: limit of its memory as docker writes it (``"4g"``).

    Raises:
        SettingError: no possible size of a screen.
    """

    name = "docker"

    def __init__(
        self, screen: tuple[int, int] = (1920, 1080), image: str = "rlanything-desktop", memory: str = "4g"
    ) -> None:
        super().__init__()
        self.screen = width, height = check_screen(screen)
        self.image = image
        self._token = secrets.token_urlsafe(32)
        self._options: dict[str, Any] = {
            "init": True,
            "environment": {"RLANYTHING_TOKEN": self._token, "RLANYTHING_SCREEN": f"{width}x{height}"},
            "shm_size": _SHARED_MEMORY,
            "tmpfs": {"/tmp": f"mode=1777,size={_TEMPORARY}"},
            "cap_drop": ["ALL"],
            "cap_add": ["SETUID", "SETGID", "KILL"],  # of the server, which starts everything else as another user
            "pids_limit": _PROCESSES,
            "security_opt": ["no-new-privileges"],
            "mem_limit": memory,
        }

    def _start(self) -> _Container:
        docker, errors = engine(), sdk().errors
        try:
            docker.images.get(self.image)  # `run` would go and look for it on the internet
            container = docker.containers.run(
                self.image, detach=True, ports={"5000/tcp": ("127.0.0.1", None)}, **self._options
            )
        except errors.ImageNotFound as error:
            raise NotPrepared(f"no image {self.image}; build it with: rlanything desktop build") from error
        except errors.DockerException as error:
            raise DesktopError(f"cannot start a container of {self.image}: {error}") from error
        try:
            container.reload()
            port = container.ports["5000/tcp"][0]["HostPort"]
            client = GuestClient(f"http://127.0.0.1:{port}", self._token)
            self._wait(client, container)
        except BaseException:
            _remove(container)
            raise
        return _Container(container, client)

    def _wait(self, client: GuestClient, container: Any) -> None:
        end = time.monotonic() + _START_SECONDS
        while True:
            try:
                client.screenshot()
                return
            except DesktopError as error:
                container.reload()
                if container.status == "exited" or time.monotonic() > end:
                    said = container.logs(tail=20).decode(errors="replace").strip()
                    raise DesktopError(
                        f"the guest of {self.image} does not answer: {error}; it printed: {said}"
                    ) from error
            time.sleep(0.05)


def _remove(container: Any) -> None:
    with contextlib.suppress(Exception):  # it is gone, or the engine is
        container.remove(force=True, v=True)
