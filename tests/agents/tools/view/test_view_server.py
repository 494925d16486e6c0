"""Who is answered, by which name, and with what."""

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from waiting import until

from rlanything_agents.tools.view import server as view_server
from rlanything_agents.tools.view import shell
from rlanything_agents.tools.view.server import ViewServer

Served = Callable[[Path], ViewServer]


def ask(
    server: ViewServer,
    path: str,
    *,
    cookie: str | None = None,
    host: str | None = None,
    packed: bool = False,
    method: str = "GET",
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    headers = {"Host": host or f"127.0.0.1:{server.port}"}
    if cookie:
        headers["Cookie"] = cookie
    if packed:
        headers["Accept-Encoding"] = "gzip"
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read()
    connection.close()
    return found


def enter(server: ViewServer) -> str:
    status, headers, _ = ask(server, f"/?token={server.token}")
    assert (status, headers["Location"]) == (303, "/")
    cookie = headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    return cookie.split(";")[0]


def test_only_who_knows_the_token_is_answered(runs: Path, served: Served) -> None:
    server = served(runs / "alfworld")
    for cookie in (None, "other=1", f"{server.cookie}=wrong", f"{server.cookie}=", "\x01;;=", f"{server.cookie}=é"):
        for path in ("/", "/data/runs.json", "/static/app.js"):
            assert ask(server, path, cookie=cookie)[0] == 403
    assert ask(server, "/?token=wrong")[0] == 403
    assert ask(server, "/?token=")[0] == 403
    cookie = enter(server)
    assert ask(server, "/data/runs.json", cookie=cookie)[0] == 200


def test_tokens_are_long_and_of_one_server(runs: Path, served: Served) -> None:
    one, other = served(runs / "alfworld"), served(runs / "alfworld")
    assert one.token != other.token
    assert len(one.token) >= 32
    assert ask(other, "/data/runs.json", cookie=enter(one))[0] == 403
    assert one.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "localhost:1", "evil.example:{port}", "127.0.0.1:{port}.evil.example"]
)
def test_another_host_name_is_not_answered(runs: Path, served: Served, host: str) -> None:
    """A page elsewhere may point its own name at this address."""
    server = served(runs / "alfworld")
    status, headers, _ = ask(server, f"/?token={server.token}", host=host.format(port=server.port))
    assert status == 403
    assert "Set-Cookie" not in headers
    assert ask(server, f"/?token={server.token}", host=f"localhost:{server.port}")[0] == 303


def test_every_answer_forbids_foreign_code(runs: Path, served: Served) -> None:
    server = served(runs / "alfworld")
    cookie = enter(server)
    for path in ("/", "/static/app.js", "/data/r0/overview.json", "/data/none.json", "/none"):
        _, headers, _ = ask(server, path, cookie=cookie)
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "require-trusted-types-for 'script'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "Access-Control-Allow-Origin" not in headers


def test_page_and_static_files(runs: Path, served: Served) -> None:
    server = served(runs / "alfworld")
    cookie = enter(server)
    status, headers, page = ask(server, "/", cookie=cookie)
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert b"<script>" not in page
    assert b" on" not in page.split(b"<body>")[1]
    assert b"://" not in page
    for name in (*shell.STYLES, *shell.scripts(live=True), "icon.svg"):
        status, headers, content = ask(server, f"/static/{name}", cookie=cookie)
        assert status == 200
        assert content
        assert headers["Content-Type"].split(";")[0] in {"text/javascript", "text/css", "image/svg+xml"}


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py", "/static/%2e%2e/server.py", "/static/", "/data/",
        "/data//etc/passwd.json", "/data/../config.json",
        "/data/r0/%2e%2e/config.json", "/data/r0/config.json", "/data/r0/search/1.json", "/data/r0/search/x.json?q=a",
        "/data/r0/screens/0001/..%2fconfig.json", "/data/r0/screens/1/%00.webp", "/data/r9/overview.json",
        "/etc/passwd", "//etc/passwd", "/%00",
    ],
)  # fmt: skip
def test_no_path_leads_out(runs: Path, served: Served, path: str) -> None:
    server = served(runs / "alfworld")
    status, _, content = ask(server, path, cookie=enter(server))
    assert status == 404
    assert b"name" in content


def test_nothing_can_be_changed(runs: Path, served: Served) -> None:
    server = served(runs / "alfworld")
    cookie = enter(server)
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert ask(server, "/data/runs.json", cookie=cookie, method=method)[0] == 501


def test_pictures_are_sent_as_such(runs: Path, served: Served) -> None:
    server = served(runs / "osworld")
    status, headers, content = ask(server, "/data/r0/screens/0001/0000-000.webp", cookie=enter(server))
    assert (status, headers["Content-Type"], content[:4]) == (200, "image/webp", b"RIFF")


def test_an_unreadable_file_is_an_answer_with_a_reason(run: Path, served: Served) -> None:
    (run / "pool.sqlite").write_bytes(b"x" * 5000)
    server = served(run)
    status, _, content = ask(server, "/data/r0/tasks.json", cookie=enter(server))
    assert status == 422
    assert "not a task pool" in json.loads(content)["error"]


@pytest.mark.parametrize("begin", [b"", b"GET / HTTP/1.1\r\nX: ", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_silence_ends_a_connection(runs: Path, served: Served, monkeypatch: pytest.MonkeyPatch, begin: bytes) -> None:
    monkeypatch.setattr(view_server, "WAITING_SECONDS", 0.5)
    server = served(runs / "alfworld")
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(begin)
        start = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while True:  # a byte now and then, so that it is never silent for long
                connection.settimeout(0.1)
                try:
                    if not connection.recv(65536):
                        break
                except TimeoutError:
                    connection.sendall(b"x" if begin else b"")
    assert time.monotonic() - start < 12  # and not after the 15 s of a server that nobody changed


def test_silent_connections_are_bounded(runs: Path, served: Served) -> None:
    server = served(runs / "alfworld")
    crowd = [socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(3 * view_server.WAITING)]
    try:
        assert ask(server, "/?token=wrong")[0] == 403
        until(lambda: threading.active_count() <= view_server.WAITING + 20)
        assert enter(server)
    finally:
        for connection in crowd:
            connection.close()
