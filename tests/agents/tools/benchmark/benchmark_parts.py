"""What the tests of benchmarks share: a service that plays like an expert, and results without what clocks say."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
from scripted_desktop import KINDS, SCRIPTED

from rlanything_agents.domains.solutions import solution_of
from rlanything_task_pools import Task, TaskPool, get_domain
from rlanything_task_pools.osworld import generate
from rlanything_task_pools.panel import Entry, Panel

__all__ = ["ExpertService", "adapted_pool", "desktop_panel", "expert_service", "timeless"]


def desktop_panel(count: int) -> Panel:
    """Generated tasks of text files, on a stand-in of a desktop."""
    tasks = [generate(seed, "valid_seen", kinds=KINDS) for seed in range(count)]
    return Panel("desktops", "", "osworld", SCRIPTED, tuple(map(Entry, tasks)), count)


def timeless(value: Any) -> Any:
    """The same without the values called ``seconds``."""
    if isinstance(value, Mapping):
        return {key: timeless(item) for key, item in value.items() if key != "seconds"}
    return [timeless(item) for item in value] if isinstance(value, list) else value


class ExpertService(ThreadingHTTPServer):
    """A chat service whose model knows the solution of every task of a panel.

    It recognises a task by its goal, which the first message holds, and says what its answers so far lead on to.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, panel: Panel) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.tasks: list[Task] = [entry.task for entry in panel.entries]
        self.asked: list[dict[str, Any]] = []
        self.failing = 0
        """So many requests to come are refused with status 400."""
        self.lock = threading.Lock()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def reply(self, messages: list[dict[str, str]]) -> str:
        task = max(
            (task for task in self.tasks if task.goal.strip() in messages[0]["content"]),
            key=lambda task: len(task.goal),
        )
        given = [message["content"] for message in messages if message["role"] == "assistant"]
        answer = solution_of(task)(given)
        return answer if answer is not None else "I do not know."


class _Handler(BaseHTTPRequestHandler):
    server: ExpertService

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.asked.append({**body, "authorization": self.headers.get("Authorization")})
            refused = self.server.failing > 0
            self.server.failing -= refused
        text = self.server.reply(body["messages"])
        read = sum(len(message["content"]) for message in body["messages"])
        answer: dict[str, Any] = {
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": read, "completion_tokens": len(text)},
        }
        content = json.dumps({"error": {"message": "no"}} if refused else answer).encode()
        self.send_response(400 if refused else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@contextmanager
def expert_service(panel: Panel) -> Iterator[ExpertService]:
    with ExpertService(panel) as service:
        thread = threading.Thread(target=service.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield service
        service.shutdown()
        thread.join()


def adapted_pool(path: Path, slots: int = 3) -> Path:
    """A pool in which every second task was adapted."""
    domain, rng = get_domain("alfworld"), np.random.default_rng(0)
    with TaskPool.create(path, [domain.generate(seed) for seed in range(slots)]) as pool:
        for slot in range(0, slots, 2):
            root = pool.root(slot)
            found = (
                domain.validate(root, proposal, direction=direction, author="scripted")
                for direction in ("easier", "harder")
                for proposal in domain.propose(root, direction, rng)
            )
            pool.propose(slot, next(task for task in found if isinstance(task, Task)))
            pool.accept(slot, "test")
    return path
