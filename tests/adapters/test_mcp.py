"""The MCP server, with the official SDK's client over streamable HTTP and over standard input and output."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import time
from base64 import b64decode
from collections.abc import Awaitable, Callable
from io import BytesIO
from typing import Any

import gymnasium as gym
import httpx2
import pytest
from PIL import Image
from scripted_desktop import SCRIPTED
from tool_moves import Move, alfworld_move
from typer.testing import CliRunner
from worlds import COUNTED, FAILING, Counted, in_time

from rlanything_agents.tools.cli import app
from rlanything_envs import ToolConversation
from rlanything_task_pools import Task, get_domain

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from rlanything_envs.adapters.mcp import META, OVER, create_mcp_server
from rlanything_envs.adapters.serving import Server
from rlanything_envs.errors import SettingError

ALFWORLD = "RLAnything/AlfWorld-v0"
TOKEN = "correct-horse-battery"


def with_client(
    server: Any, use: Callable[[Client], Awaitable[Any]], token: str | None = None, mode: Any = "auto"
) -> Any:
    """What a client of the SDK gets of a server: an address, or a command to start."""

    async def connected() -> Any:
        if isinstance(server, StdioServerParameters):
            async with Client(stdio_client(server), mode=mode) as client:
                return await use(client)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            transport = streamable_http_client(f"{server.url}/mcp", http_client=http)
            async with Client(transport, mode=mode) as client:
                return await use(client)

    return asyncio.run(connected())


def text_of(result: Any) -> str:
    (text,) = [block.text for block in result.content if block.type == "text"]
    return str(text)


def played(task: Task, moves: list[Move]) -> Callable[[Client], Awaitable[list[Any]]]:
    async def play(client: Client) -> list[Any]:
        results = [await client.call_tool("reset", {"task": json.loads(task.to_json())})]
        return [*results, *[await client.call_tool(move.tool, move.arguments) for move in moves]]

    return play


def check_episode(results: list[Any], task: Task, moves: list[Move]) -> None:
    """The results are those of the environment itself."""
    with ToolConversation(ALFWORLD) as conversation:
        turns = [conversation.start(task), *(conversation.call(move.tool, move.arguments) for move in moves)]
    for result, turn in zip(results, turns, strict=True):
        assert text_of(result) == (f"{turn.text}\n\n{OVER}" if turn.done else turn.text)
        seen = result.meta[META]
        assert (seen["reward"], seen["done"], seen["task_id"]) == (turn.reward, turn.done, task.id)
        assert (seen["terminated"], seen["truncated"], result.is_error) == (turn.terminated, turn.truncated, False)
    assert (results[-1].meta[META]["outcome"], results[-1].meta[META]["reward"]) == (1, 1.0)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_episode_over_http(mode: str) -> None:
    task = get_domain("alfworld").generate(1)
    moves = [alfworld_move(command) for command in task.proof]
    with create_mcp_server(ALFWORLD) as server:
        check_episode(with_client(server, played(task, moves), mode=mode), task, moves)


def test_an_episode_over_pipes() -> None:
    task = get_domain("alfworld").generate(2)
    moves = [alfworld_move(command) for command in task.proof]
    command = [*("-m", "rlanything_agents", "serve", ALFWORLD, "--mcp", "--stdio"), "--env", "max_episode_steps=60"]
    started = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
    check_episode(with_client(started, played(task, moves)), task, moves)


def test_tools_are_the_declared_ones() -> None:
    async def listed(client: Client) -> Any:
        return await client.list_tools()

    with create_mcp_server("RLAnything/OSWorld-v0", **SCRIPTED) as server:
        first, *others = with_client(server, listed).tools
    with ToolConversation("RLAnything/OSWorld-v0", **SCRIPTED) as conversation:
        declared = [(tool.name, tool.description, tool.parameters) for tool in conversation.tools.values()]
    assert first.name == "reset"
    assert [(tool.name, tool.description, tool.input_schema) for tool in others] == declared


def test_screens_are_images() -> None:
    async def look(client: Client) -> list[Any]:
        return [await client.call_tool("reset", {"seed": 0}), await client.call_tool("press", {"key": "down"})]

    arguments: dict[str, Any] = {**SCRIPTED, "observation": ["screenshot", "text"], "screen": (640, 480)}
    with create_mcp_server("RLAnything/OSWorld-v0", **arguments) as server:
        for result in with_client(server, look):
            (image,) = [block for block in result.content if block.type == "image"]
            assert Image.open(BytesIO(b64decode(image.data))).size == (640, 480)
            assert "Turns left" in text_of(result)


def test_malformed_calls_are_errors_that_take_a_turn() -> None:
    async def play(client: Client) -> list[Any]:
        await client.call_tool("reset", {"seed": 0})
        calls: list[tuple[str, dict[str, Any]]] = [("fly", {}), ("run", {}), ("submit", {"code": 3})]
        return [await client.call_tool(*call) for call in calls]

    with create_mcp_server("RLAnything/Coding-v0", max_turns=3) as server:
        results = with_client(server, play)
    assert [result.is_error for result in results] == [True] * 3
    assert [result.meta[META]["done"] for result in results] == [False, False, True]
    assert "no tool 'fly'; call one of run, test" in text_of(results[0])
    assert text_of(results[1]).endswith("Turns left: 1.")
    assert text_of(results[2]).endswith(OVER)


def test_wrong_requests_are_named_and_the_session_lives_on() -> None:
    async def play(client: Client) -> list[str]:
        said = [text_of(await client.call_tool("look", {}))]
        wrong: list[Any] = [{"seed": "7"}, {"seed": -1}, {"task": "/etc/passwd"}, {"task": {"domain": "x"}}, {"a": 1}]
        said += [text_of(await client.call_tool("reset", arguments)) for arguments in wrong]
        return [*said, text_of(await client.call_tool("reset", {"seed": 0}))]

    with create_mcp_server(ALFWORLD) as server:
        said = with_client(server, play)
    for text, words in zip(
        said,
        (
            *("ResetNeeded", "'seed'", "seed = -1", "UnknownTask", "TaskFormatError", "no parameter 'a'"),
            "Your task is to",
        ),
        strict=True,
    ):
        assert words in text


def test_a_failure_has_no_reward(caplog: pytest.LogCaptureFixture) -> None:
    async def play(client: Client) -> Any:
        await client.call_tool("reset", {})
        return await client.call_tool("act", {"action": "look"})

    with create_mcp_server(FAILING) as server:
        result = with_client(server, play)
    assert (result.is_error, result.meta) == (True, None)
    assert "InfrastructureError: failing-1: the disk is full" in text_of(result)


def test_what_nobody_expected_is_not_told_to_clients(caplog: pytest.LogCaptureFixture) -> None:
    class Leaky(gym.Env[str, str]):
        def reset(self, **_: Any) -> tuple[str, dict[str, Any]]:
            raise OSError("/home/alice/secret is gone")

    async def play(client: Client) -> Any:
        return await client.call_tool("reset", {})

    gym.register("LeakyMcp-v0", entry_point=Leaky, disable_env_checker=True)
    try:
        with caplog.at_level(logging.ERROR), create_mcp_server("LeakyMcp-v0") as server:
            result = with_client(server, play)
    finally:
        del gym.registry["LeakyMcp-v0"]
    assert result.is_error
    assert "secret" not in text_of(result)
    assert "secret" in caplog.text


@pytest.fixture
def counted() -> Any:
    yield COUNTED
    assert Counted.open_now == 0


def test_sessions_have_environments_of_their_own(counted: str) -> None:
    async def play(server: Server) -> None:
        async with Client(f"{server.url}/mcp") as one, Client(f"{server.url}/mcp") as other:
            await one.list_tools()
            assert Counted.open_now == 0  # a connection alone costs nothing
            await one.call_tool("reset", {})
            await other.call_tool("reset", {})
            assert Counted.open_now == 2
            async with Client(f"{server.url}/mcp") as third:
                result = await third.call_tool("reset", {})
                assert (result.is_error, "2 sessions already" in text_of(result)) == (True, True)
        async with Client(f"{server.url}/mcp") as next_one:  # there is room again
            assert not (await next_one.call_tool("reset", {})).is_error

    with create_mcp_server(counted, max_sessions=2) as server:
        asyncio.run(play(server))
        in_time(lambda: Counted.open_now == 0)


def test_a_silent_session_is_ended(counted: str) -> None:
    async def play(client: Client) -> None:
        await client.call_tool("reset", {})
        assert Counted.open_now == 1
        end = time.monotonic() + 30
        while Counted.open_now:
            assert time.monotonic() < end
            await asyncio.sleep(0.05)

    with create_mcp_server(counted, idle_seconds=0.4) as server:
        with_client(server, play)


def test_only_those_with_the_token_come_in() -> None:
    async def reset(client: Client) -> Any:
        return await client.call_tool("reset", {"seed": 0})

    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    with create_mcp_server(ALFWORLD, token=TOKEN) as server:
        assert not with_client(server, reset, TOKEN).is_error
        for wrong in ({}, {"Authorization": f"Bearer {TOKEN}x"}):
            assert httpx2.post(f"{server.url}/mcp", json=body, headers=wrong).status_code == 401
    with create_mcp_server(ALFWORLD, max_message_bytes=2000) as server:
        url, accept = f"{server.url}/mcp", {"Accept": "application/json, text/event-stream"}
        assert httpx2.post(url, json=body, headers={"Origin": "http://localhost"}).status_code == 403
        assert httpx2.get(url, headers=accept).status_code == 405
        assert httpx2.post(url, content=b"x" * 3000, headers=accept).status_code == 413
        assert httpx2.post(url, json=body, headers={**accept, "MCP-Protocol-Version": "2026-07-28"}).status_code == 400
        assert httpx2.get(f"{server.url}/docs").status_code in (404, 405)


@pytest.mark.parametrize("settings", [{"host": "0.0.0.0"}, {"token": "short"}, {"max_sessions": 0}, {"rooms": 3}])
def test_settings_that_cannot_be(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        create_mcp_server(ALFWORLD, **settings)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["RLAnything/Nowhere-v0", "--mcp"], "cannot be made"),
        ([ALFWORLD, "--stdio"], "--stdio goes with --mcp"),
        ([ALFWORLD, "--mcp", "--tools"], "--tools without it"),
        (["RLAnything/OSWorld-v0", "--mcp", "--env", "action_space=pyautogui"], "action_space='computer_13'"),
    ],
)
def test_the_command_names_what_is_wrong(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(app, ["serve", *arguments])
    assert (result.exit_code, words in result.stderr) == (2, True)
