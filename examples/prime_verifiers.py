"""Prime Intellect's verifiers plays an adapted pool: AlfWorld tasks, answered by a player that knows their proofs.

    pip install "verifiers>=0.4"
    python examples/prime_verifiers.py

The player sits behind a small HTTP server with the interface of OpenAI, as a model of yours would (``vllm serve``,
``transformers serve``). This module is also the environment that verifiers finds by its name: see `__all__`.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import verifiers.v1 as vf

from rlanything_envs import Conversation
from rlanything_envs.adapters.verifiers import ChatHarness, TextEnv, TextTaskset
from rlanything_task_pools import TaskPool, get_domain

__all__ = ["ChatHarness", "TextEnv", "TextTaskset"]

Player = Callable[[list[dict[str, Any]]], str]
"""What is answered to a conversation."""


@contextmanager
def served(player: Player) -> Iterator[str]:
    """A player as a chat service on this machine; gives its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            message = {"role": "assistant", "content": player(asked["messages"])}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            answer = {"id": "1", "object": "chat.completion", "created": 0, "model": asked["model"]}
            body = json.dumps({**answer, "choices": [choice], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def play(player: Player, /, **settings: Any) -> list[Any]:
    """All tasks of a taskset, an episode each.

    Args:
        player: Who answers.
        settings: Of `TextEnvConfig`: ``taskset`` says what is played, ``player`` is verifiers' ``AgentConfig``.
    """

    async def episodes(url: str) -> list[Any]:
        env = vf.load_environment(vf.resolve_env_config(settings))
        client = vf.EvalClientConfig(base_url=url, api_key_var="NO_KEY")
        context = vf.ModelContext(model="player", client=client, sampling=vf.SamplingConfig())
        async with env.serving():
            return await asyncio.gather(*(env.run_slot(env.slots(task)[0], context) for task in env.taskset))

    with served(player) as url:
        return asyncio.run(episodes(url))


def main() -> None:
    """Make a pool, play it, and print what came of it."""
    tasks = [get_domain("alfworld").generate(seed) for seed in range(4)]
    with Conversation("RLAnything/AlfWorld-v0") as conversation:
        known = {conversation.start(task).text: task.proof for task in tasks}

    def player(messages: list[dict[str, Any]]) -> str:
        opening = next(message["content"] for message in messages if message["role"] == "user")
        turn = sum(message["role"] == "assistant" for message in messages)
        return f"I know the way.\nAction: {known[opening][turn]}"

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pool.sqlite"
        TaskPool.create(path, tasks).close()
        for episode in play(player, taskset={"id": "prime_verifiers", "pool": str(path)}):
            (trace,) = episode.traces
            print(f"{trace.info['task_id']}: score {trace.reward:.0f} after {trace.num_turns} answers, ok {episode.ok}")


if __name__ == "__main__":
    main()
