"""The HTTP server: a thread a connection, on a Unix socket or on the loopback interface."""

from __future__ import annotations

import hmac
import json
import socket
import socketserver
import sys
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from .endpoints import ROUTES
from .multipart import Part, parse_multipart
from .requests import Guest, Reply, Request, RequestError, as_error

__all__ = ["make_server"]

_LARGEST_BODY = 1 << 30
"""Bytes of a request; the largest file of a published task has some 100 MB."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    guest: Guest
    token: str | None

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def address_string(self) -> str:
        """A Unix socket has no peer address."""
        return "guest"

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""

    def _answer(self) -> None:
        try:
            reply = self._reply()
        except RequestError as error:
            reply = as_error(str(error), error.status)
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            reply = as_error(f"{type(error).__name__}: {error}")
        try:
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.kind)
            self.send_header("Content-Length", str(len(reply.body)))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _reply(self) -> Reply:
        body = self._body()
        given = self.headers.get("Authorization", "")
        if self.token is not None and not hmac.compare_digest(given.encode(), f"Bearer {self.token}".encode()):
            return as_error("wrong or missing bearer token", 401)
        url = urlsplit(self.path)
        endpoint = ROUTES.get((self.command, url.path.rstrip("/") or "/"))
        if endpoint is None:
            known = any(path == url.path for _, path in ROUTES)
            return as_error(
                f"{self.command} {url.path}: {'wrong method' if known else 'no such endpoint'}", 404 + known
            )
        return endpoint(self.guest, self._request(url.query, body))

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "0")
        if not length.isdigit() or int(length) > _LARGEST_BODY:
            self.close_connection = True
            raise RequestError(f"a body of {length} bytes is not accepted", 413)
        return self.rfile.read(int(length))

    def _request(self, query: str, body: bytes) -> Request:
        kind = self.headers.get("Content-Type", "")
        looked = dict(parse_qsl(query))
        try:
            if kind.startswith("multipart/form-data"):
                parts = parse_multipart(kind, body)
                files: dict[str, Part] = {part.name: part for part in parts if part.filename is not None}
                values = {part.name: part.data.decode(errors="replace") for part in parts if part.filename is None}
                return Request(looked, form=values, files=files)
            if kind.startswith("application/x-www-form-urlencoded"):
                return Request(looked, form=dict(parse_qsl(body.decode(), keep_blank_values=True)))
            value = json.loads(body) if body else {}
        except (ValueError, RecursionError) as error:
            raise RequestError(f"cannot read the body: {error}") from error
        if not isinstance(value, dict):
            raise RequestError("the body must be a JSON object")
        return Request(looked, json=value)


class _TcpServer(ThreadingHTTPServer):
    daemon_threads = True

    def server_bind(self) -> None:
        """Bind without the name look-up of `HTTPServer`, which can take seconds."""
        socketserver.TCPServer.server_bind(self)

    def get_request(self) -> tuple[socket.socket, object]:
        """Accept, and send small answers at once."""
        connection, address = super().get_request()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection, address


class _UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


def make_server(guest: Guest, address: int | tuple[str, int], token: str | None) -> socketserver.BaseServer:
    """A server on a listening Unix socket (its descriptor) or on an interface and port.

    It answers nothing without the token, where there is one.
    """
    handler = type("Handler", (_Handler,), {"guest": guest, "token": token})
    if not isinstance(address, int):
        return _TcpServer(address, handler)
    server = _UnixServer("", handler, bind_and_activate=False)
    server.socket.close()
    server.socket = socket.socket(fileno=address)
    return server
