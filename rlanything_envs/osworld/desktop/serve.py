"""A port on the loopback interface for a desktop that is otherwise reached through a socket file."""

from __future__ import annotations

import hmac
import secrets
import socketserver
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Self

from rlanything_envs.errors import SettingError
from rlanything_envs.osworld.desktop.client import GuestClient
from rlanything_envs.osworld.desktop.errors import DesktopError
from rlanything_envs.osworld.desktop.protocol import Client
from rlanything_envs.osworld.desktop.transport import Response

__all__ = ["Relay"]

_LARGEST_BODY = 1 << 30
_SECONDS = 660.0
"""More than the longest command a guest runs."""


class Relay:
    """Passes requests on to a guest, for those who have the token.

    Args:
        client: the guest.
        port: on the loopback interface; 0 for any free one.
        token: the bearer token; without one a random one is made.

    Raises:
        SettingError: the client is not a connection to a guest.
        DesktopError: the port is taken.
    """

    def __init__(self, client: Client, port: int = 0, token: str | None = None) -> None:
        if not isinstance(client, GuestClient):
            raise SettingError(f"{type(client).__name__} speaks no HTTP that could be passed on")
        self.token = token or secrets.token_urlsafe(32)
        handler = type("Handler", (_Handler,), {"client": client, "token": self.token})
        try:
            self._server = _Server(("127.0.0.1", port), handler)
        except OSError as error:
            raise DesktopError(f"cannot serve on port {port}: {error}") from error
        self._thread = Thread(target=self._server.serve_forever, name="rlanything-relay", daemon=True)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def server_bind(self) -> None:
        """Bind without the name look-up of `HTTPServer`, which can take seconds."""
        socketserver.TCPServer.server_bind(self)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    client: GuestClient
    token: str

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""

    def _answer(self) -> None:
        length = self.headers.get("Content-Length", "0")
        if not length.isdigit() or int(length) > _LARGEST_BODY:
            self.close_connection = True
            answer = Response(413, b'{"status": "error", "message": "the body is too large"}')
        else:
            answer = self._passed_on(self.rfile.read(int(length)))
        self.send_response(answer.status)
        for name in ("Content-Type", "X-Width", "X-Height"):
            if name in answer.headers:
                self.send_header(name, answer.headers[name])
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def _passed_on(self, body: bytes) -> Response:
        given = self.headers.get("Authorization", "").encode()
        if not hmac.compare_digest(given, f"Bearer {self.token}".encode()):
            return Response(401, b'{"status": "error", "message": "wrong or missing bearer token"}')
        kind = self.headers.get("Content-Type", "application/json")
        try:
            return self.client.transport.once(self.command, self.path, body or None, {"Content-Type": kind}, _SECONDS)
        except DesktopError:
            return Response(502, b'{"status": "error", "message": "the desktop does not answer"}')
