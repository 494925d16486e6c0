"""Clients that ask for nothing: bounded in number, time and size, and no hindrance to others."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import re
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from waiting import until

pytest.importorskip("uvicorn", reason="no server is installed")

from rlanything_envs.adapters import connections
from rlanything_envs.adapters.serving import Server

TOKEN = "correct-horse-battery"
HALF = b"POST /mcp HTTP/1.1\r\nHost: x\r\nX-Half: "
FILES = 256
CROWD = 300
SECONDS = 0.3
"""Of the tests' servers, in place of `WAITING_SECONDS`."""


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answers what it was sent, after a while at /slow, and greets over a WebSocket."""
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        await receive()
        await send({"type": "websocket.send", "text": "heard"})
        return
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body, more = body + message.get("body", b""), message.get("more_body", False)
    await asyncio.sleep(10 * SECONDS if scope["path"] == "/slow" else 0)
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(connections, "WAITING_SECONDS", SECONDS)
    with Server(echo, "127.0.0.1", 0, 1_000_000, 8) as made:
        yield made


def connect(server: Server) -> socket.socket:
    host, _, port = server.url.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=10)


def closed_after(connection: socket.socket, trickle: bytes = b"") -> float:
    """Seconds until the other end closes a connection, on which something is sent now and then."""
    begin = time.monotonic()
    connection.settimeout(SECONDS / 5)
    while time.monotonic() - begin < 30:
        try:
            if not connection.recv(65536):
                break
        except TimeoutError:
            with contextlib.suppress(OSError):
                connection.sendall(trickle)
        except OSError:
            break
    return time.monotonic() - begin


@pytest.mark.parametrize(
    "begin", [b"", b"G", b"GET / HTTP/1.1\r\n", HALF, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\r\n" * 20]
)
def test_silence_ends_a_connection(server: Server, begin: bytes) -> None:
    with connect(server) as connection:
        connection.sendall(begin)
        assert closed_after(connection) < 10 * SECONDS


def test_a_header_that_comes_slowly_ends_a_connection(server: Server) -> None:
    with connect(server) as connection:
        connection.sendall(HALF)
        assert closed_after(connection, b"x") < 10 * SECONDS


def test_half_a_header_after_a_request_ends_a_connection(server: Server) -> None:
    with connect(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        connection.sendall(HALF)
        assert closed_after(connection, b"x") < 10 * SECONDS


@pytest.mark.parametrize("line", [b"x" * 1000, b"\r\nx: " + b"y" * 100], ids=["one", "many"])
def test_a_header_without_end_ends_a_connection(server: Server, monkeypatch: pytest.MonkeyPatch, line: bytes) -> None:
    monkeypatch.setattr(connections, "WAITING_SECONDS", 60.0)
    sent = 0
    with connect(server) as connection, contextlib.suppress(ConnectionError):
        connection.sendall(HALF)
        while sent < 64 * 2**20:
            connection.sendall(line * 1000)
            sent += 1000 * len(line)
    assert sent < 64 * 2**20


def test_a_body_without_end_ends_a_connection(server: Server) -> None:
    with connect(server) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
        assert closed_after(connection, b"x") < 20 * SECONDS


def test_what_takes_its_time_is_not_ended(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "WAITING_SECONDS", 5 * SECONDS)  # a busy machine may take some between requests
    asked = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=30)
    for path in ("/slow", "/", "/slow"):
        asked.request("POST", path, b"x" * 300_000)
        assert asked.getresponse().read() == b"x" * 300_000
    asked.close()


def test_a_websocket_may_be_silent_here(server: Server) -> None:
    """Its own time of silence is that of a session."""
    pytest.importorskip("websockets")
    from websockets.sync.client import connect as open_websocket

    with open_websocket(server.url.replace("http", "ws")) as socket_:
        time.sleep(10 * SECONDS)
        socket_.send("hello")
        assert socket_.recv() == "heard"


def test_there_are_not_more_silent_connections_than_that(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "WAITING_SECONDS", 60.0)
    crowd = [connect(server) for _ in range(2 * connections.WAITING)]
    for connection in crowd:
        connection.sendall(HALF)
    for connection in crowd:
        connection.setblocking(False)
    until(lambda: sum(map(is_open, crowd)) <= connections.WAITING // 2)
    left = [connection for connection in crowd if is_open(connection)]
    assert len(left) == connections.WAITING // 2
    assert left == crowd[-len(left) :], "the oldest go first"
    for connection in crowd:
        connection.close()


def is_open(connection: socket.socket) -> bool:
    try:
        return bool(connection.recv(1))
    except BlockingIOError:
        return True
    except OSError:
        return False


# -- the servers of the command line -------------------------------------------------------------------------------


@pytest.fixture(params=["mcp", "openenv", "openenv tools", "view"])
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """A server that may open only so many files, as on most systems."""
    command = ["serve", "RLAnything/AlfWorld-v0", "--port", "0", "--token", TOKEN]
    if request.param == "mcp":
        pytest.importorskip("mcp")
        command += ["--mcp"]
    elif request.param.startswith("openenv"):
        pytest.importorskip("openenv")
        command += ["--tools"] if request.param.endswith("tools") else []
    else:
        folder = tmp_path_factory.mktemp("run")
        (folder / "config.json").write_text("{}")
        (folder / "stages").mkdir()
        command = ["view", str(folder)]
    code = "import sys; from rlanything_agents.tools.cli import app; app(sys.argv[1:])"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES)),
    )
    try:
        line = process.stdout.readline()
        found = re.search(r"http://([\d.]+):(\d+)", line)
        assert found, line + process.stdout.read()
        yield found[1], int(found[2])
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_a_crowd_without_the_token_shuts_nobody_out(address: tuple[str, int]) -> None:
    crowd = []
    try:
        for turn in range(3):
            for _ in range(CROWD):
                connection = socket.create_connection(address, timeout=10)
                crowd.append(connection)
                with contextlib.suppress(OSError):  # it was one too many
                    connection.sendall(HALF)
            begin = time.monotonic()
            asked = http.client.HTTPConnection(*address, timeout=20)
            asked.request("GET", "/mcp", headers={"Authorization": f"Bearer {TOKEN}"})
            assert asked.getresponse().status in (403, 404, 405), turn
            asked.close()
            assert time.monotonic() - begin < 15
    finally:
        for connection in crowd:
            connection.close()
