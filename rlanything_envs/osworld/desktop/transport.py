"""HTTP to a guest with the standard library: over TCP or a Unix socket, one connection a request.

Who answers may be what an agent's programs have made of the guest: answers have a largest size and a latest end, and
whatever is wrong with one is a `DesktopError`.
"""

from __future__ import annotations

import http.client
import json
import secrets
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from rlanything_envs.errors import SettingError
from rlanything_envs.osworld.desktop.errors import DesktopError

__all__ = ["Response", "Transport", "multipart"]

_LOOKS = 3
"""Maximum tries of a read-only request (GET) before it counts as failed."""
_BETWEEN_LOOKS = 0.2
_LARGEST_ANSWER = 256 << 20
"""Bytes of an answer; a screen of 3840 by 2160 pixels has 33 million, and no larger file than 64 MiB is judged."""
_ARRIVAL = 60.0
"""Seconds that an answer may take to arrive, beyond those that the guest may be silent for."""


@dataclass(frozen=True, slots=True)
class Response:
    """Answer of a guest."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the status is 200."""
        return self.status == 200

    def json(self) -> Any:
        """The body as JSON, all texts encodable; None where it is none."""
        return json_of(self.body)

    @property
    def reason(self) -> str:
        """The guest's reason of a failure."""
        value = self.json()
        said = (value.get("message") or value.get("error")) if isinstance(value, dict) else None
        return said[:2000] if isinstance(said, str) else self.body[:200].decode(errors="replace")


def json_of(body: bytes) -> Any:
    """The value of a text in JSON, halves of surrogate pairs in it replaced; None where it is none."""
    try:
        value = json.loads(body)
        if b"\\ud" in body or b"\\uD" in body:  # such texts could neither be sent nor stored nor printed
            value = json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError):
        return None
    return value


class _Socket(socket.socket):
    """A connected socket that receives only so much, and only for so long, however slowly it comes."""

    def __init__(self, connected: socket.socket, seconds: float) -> None:
        patience = connected.gettimeout()
        super().__init__(fileno=connected.detach())
        self.settimeout(patience)
        self._end = time.monotonic() + seconds
        self._left = _LARGEST_ANSWER + (1 << 20)

    def recv_into(self, *buffer: Any) -> int:
        """As every read of a response ends in.

        Raises:
            OSError: too much has come; `TimeoutError` where it takes too long.
        """
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise TimeoutError("the answer takes too long to arrive")
        if self._left <= 0:
            raise OSError(f"an answer of more than {_LARGEST_ANSWER} bytes")
        self.settimeout(min(self.gettimeout() or seconds, seconds))
        size = super().recv_into(*buffer)
        self._left -= size
        return size


class _Connection(http.client.HTTPConnection):
    """One connection to a port, or to the file of a Unix socket."""

    def __init__(self, host: str, port: int, path: str | None, timeout: float) -> None:
        super().__init__(host or "localhost", port or 80, timeout=timeout)
        self._path, self._patience = path, timeout

    def connect(self) -> None:
        """Connect, with bounds on the answer."""
        if self._path is None:
            made = socket.create_connection((self.host, self.port), self._patience)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        else:
            made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            made.settimeout(self._patience)
            try:
                made.connect(self._path)
            except OSError:
                made.close()
                raise
        self.sock = _Socket(made, self._patience + _ARRIVAL)


class Transport:
    """Where a guest is, and how to ask it.

    Args:
        url: ``http://host:port``, or ``unix:/path/of/socket``.
        token: the bearer token, for guests that want one.

    Raises:
        SettingError: the address is neither.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._socket: str | None = None
        self._host, self._port, self._prefix = "", 0, ""
        if url.startswith("unix:"):
            self._socket = str(Path(url.removeprefix("unix:")))
            return
        parts = urlsplit(url if "//" in url else f"http://{url}")
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme != "http" or not parts.hostname or port == -1:
            raise SettingError(f"the address of a guest is http://HOST:PORT, not {url!r}")
        self._host, self._port, self._prefix = parts.hostname, port or 5000, parts.path.rstrip("/")

    def __repr__(self) -> str:
        return f"Transport({self.url!r})"

    def get(self, path: str, query: Mapping[str, str] | None = None, *, timeout: float) -> Response:
        """Look at something. Looking changes nothing: a request that fails soon is repeated.

        Raises:
            DesktopError: no answer.
        """
        target = f"{path}?{urlencode(query)}" if query else path
        begin = time.monotonic()
        for _ in range(_LOOKS - 1):
            try:
                return self.once("GET", target, None, {}, timeout)
            except DesktopError:
                if time.monotonic() - begin > 2 * timeout:
                    raise
                time.sleep(_BETWEEN_LOOKS)
        return self.once("GET", target, None, {}, timeout)

    def post(self, path: str, value: object = None, *, timeout: float) -> Response:
        """Send JSON, once: what it asks for may have been done even where no answer came.

        Raises:
            DesktopError: no answer.
        """
        return self.once("POST", path, json.dumps(value or {}).encode(), {"Content-Type": "application/json"}, timeout)

    def post_form(self, path: str, values: Mapping[str, str], *, timeout: float) -> Response:
        """Send a form, once.

        Raises:
            DesktopError: no answer.
        """
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.once("POST", path, urlencode(values).encode(), kind, timeout)

    def post_file(self, path: str, values: Mapping[str, str], name: str, data: bytes, *, timeout: float) -> Response:
        """Send a form with a file, once.

        Raises:
            DesktopError: no answer.
        """
        kind, body = multipart(values, name, data)
        return self.once("POST", path, body, {"Content-Type": kind}, timeout)

    def once(self, method: str, path: str, body: bytes | None, headers: dict[str, str], timeout: float) -> Response:
        """Make one request, once.

        Raises:
            DesktopError: no answer.
        """
        connection = _Connection(self._host, self._port, self._socket, timeout)
        sent = {"Connection": "close", **self._headers, **headers}
        try:
            connection.request(method, self._prefix + path, body, sent)
            answer = connection.getresponse()
            content = answer.read(_LARGEST_ANSWER + 1)
            if len(content) > _LARGEST_ANSWER:
                raise DesktopError(f"{method} {self.url}{path}: an answer of more than {_LARGEST_ANSWER} bytes")
            if answer.length:
                raise DesktopError(f"{method} {self.url}{path}: the answer ends {answer.length} bytes too early")
            return Response(answer.status, content, dict(answer.getheaders()))
        except TimeoutError as error:
            raise DesktopError(f"{method} {self.url}{path}: no answer within {timeout:g} seconds") from error
        except (OSError, http.client.HTTPException, ValueError, OverflowError, MemoryError) as error:
            raise DesktopError(f"{method} {self.url}{path}: {type(error).__name__}: {error}") from error
        finally:
            connection.close()


def multipart(values: Mapping[str, str], name: str, data: bytes) -> tuple[str, bytes]:
    """Content type and body of a form with one file (RFC 7578)."""
    boundary = secrets.token_hex(16).encode()
    lines = []
    for key, value in values.items():
        lines += [b"--" + boundary, f'Content-Disposition: form-data; name="{key}"'.encode(), b"", value.encode()]
    head = f'Content-Disposition: form-data; name="{name}"; filename="file"'.encode()
    lines += [b"--" + boundary, head, b"Content-Type: application/octet-stream", b"", data]
    lines += [b"--" + boundary + b"--", b""]
    return f"multipart/form-data; boundary={boundary.decode()}", b"\r\n".join(lines)
