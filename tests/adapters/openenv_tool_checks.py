"""Tests of OpenEnv's server with typed tools, by OpenEnv's own clients; `test_openenv.py` runs them."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from canary_search import found_in
from canary_tasks import CASES, MARKERS, Case
from openenv.core import GenericEnvClient
from openenv.core.env_server import http_server
from openenv.core.env_server.mcp_types import CallToolAction
from openenv.core.mcp_client import MCPToolClient
from tool_moves import alfworld_move
from worlds import SEEN, in_time

from rlanything_envs import ToolConversation
from rlanything_envs.adapters.openenv import create_server
from rlanything_envs.alfworld.tools import TOOLS
from rlanything_task_pools import get_domain

ALFWORLD = "RLAnything/AlfWorld-v0"
TOKEN = "correct-horse-battery"


def client(server: Any, token: str | None = None) -> Any:
    return MCPToolClient(server.url, headers={} if token is None else {"Authorization": f"Bearer {token}"}).sync()


def test_tools_are_the_declared_ones() -> None:
    with create_server(ALFWORLD, tools=True) as server, client(server) as env:
        listed = [(tool.name, tool.description, tool.input_schema) for tool in env.list_tools()]
    assert listed == [(tool.name, tool.description, tool.parameters) for tool in TOOLS.values()]


@pytest.mark.parametrize("door", ["step", "mcp"])
def test_an_episode_is_won(door: str) -> None:
    task = get_domain("alfworld").generate(3)
    moves = [alfworld_move(command) for command in task.proof]
    with ToolConversation(ALFWORLD) as conversation:
        opening = conversation.start(task).text
        turns = [conversation.call(move.tool, move.arguments) for move in moves]
    with create_server(ALFWORLD, tools=True) as server, client(server) as env:
        first = env.reset(task=json.loads(task.to_json()), episode_id="mine")
        assert (first.observation.text, first.observation.task_id, first.done) == (opening, task.id, False)
        for move, turn in zip(moves, turns, strict=True):
            if door == "step":
                got = env.step(CallToolAction(tool_name=move.tool, arguments=move.arguments))
                seen = got.observation.model_dump()
                assert (got.reward, got.done) == (turn.reward, turn.done)
            else:
                seen = env.call_tool(move.tool, **move.arguments)
            assert (seen["result"], seen["reward"], seen["done"]) == (turn.text, turn.reward, turn.done)
            assert seen["error"] is None
        assert (seen["reward"], seen["done"]) == (1.0, True)
        assert seen["metadata"] == {"task_id": task.id, "terminated": True, "truncated": False, "outcome": 1}
        assert env.state().step_count == len(moves)


def test_malformed_calls_are_typed_errors_that_take_a_turn() -> None:
    with create_server("RLAnything/Coding-v0", tools=True, max_turns=2) as server, client(server) as env:
        env.reset(seed=0)
        unknown = env.step(CallToolAction(tool_name="fly", arguments={})).observation
        assert (unknown.error.error_type, unknown.done) == ("tool_not_found", False)
        assert "call one of run, test" in unknown.error.message
        wrong = env.step(CallToolAction(tool_name="submit", arguments={"code": 3}))
        assert (wrong.observation.error.error_type, wrong.reward, wrong.done) == ("invalid_args", 0.0, True)
        with pytest.raises(RuntimeError, match=r"ResetNeeded|EpisodeOver"):
            env.step(CallToolAction(tool_name="give_up", arguments={}))


def test_a_call_without_an_episode_is_an_error_and_no_reward() -> None:
    with create_server(ALFWORLD, tools=True) as server, client(server) as env:
        with pytest.raises(RuntimeError, match="ResetNeeded"):
            env.call_tool("look")
        assert env.reset(seed=0).done is False
        assert env.call_tool("look")["done"] is False


def test_clients_that_know_no_mcp_send_the_same_actions() -> None:
    with create_server(ALFWORLD, tools=True) as server, GenericEnvClient(server.url).sync() as env:
        assert "Your task is to" in env.reset(seed=0).observation["text"]
        got = env.step({"type": "call_tool", "tool_name": "look", "arguments": {}})
        assert "You are" in got.observation["result"]


def test_sessions_end_with_their_clients() -> None:
    with create_server(ALFWORLD, tools=True, max_sessions=1) as server:
        for _ in range(3):
            with client(server) as env:
                assert env.reset(seed=0).done is False
        with client(server), pytest.raises(RuntimeError, match=r"capacity|session"), client(server):
            pass


def test_a_long_call_over_http_is_no_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go, quick, real, looks, now = Event(), Event(), ToolConversation.call, asyncio.sleep, [], [0.0]

    def slow(*given: Any) -> Any:
        begun.set()
        assert go.wait(30)
        return quick(*given)

    async def sleep(seconds: float) -> None:
        looks.extend([now[0]] * (seconds == 5.0))  # as the one who ends silent sessions waits
        await real(min(seconds, 0.02))

    monkeypatch.setattr(ToolConversation, "call", slow)
    monkeypatch.setattr(http_server, "time", SimpleNamespace(time=lambda: now[0]))
    monkeypatch.setattr(http_server.asyncio, "sleep", sleep)
    with create_server(ALFWORLD, tools=True, idle_seconds=20.0) as server, ThreadPoolExecutor() as pool:

        def ask(method: str, **params: Any) -> Any:
            request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            return httpx.post(f"{server.url}/mcp", json=request, timeout=60).json()

        session = ask("openenv/session/create")["result"]
        call = pool.submit(ask, "tools/call", name="look", arguments={}, **session)
        assert begun.wait(30)
        now[0] += 100.0
        in_time(lambda: looks.count(100.0) > 2)
        go.set()
        assert "ResetNeeded" in str(call.result())
        assert "result" in ask("tools/list", **session)
        now[0] += 100.0
        in_time(lambda: looks.count(200.0) > 2)
        assert "Unknown session_id" in str(ask("tools/list", **session))


def test_the_door_is_guarded() -> None:
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    with create_server(ALFWORLD, tools=True, token=TOKEN, max_message_bytes=1000) as server:
        url, right = f"{server.url}/mcp", {"Authorization": f"Bearer {TOKEN}"}
        assert httpx.post(url, json=ask).status_code == 401
        assert len(httpx.post(url, json=ask, headers=right).json()["result"]["tools"]) == len(TOOLS)
        assert httpx.post(url, content=b"x" * 2000, headers=right).status_code == 413
        assert httpx.get(url, headers=right).status_code == 404
        for rubbish in (b"", b"{", b"[" * 900, b"[1]", b'{"jsonrpc": "2.0", "method": 3}'):
            assert "error" in httpx.post(url, content=rubbish, headers=right).json()
        with client(server, TOKEN) as env:
            assert env.reset(seed=0).done is False


@pytest.mark.parametrize("case", CASES, ids=str)
def test_nothing_secret_of_a_task_is_in_a_message(case: Case) -> None:
    with create_server(case.env_id, tools=True, **case.arguments) as server, client(server) as env:
        seen: list[Any] = [env.list_tools(), env.reset(task=json.loads(case.task.to_json()))]
        for name, arguments in case.calls:
            try:
                seen.append(env.step(CallToolAction(tool_name=name, arguments=arguments)))
            except RuntimeError as error:
                seen.append(error)
                break
    assert len(seen) > 2
    assert found_in(seen, MARKERS) == set()


def test_screens_are_in_the_metadata() -> None:
    with create_server(SEEN.env_id, tools=True, **SEEN.arguments) as server, client(server) as env:
        assert env.reset(seed=0).observation.screen.startswith("data:image/png;base64,")
        seen = env.step(CallToolAction(tool_name="wait", arguments={})).observation
        assert seen.metadata["screen"].startswith("data:image/png;base64,")
