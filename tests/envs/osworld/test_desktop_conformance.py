"""The conformance suite passes on our guest through every door, and finds what other servers do wrong."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from rlanything_envs.errors import SettingError
from rlanything_envs.osworld.desktop import DesktopError, make_desktop
from rlanything_envs.osworld.desktop.conformance import check_guest, differences
from rlanything_envs.osworld.desktop.serve import Relay
from rlanything_envs.osworld.desktop.transport import Response


def failures(url: str, token: str | None = None) -> dict[str, str | None]:
    return {check.name: check.problem for check in check_guest(url, token) if not check.passed}


def test_our_guest_speaks_the_protocol(desktop):
    with Relay(desktop.client) as relay:
        assert relay.url.startswith("http://127.0.0.1:")
        assert failures(relay.url, relay.token) == {}


def test_every_door_is_closed_to_strangers(desktop):
    with Relay(desktop.client) as relay:
        found = failures(relay.url, "wrong")
        assert len(found) > 20
        assert all("401" in str(problem) for problem in found.values())


@contextmanager
def changed(desktop, change) -> Iterator[str]:
    """The real guest behind a server that changes some answers; it wants no token, as upstream's does not."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            kind = {"Content-Type": self.headers.get("Content-Type", "application/json")}
            transport = desktop.client.transport
            answer = change(self.path, lambda: transport.once(self.command, self.path, body or None, kind, 60))
            self.send_response(answer.status)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_address[1]}"
        http.shutdown()


NOT_FOUND = Response(404, b"Not Found")


def test_what_is_wrong_with_a_server_is_found(desktop):
    """Two defects known of real servers: no `python` (an action fails) and a broken `/run_bash_script`."""

    def defects(path, ask):
        if path == "/run_bash_script":
            return Response(500, b"<html>NameError</html>")
        if path == "/cursor_position":
            return Response(200, b'["1", 2]')
        if path == "/screen_size":
            return Response(200, b'{"width": true}')
        return ask()

    with changed(desktop, defects) as url:
        checks = {check.name: check for check in check_guest(url)}
    wrong = {name for name, check in checks.items() if not check.passed}
    assert wrong == {"pointer", "screen size", "the action moved the pointer", "Bash script"}
    assert checks["Bash script"].optional
    assert checks["screen size"].problem == ("the answer['width'] is True, not int; the answer has no 'height'")


def test_a_guest_without_our_additions(desktop):
    """What a virtual machine's server lacks: the client does without, and an agent sees no difference."""

    def foreign(path, ask):
        return NOT_FOUND if path.startswith(("/healthz", "/batch", "/reset", "/screenshot?")) else ask()

    own = desktop.client
    with changed(desktop, foreign) as url, make_desktop("http", url=url) as other:
        client = other.client
        health = client.health()
        assert (health.server, health.own) == ("unknown", False)
        client.act("pyautogui.moveTo(30, 40)")
        assert client.cursor_position() == (30, 40)
        seen = client.observe(accessibility=True, terminal=True)
        assert (seen.screenshot == own.screenshot_array()).all()
        assert seen.accessibility_tree == own.accessibility_tree()
        assert seen.terminal is None
        assert client.execute(["echo", "1"], timeout=30).output == "1\n"
        with pytest.raises(SettingError, match="cannot reset itself"):
            other.reset()


def test_attached_to_our_own_guest(desktop):
    with Relay(desktop.client) as relay, make_desktop("http", url=relay.url, token=relay.token) as other:
        other.client.upload("/tmp/x", b"1")
        seen = other.client.observe(accessibility=True)
        assert np.array_equal(seen.screenshot, desktop.client.screenshot_array())
        assert seen.accessibility_tree.startswith("<desktop-frame")
        other.reset()
        assert other.client.read_file("/tmp/x") is None
    assert desktop.client.health().own  # leaving does not end it


def test_nobody_to_attach_to():
    with pytest.raises(DesktopError), make_desktop("http", url="http://127.0.0.1:1"):
        pass


@pytest.mark.parametrize(
    ("path", "method", "body", "status", "said"),
    [
        ("/nothing", "GET", None, 404, "no such endpoint"),
        ("/screenshot", "POST", b"{}", 405, "wrong method"),
        ("/execute", "POST", b"[1]", 400, "JSON object"),
        ("/execute", "POST", b"{", 400, "cannot read the body"),
        ("/execute", "POST", b"[" * 100_000, 400, "cannot read the body"),
        ("/execute", "POST", b"{}", 400, "'command'"),
        ("/execute", "POST", b'{"command": [1]}', 400, "list of texts"),
        ("/execute", "POST", b'{"command": "echo", "timeout": 1e9}', 400, "timeout"),
        ("/execute", "POST", b'{"command": "echo \'"}', 500, "quotation"),
        ("/file", "POST", b"{}", 400, "'file_path'"),
        ("/setup/upload", "POST", b"{}", 400, "'file_path'"),
        ("/setup/download_file", "POST", b'{"url": "file:///etc/passwd", "path": "/tmp/x"}', 400, "http"),
        ("/list_directory", "POST", b'{"path": "/no"}', 400, "no such directory"),
        ("/execute", "POST", b'{"command": "a\\u0000b"}', 500, "null byte"),
    ],
)
def test_requests_that_make_no_sense(bwrap_desktop, path, method, body, status, said):
    answer = bwrap_desktop.client.transport.once(method, path, body, {"Content-Type": "application/json"}, 20)
    assert (answer.status, said in answer.reason) == (status, True), answer


@pytest.mark.parametrize(
    ("expected", "value", "types", "found"),
    [
        ({"a": "int"}, {"a": 1, "b": 2}, True, []),
        ({"a": "int"}, {"a": True}, True, ["the answer['a'] is True, not int"]),
        ({"a": "str?"}, {"a": None}, True, []),
        ({"a": "str"}, {"a": None}, True, ["the answer['a'] is None, not str"]),
        ({"a": "str"}, [], True, ["the answer is [], not an object"]),
        (["number", "number"], [1, 2.5], True, []),
        (["number", "number"], [1], True, ["the answer is [1], not a list of 2"]),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, False, ["the answer['a'][0]['b'] is 2, not 1"]),
        (None, "whatever", False, []),
        ({"a": "any"}, {"a": False}, True, []),
    ],
)
def test_differences(expected, value, types, found):
    assert list(differences(expected, value, types=types)) == found
