"""Web server of the viewer on this machine: it requires a token and this host name, and serves files of the site only.
It writes nothing and holds no lock, so a run may continue while it is viewed.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import socket
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from rlanything_agents.runs.storage import RunFolderError
from rlanything_agents.tools.view import shell
from rlanything_agents.tools.view.site import Site
from rlanything_task_pools import UnknownName

__all__ = ["ViewServer", "serve"]

HOST = "127.0.0.1"
WAITING = 64
"""Maximum connections without a complete request; the oldest is closed for each one too many."""
WAITING_SECONDS = 15.0
"""How long a connection waits for one."""
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}


class ViewServer(ThreadingHTTPServer):
    """Serves a site on the loopback interface.

    Args:
        site: The site.
        port: Port to listen on; 0 for a free one.

    Raises:
        OSError: The port is taken.
    """

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = WAITING

    def __init__(self, site: Site, port: int = 0) -> None:
        super().__init__((HOST, port), _Handler)
        self.site = site
        self._waiting: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        self.token = secrets.token_urlsafe(24)
        self.port = int(self.server_address[1])
        self.cookie = f"rlanything-view-{self.port}"  # cookies ignore ports, and two viewers must not share one
        self.hosts = frozenset(f"{name}:{self.port}" for name in (HOST, "localhost"))

    @property
    def url(self) -> str:
        """Address with the token, which gives access to everything in the site."""
        return f"http://{HOST}:{self.port}/?token={self.token}"

    def wait(self, connection: socket.socket) -> None:
        """Note that a connection waits for a request, and make room for it."""
        with self._lock:
            self._waiting[connection] = time.monotonic()
            if len(self._waiting) > WAITING:
                self._end(next(iter(self._waiting)))

    def heard(self, connection: socket.socket) -> None:
        """Note that a request is complete, or the connection closed."""
        with self._lock:
            self._waiting.pop(connection, None)

    def service_actions(self) -> None:
        """End the connections that have waited too long; called several times a second."""
        with self._lock:
            for connection in [
                each for each, since in self._waiting.items() if time.monotonic() - since > WAITING_SECONDS
            ]:
                self._end(connection)

    def _end(self, connection: socket.socket) -> None:
        del self._waiting[connection]
        with contextlib.suppress(OSError):  # its thread then finds it closed
            connection.shutdown(socket.SHUT_RDWR)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Note the connection before its thread starts."""
        self.wait(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget the connection."""
        self.heard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors of a connection that the browser closed."""


def serve(site: Site, port: int = 0, *, ready: Callable[[str], None] = print) -> None:
    """Serve a site until interrupted.

    Args:
        site: The site.
        port: Port to listen on; 0 for a free one.
        ready: Called with the address as soon as the server accepts connections.

    Raises:
        OSError: The port is taken.
    """
    with ViewServer(site, port) as server:
        ready(server.url)
        server.serve_forever(poll_interval=0.2)


class _Handler(BaseHTTPRequestHandler):
    """One connection of a browser."""

    server: ViewServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "rlanything", ""
    timeout = WAITING_SECONDS

    def handle_one_request(self) -> None:
        """Wait for a request and answer it."""
        self.server.wait(self.connection)
        super().handle_one_request()

    def parse_request(self) -> bool:
        """Read the header of a request."""
        good = super().parse_request()
        self.server.heard(self.connection)
        return good

    def do_GET(self) -> None:
        """Answer one request."""
        if self.headers.get("Host", "") not in self.server.hosts:
            # Another host name: DNS rebinding, with which a foreign page points its own name here.
            self._plain(HTTPStatus.FORBIDDEN, "This server answers to 127.0.0.1 and localhost only.")
            return
        try:
            address = urlsplit(self.path)
            query = parse_qs(address.query, max_num_fields=8)
        except ValueError:
            self._plain(HTTPStatus.BAD_REQUEST, "No page has this address.")
            return
        if address.path == "/" and (token := query.get("token")):
            self._enter(token[0])
        elif not self._is_known():
            self._plain(HTTPStatus.FORBIDDEN, "Open the address that `rlanything view` printed: it has a token.")
        else:
            self._answer(unquote(address.path))

    def _enter(self, token: str) -> None:
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self._plain(HTTPStatus.FORBIDDEN, "This token is of another viewer: open the address printed last.")
            return
        cookie = f"{self.server.cookie}={self.server.token}; Path=/; HttpOnly; SameSite=Strict"
        self._send(HTTPStatus.SEE_OTHER, "text/plain", b"", {"Location": "/", "Set-Cookie": cookie})

    def _is_known(self) -> bool:
        try:
            morsel = SimpleCookie(self.headers.get("Cookie", "")).get(self.server.cookie)
        except CookieError:
            return False
        return morsel is not None and hmac.compare_digest(morsel.value.encode(), self.server.token.encode())

    def _answer(self, path: str) -> None:
        try:
            match path.split("/"):
                case ["", ""]:
                    title = f"{self.server.site.path.resolve().name} · RLAnything"
                    self._send(HTTPStatus.OK, "text/html; charset=utf-8", shell.page(title, live=True).encode())
                case ["", "static", name] if file := shell.static(name):
                    self._send(HTTPStatus.OK, shell.MEDIA_TYPES[PurePosixPath(name).suffix], file.read_bytes())
                case ["", "data", *parts] if parts and parts[-1].endswith(".json"):
                    content = self.server.site.get("/".join(parts).removesuffix(".json"))
                    self._send(HTTPStatus.OK, "application/json", content)
                case ["", "data", *parts]:
                    run, name = self.server.site.run("/".join(parts))
                    self._send(HTTPStatus.OK, *run.image(name))
                case _:
                    raise UnknownName(path)
        except UnknownName:
            self._plain(HTTPStatus.NOT_FOUND, "There is nothing of this name.")
        except RunFolderError as error:
            self._json(HTTPStatus.UNPROCESSABLE_ENTITY, {"error": str(error)})
        except OSError as error:
            self._json(
                HTTPStatus.UNPROCESSABLE_ENTITY, {"error": f"a file of the run cannot be read: {error.strerror}"}
            )

    def _plain(self, status: HTTPStatus, text: str) -> None:
        self._send(status, "text/plain; charset=utf-8", f"{text}\n".encode())

    def _json(self, status: HTTPStatus, value: dict[str, str]) -> None:
        self._send(status, "application/json", json.dumps(value).encode())

    def _send(self, status: HTTPStatus, kind: str, content: bytes, more: dict[str, str] | None = None) -> None:
        headers = {"Content-Type": kind, "Content-Security-Policy": shell.policy(live=True), **_HEADERS, **(more or {})}
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the terminal belongs to the user."""
