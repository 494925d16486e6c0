"""Requests over TCP and Unix sockets: what is repeated, what never is, and what forms look like."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_envs.errors import InfrastructureError, SettingError
from rlanything_envs.osworld.desktop import DesktopError
from rlanything_envs.osworld.desktop.attached import HttpDesktop
from rlanything_envs.osworld.desktop.guest.interior import InteriorError, _received
from rlanything_envs.osworld.desktop.guest.multipart import parse_multipart
from rlanything_envs.osworld.desktop.guest.storage import Refusal
from rlanything_envs.osworld.desktop.transport import Transport, multipart


@contextmanager
def server(failures: int, answer: bytes = b"{}") -> Iterator[tuple[str, list[str]]]:
    """A server that hangs up on the first `failures` requests after having read them."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            seen.append(f"{self.command} {self.path}")
            if len(seen) <= failures:
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http.server_address[1]}", seen
        http.shutdown()
        thread.join()


def test_a_look_is_repeated():
    with server(2, b'{"a": 1}') as (url, seen):
        assert Transport(url).get("/look", {"x": "1 2"}, timeout=5).json() == {"a": 1}
    assert seen == ["GET /look?x=1+2"] * 3


def test_a_look_is_given_up_after_three():
    with server(9) as (url, seen), pytest.raises(DesktopError, match="/look"):
        Transport(url).get("/look", timeout=5)
    assert len(seen) == 3


@pytest.mark.parametrize(
    "send",
    [
        lambda t: t.post("/do", {"command": "x"}, timeout=5),
        lambda t: t.post_form("/do", {"a": "b"}, timeout=5),
        lambda t: t.post_file("/do", {"a": "b"}, "f", b"data", timeout=5),
    ],
)
def test_what_acts_is_sent_once_even_when_no_answer_comes(send):
    with server(1) as (url, seen), pytest.raises(DesktopError):
        send(Transport(url))
    assert seen == ["POST /do"]


def test_nobody_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(DesktopError, match=f"127.0.0.1:{port}") as failure:
        Transport(f"http://127.0.0.1:{port}").post("/x", timeout=1)
    assert isinstance(failure.value, InfrastructureError)


@pytest.mark.filterwarnings("ignore:the guest at:UserWarning")
@pytest.mark.parametrize(("reset", "agent"), [("never", True), (lambda: None, False)])
def test_whose_failure_it_is_that_a_guest_no_longer_answers(reset, agent, monkeypatch):
    """One that nothing resets was broken by the agent, which could else void an episode that it loses."""
    monkeypatch.setattr("rlanything_envs.osworld.desktop.attached._REVERT_SECONDS", 0.0)
    assert HttpDesktop("http://127.0.0.1:1", reset=reset).intact() is agent


@pytest.mark.parametrize("url", ["ftp://host:1", "https://host", "http://", "http://host:port"])
def test_an_address_that_is_none(url):
    with pytest.raises(SettingError, match="HOST:PORT"):
        Transport(url)


@given(
    values=st.dictionaries(st.text("abc_", min_size=1, max_size=5), st.text(max_size=30), max_size=4),
    data=st.binary(max_size=200) | st.just(b"\r\n--\r\n\r\n--x--"),
)
def test_a_form_comes_back_as_it_went(values, data):
    kind, body = multipart(values, "file_data", data)
    parts = parse_multipart(kind, body)
    assert {part.name: part.data.decode() for part in parts if part.filename is None} == values
    assert [part.data for part in parts if part.filename is not None] == [data]


def test_a_form_as_requests_writes_it():
    """Upstream's controller uses `requests`; a file name with a quote and a body with line ends."""
    body = (
        b'--B\r\nContent-Disposition: form-data; name="file_path"\r\n\r\n/tmp/a b\r\n'
        b'--B\r\nContent-Disposition: form-data; name="file_data"; filename="a\\"b.bin"\r\n\r\n1\r\n2\r\n\r\n--B--\r\n'
    )
    path, file = parse_multipart("multipart/form-data; boundary=B", body)
    assert (path.data, path.filename) == (b"/tmp/a b", None)
    assert (file.data, file.filename) == (b"1\r\n2\r\n", 'a"b.bin')


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b""),
        ("multipart/form-data; boundary=B", b"--B\r\nContent-Disposition: form-data\r\n\r\nx\r\n--B--\r\n"),
        ("multipart/form-data; boundary=B", b'--B\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n'),
    ],
)
def test_forms_that_are_none(kind, body):
    with pytest.raises(ValueError, match=r"multipart|name"):
        parse_multipart(kind, body)


@given(
    st.binary(max_size=200) | st.just(b"[" * 5000) | st.sampled_from([b"null", b'{"kind": 3}', b'{"kind": "OSError"}'])
)
def test_any_answer_of_the_inside_is_read_or_refused(message):
    """Who carries a request out is a program of the desktop's user, like those of an agent."""
    read_end, write_end = os.pipe()
    os.write(write_end, message)
    os.close(write_end)
    try:
        assert isinstance(_received(read_end), dict)
    except (InteriorError, Refusal, OSError):
        pass
    finally:
        os.close(read_end)
