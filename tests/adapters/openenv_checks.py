"""Tests of the OpenEnv server and client; `test_openenv.py` runs them where OpenEnv is installed."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from socket import SHUT_RDWR
from typing import Any

import gymnasium as gym
import httpx
import pytest
from canary_search import found_in
from canary_tasks import CASES, MARKERS, Case
from openenv.core import GenericEnvClient
from openenv.core.env_server import http_server
from typer.testing import CliRunner
from websockets.sync.client import connect
from worlds import COUNTED, FAILING, ONE_QUICKLY, SEEN, WORLDS, Counted, World, in_time

from rlanything_agents.tools.cli import app
from rlanything_envs.adapters.openenv import TextClient, create_server
from rlanything_envs.errors import SettingError
from rlanything_envs.message import Image

TOKEN = "correct-horse-battery"
ALFWORLD = "RLAnything/AlfWorld-v0"


def client(server: Any, token: str | None = None) -> Any:
    return TextClient(server.url, token=token).sync()


@pytest.mark.parametrize("world", ONE_QUICKLY, ids=str)
def test_an_episode_is_won(world: World) -> None:
    task = world.task()
    with create_server(world.env_id, **world.arguments) as server, client(server) as env:
        first = env.reset(task=json.loads(task.to_json()), episode_id="mine")
        assert (first.observation.task_id, first.done) == (task.id, False)
        *before, last = [env.step(answer) for answer in world.answers(task)]
        assert {(result.reward, result.done) for result in before} <= {(0.0, False)}
        assert (last.reward, last.done, last.observation.outcome, last.observation.terminated) == (1.0, True, 1, True)
        state = env.state()
        assert (state.episode_id, state.task_id, state.done) == ("mine", task.id, True)
        assert state.step_count == len(before) + 1
        with pytest.raises(RuntimeError, match=r"ResetNeeded|EpisodeOver"):
            env.step(world.idle)


@pytest.mark.parametrize("world", ONE_QUICKLY, ids=str)
def test_seeds_are_honoured(world: World) -> None:
    with create_server(world.env_id, **world.arguments) as server, client(server) as one, client(server) as other:

        def episode(env: Any, seed: int) -> list[Any]:
            return [env.reset(seed=seed).observation, env.step(world.idle).observation]

        assert episode(one, 3) == episode(other, 3) == episode(one, 3)
        assert episode(one, 4) != episode(one, 3)


def test_a_task_is_known_by_its_id_and_by_no_path() -> None:
    task = WORLDS[0].task()
    with create_server(ALFWORLD, tasks=[task]) as server, client(server) as env:
        assert env.reset(task=task.id).observation.task_id == task.id
        for wrong in ("alfworld-0123456789abcdef", "/etc/passwd", "README.md", ""):
            with pytest.raises(RuntimeError, match="UnknownTask"):
                env.reset(task=wrong)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"seed": "7"}, "seed = '7'"),
        ({"seed": -1}, "seed = -1"),
        ({"tsak": "x"}, "not tsak"),
        ({"task": {"domain": "alfworld"}}, "TaskFormatError: task field goal"),
        ({"task": 3}, "UnknownTask|TaskFormatError"),
    ],
)
def test_wrong_arguments_are_named_and_the_session_lives_on(wrong: dict[str, Any], words: str) -> None:
    with create_server(ALFWORLD) as server, client(server) as env:
        with pytest.raises(RuntimeError, match=words):
            env.reset(**wrong)
        assert env.reset(seed=0).done is False


def test_a_failure_is_an_error_and_no_reward() -> None:
    with create_server(FAILING) as server, client(server) as env:
        env.reset()
        with pytest.raises(RuntimeError, match="InfrastructureError: failing-1: the disk is full"):
            env.step("look")
        assert env.state().done is True
        assert env.reset().observation.text == "hello"


def test_what_nobody_expected_is_not_told_to_clients(caplog: pytest.LogCaptureFixture) -> None:
    class Leaky(gym.Env[str, str]):
        def reset(self, **_: Any) -> tuple[str, dict[str, Any]]:
            raise OSError("/home/alice/secret is gone")

    gym.register("Leaky-v0", entry_point=Leaky, disable_env_checker=True)
    with create_server("Leaky-v0") as server, client(server) as env:
        with pytest.raises(RuntimeError, match="InternalError") as told:
            env.reset()
        assert "secret" not in str(told.value)
        assert "secret" in caplog.text
    del gym.registry["Leaky-v0"]


def test_sessions_are_apart_and_at_the_same_time() -> None:
    tasks = [WORLDS[0].task(seed) for seed in range(4)]

    def won(number: int) -> tuple[str, float]:
        with client(server) as env:
            env.reset(task=json.loads(tasks[number].to_json()))
            together.wait()  # all four sessions are open now
            last = [env.step(answer) for answer in WORLDS[0].answers(tasks[number])][-1]
            return last.observation.task_id, last.reward

    together = threading.Barrier(4, timeout=30)
    with create_server(ALFWORLD, max_sessions=4) as server, ThreadPoolExecutor(4) as pool:
        assert list(pool.map(won, range(4))) == [(task.id, 1.0) for task in tasks]


def test_one_session_too_many() -> None:
    with create_server(ALFWORLD, max_sessions=1) as server:
        with client(server) as env:
            env.reset(seed=0)
            with client(server) as other, pytest.raises(RuntimeError, match="CAPACITY_REACHED"):
                other.reset(seed=0)
            assert env.step("look").done is False
        in_time(lambda: resets(server))


@pytest.fixture
def counted() -> Any:
    yield COUNTED
    assert Counted.open_now == 0


def test_a_dropped_connection_closes_its_environment(counted: str) -> None:
    with create_server(counted, max_sessions=1) as server:
        with connect(server.url.replace("http", "ws") + "/ws") as socket:
            socket.send(json.dumps({"type": "reset", "data": {}}))
            assert json.loads(socket.recv())["type"] == "observation"
            assert Counted.open_now == 1
            socket.socket.shutdown(SHUT_RDWR)  # without a word
        in_time(lambda: Counted.open_now == 0)
        assert resets(server)


def test_a_silent_session_is_ended(counted: str) -> None:
    with create_server(counted, max_sessions=1, idle_seconds=0.3) as server:
        with connect(server.url.replace("http", "ws") + "/ws") as socket:
            socket.send(json.dumps({"type": "reset", "data": {}}))
            socket.recv()
            assert "silent for 0.3 s" in json.loads(socket.recv(timeout=30))["data"]["message"]
        in_time(lambda: Counted.open_now == 0)
        assert resets(server)


@pytest.mark.parametrize("tools", [False, True])
def test_a_long_step_is_no_silence(monkeypatch: pytest.MonkeyPatch, tools: bool) -> None:
    make, periods, real = http_server.SessionInfo, [], asyncio.sleep

    def long_ago(**given: Any) -> Any:
        return make(**{**given, "last_activity_at": given["last_activity_at"] - 100})  # as in a step of 100 s

    async def sleep(seconds: float) -> None:
        periods.append(seconds)
        await real(min(seconds, 0.05))

    monkeypatch.setattr(http_server, "SessionInfo", long_ago)
    monkeypatch.setattr(http_server.asyncio, "sleep", sleep)
    server = create_server(ALFWORLD, tools=tools, idle_seconds=20.0)
    with server, connect(server.url.replace("http", "ws") + "/ws") as socket:
        time.sleep(0.4)
        socket.send(json.dumps({"type": "reset", "data": {"seed": 0}}))
        assert json.loads(socket.recv())["type"] == "observation"
    assert (5.0 in periods) == tools


def test_a_connection_that_asks_for_nothing_makes_no_environment(counted: str) -> None:
    with create_server(counted) as server, connect(server.url.replace("http", "ws") + "/ws") as socket:
        socket.send(json.dumps({"type": "state"}))
        assert json.loads(socket.recv())["data"]["done"] is True
        assert Counted.open_now == 0


def test_a_long_message_ends_the_session(counted: str) -> None:
    with create_server(counted, max_message_bytes=1000) as server, client(server) as env:
        assert env.reset().observation.text == "hello"
        with pytest.raises(Exception, match=r"1009|too big|at most"):
            env.step("x" * 2000)
        in_time(lambda: Counted.open_now == 0)


@pytest.mark.parametrize("rubbish", ["", "{", "[1]", '"reset"', "null", '{"type": "reset", "data": 3}', '{"type": 7}'])
def test_rubbish_is_answered_by_an_error(counted: str, rubbish: str) -> None:
    with create_server(counted) as server, connect(server.url.replace("http", "ws") + "/ws") as socket:
        socket.send(rubbish)
        assert json.loads(socket.recv())["type"] == "error"
    with create_server(counted) as server:
        assert resets(server)


def test_only_those_with_the_token_come_in() -> None:
    with create_server(ALFWORLD, token=TOKEN) as server:
        with client(server, TOKEN) as env:
            assert env.reset(seed=0).done is False
        for wrong in (None, "", TOKEN + "x", TOKEN[:-1], TOKEN.upper()):
            with pytest.raises(ConnectionError, match="403"), client(server, wrong):
                pass
        right = {"Authorization": f"Bearer {TOKEN}"}
        assert httpx.get(f"{server.url}/health").status_code == 200
        assert httpx.get(f"{server.url}/schema").status_code == 401
        assert httpx.get(f"{server.url}/schema", headers=right).json()["action"]["title"] == "TextAction"
        assert httpx.get(f"{server.url}/metadata", headers=right).json()["name"] == ALFWORLD
        stock = GenericEnvClient(server.url, headers=right).sync()
        with stock as env:
            assert env.reset(seed=0).observation["text"]


def test_other_doors_are_shut() -> None:
    with create_server(ALFWORLD) as server:
        assert httpx.post(f"{server.url}/reset", json={}).status_code == 501
        for path in ("/docs", "/openapi.json", "/mcp", "/web", "/list_environments"):
            assert httpx.get(f"{server.url}{path}").status_code == 404
        assert httpx.post(f"{server.url}/mcp", json={"method": "openenv/session/create"}).status_code == 404
        base = server.url.replace("http", "ws")
        for url, headers in ((f"{base}/mcp", {}), (f"{base}/ws", {"Origin": "https://example.com"})):
            with pytest.raises(Exception, match="403"):
                connect(url, additional_headers=headers)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"host": "0.0.0.0"}, "give a token"),
        ({"host": "example.com"}, "give a token"),
        ({"token": "short"}, "at least 16"),
        ({"token": "with a blank in the middle"}, "no blanks"),
        ({"max_sessions": 0}, "max_sessions"),
        ({"idle_seconds": 0}, "idle_seconds"),
        ({"idle_seconds": float("nan")}, "idle_seconds"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        create_server(ALFWORLD, **settings)


def test_a_port_that_is_taken() -> None:
    with create_server(ALFWORLD) as server:
        port = int(server.url.rpartition(":")[2])
        with pytest.raises(SettingError, match=f"port {port}"), create_server(ALFWORLD, port=port):
            pass


def test_an_environment_that_there_is_not() -> None:
    with pytest.raises(SettingError, match="'RLAnything/Nowhere-v0' cannot be made"):
        create_server("RLAnything/Nowhere-v0")
    with pytest.raises(SettingError, match="rooms"):
        create_server(ALFWORLD, rooms=["Kitchen"])


def resets(server: Any) -> bool:
    """Whether a new session can be had."""
    with client(server) as env:
        try:
            return env.reset(seed=0).done is False
        except RuntimeError:
            return False


def test_the_command_serves_until_it_is_told_to_end() -> None:
    command = [
        sys.executable,
        "-m",
        "rlanything_agents",
        "serve",
        ALFWORLD,
        "--port",
        "0",
        "--env",
        "knobs={copies: 3}",
    ]
    env = {**os.environ, "RLANYTHING_TOKEN": TOKEN, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said.endswith(", with a token\n")
        with TextClient(said.split()[2].rstrip(","), token=TOKEN).sync() as client:
            assert client.reset(seed=0).observation.task_id
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["RLAnything/Nowhere-v0"], "cannot be made"),
        ([ALFWORLD, "--host", "0.0.0.0"], "give a token"),
        ([ALFWORLD, "--env", "port=3"], "a setting of the server"),
        ([ALFWORLD, "--env", "knobs"], "expected key=value"),
    ],
)
def test_the_command_names_what_is_wrong(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(app, ["serve", *arguments])
    assert (result.exit_code, words in result.stderr) == (2, True)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_nothing_secret_of_a_task_is_in_a_message(case: Case) -> None:
    with create_server(case.env_id, **case.arguments) as server, client(server) as env:
        seen: list[Any] = []
        for answers in case.episodes:
            seen.append(env.reset(task=json.loads(case.task.to_json())))
            for answer in answers:
                try:
                    seen.append(env.step(answer))
                except RuntimeError as error:
                    seen.append(error)
                    break
                if seen[-1].done:
                    break
            seen.append(env.state())
    assert len(seen) > 10
    assert found_in(seen, MARKERS) == set()


def test_screens_are_pictures_of_an_observation() -> None:
    with create_server(SEEN.env_id, **SEEN.arguments) as server, client(server) as env:
        for result in (env.reset(seed=0), env.step("WAIT")):
            head, _, data = result.observation.screen.partition(",")
            assert head == "data:image/png;base64"
            assert Image(base64.b64decode(data)).size == (640, 480)
            assert "Screen:" in result.observation.text
