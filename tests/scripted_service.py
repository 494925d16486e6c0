"""A service over real HTTP that behaves, or misbehaves, as a test tells it to."""

from __future__ import annotations

import json
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rlanything_envs.llm import Endpoint, Retries

KEY = "Plain0123456789abcdefXYZ"  # of no known pattern: it must be found by its own letters
PATIENT = Retries(attempts=4, total_s=20, first_wait_s=0.01, longest_wait_s=0.05)


@dataclass
class Asked:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float = field(default_factory=time.monotonic)


Behaviour = Callable[["Handler", Asked], None]


class Service(ThreadingHTTPServer):
    """Plays `script`, one entry per request, then `default`."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: deque[Behaviour] = deque()
        self.default: Behaviour = echo
        self.asked: list[Asked] = []
        self.stopping = threading.Event()
        self.lock = threading.Lock()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def endpoint(self, **changes: Any) -> Endpoint:
        return Endpoint(**{"model": "tiny", "base_url": self.base_url, "read_timeout_s": 5.0, **changes})

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients of these tests hang up in the middle: no news."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Service

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked = Asked(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        with self.server.lock:
            self.server.asked.append(asked)
            behaviour = self.server.script.popleft() if self.server.script else self.server.default
        behaviour(self, asked)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def reply(self, body: bytes | dict[str, Any], status: int = 200, **headers: str) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(raw)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(raw)


def answer(*texts: str, finish_reason: str = "stop", usage: tuple[int, int] | None = (7, 3)) -> dict[str, Any]:
    choices = [
        {"index": at, "message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}
        for at, text in enumerate(texts)
    ]
    counts = {} if usage is None else {"usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}}
    return {"id": "x", "object": "chat.completion", "model": "tiny", "choices": choices, **counts}


def say(*texts: str, **how: Any) -> Behaviour:
    return lambda handler, asked: handler.reply(answer(*texts, **how))


def status(code: int, message: str = "no", **headers: str) -> Behaviour:
    return lambda handler, asked: handler.reply({"error": {"message": message}}, code, **headers)


def raw(body: bytes) -> Behaviour:
    return lambda handler, asked: handler.reply(body)


def echo(handler: Handler, asked: Asked) -> None:
    """The prompt and the seed, after a wait that shuffles the order of the answers."""
    answered = f"{asked.body['messages'][-1]['content']}/{asked.body.get('seed')}"
    time.sleep(zlib.crc32(answered.encode()) % 20 / 1000)
    handler.reply(answer(answered))


def hang(handler: Handler, asked: Asked) -> None:
    handler.server.stopping.wait(30)
    handler.close_connection = True


def chat(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def close_at_once_after_reading(handler: Handler, asked: Asked) -> None:
    """Take the request and hang up: whether it was counted is unknown."""
    handler.close_connection = True


@contextmanager
def served() -> Iterator[Service]:
    """A service that answers, until the block ends."""
    service = Service()
    thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield service
    service.stopping.set()
    service.shutdown()
    service.server_close()
    thread.join()
