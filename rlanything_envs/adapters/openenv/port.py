"""An OpenEnv server on a port of this process."""

from __future__ import annotations

import socket
from threading import Thread
from typing import Self

from rlanything_envs.adapters.openenv.guard import App
from rlanything_envs.errors import InfrastructureError

__all__ = ["Server", "ServerSettingError"]

_STARTING_S = 30
_ENDING_S = 10


class ServerSettingError(ValueError):
    """A setting of a server is out of range; the message names it."""


class Server:
    """Serves an application on a port inside a ``with`` block.

    Args:
        app: The ASGI application, which another server can run as well (`uvicorn.run(server.app)`).
        host: Address to listen on.
        port: Port to listen on; 0 for any free port.
        max_message_bytes: Longest message of a client in bytes.

    Attributes:
        app: As given.
    """

    def __init__(self, app: App, host: str, port: int, max_message_bytes: int) -> None:
        import uvicorn

        self.app = app
        self._address = host, port
        self._socket: socket.socket | None = None
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_level="warning",
                ws_max_size=max_message_bytes,
                ws_ping_interval=20.0,  # a peer that vanished is detected after 40 seconds
                ws_ping_timeout=20.0,
                timeout_graceful_shutdown=_ENDING_S // 2,
                lifespan="on",
            )
        )
        self._thread = Thread(target=self._run, name="rlanything-openenv", daemon=True)

    @property
    def url(self) -> str:
        """Address of the running server, ``http://HOST:PORT``.

        Raises:
            RuntimeError: The server is not running.
        """
        if self._socket is None:
            raise RuntimeError("the server is not open: use it in a with block")
        host, port = self._socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def __enter__(self) -> Self:
        host, port = self._address
        try:
            family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            self._socket = socket.create_server((host, port), family=family)
        except OSError as error:
            raise ServerSettingError(f"cannot serve at {host}, port {port}: {error}") from error
        self._thread.start()
        for _ in range(_STARTING_S * 100):
            if self._server.started or not self._thread.is_alive():
                break
            self._thread.join(0.01)
        if not self._server.started:
            self._socket.close()
            raise InfrastructureError("the server did not start; its log says why")
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(_ENDING_S)
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _run(self) -> None:
        self._server.run(sockets=[self._socket] if self._socket is not None else None)
