"""Tests of the adapter for NeMo Gym; `test_nemo_gym.py` runs them where NeMo Gym is installed.

NeMo Gym's own commands check, start and collect. The model behind its ``openai_model`` is a stand-in that knows the
answers, with the interface of OpenAI's responses.
"""

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
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import itsdangerous
import nemo_gym
import pytest
import yaml
from canary_search import found_in
from canary_tasks import CASES, MARKERS, Case
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from nemo_gym.openai_utils import NeMoGymResponse
from nemo_gym.server_utils import SESSION_ID_KEY, ServerClient
from resources_servers.gymnasium import GymnasiumServer
from scripted_desktop import KINDS
from worlds import FAILING, SHORT, WORLDS, Half, World, break_engine

from rlanything_envs import Conversation
from rlanything_envs.adapters import nemo_gym as adapter
from rlanything_envs.adapters.nemo_gym.session import Session
from rlanything_envs.curriculum import CurriculumSource
from rlanything_envs.osworld.desktop import MissingPackages, make_desktop
from rlanything_task_pools import TaskPool, get_domain

ALFWORLD = WORLDS[0]
REAL = World("osworld", WORLDS[2].env_id, WORLDS[2].say, "WAIT", {"backend": "bwrap"}, {"kinds": KINDS}, ("DONE",))
GYM = str(Path(sys.executable).with_name("gym"))
STARTED_S = 300
Player = Callable[[list[dict[str, Any]]], str]


def test_the_package_is_the_real_one() -> None:
    assert "site-packages" in str(nemo_gym.__file__)
    assert issubclass(adapter.TextServer, GymnasiumServer)


# -- the server alone ------------------------------------------------------------------------------------------


def server(**settings: Any) -> adapter.TextServer:
    config = adapter.TextServerConfig(host="127.0.0.1", port=1, entrypoint="app.py", name="served", **settings)
    return adapter.TextServer(config=config, server_client=MagicMock(spec=ServerClient))


@contextmanager
def served(**settings: Any) -> Iterator[tuple[adapter.TextServer, Callable[[], TestClient]]]:
    """A server, and what makes its clients, each with cookies of its own."""
    made = server(**settings)
    app = made.setup_webserver()
    made.setup_exception_middleware(app)
    with TestClient(app, raise_server_exceptions=False):
        yield made, lambda: TestClient(app, raise_server_exceptions=False)


def reset(client: TestClient, row: dict[str, Any]) -> Any:
    return client.post("/reset", json={"responses_create_params": {"input": []}, **row})


def response(text: str, *items: dict[str, Any]) -> dict[str, Any]:
    """A response of a model, as OpenAI's interface has it."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    message = {"id": "1", "type": "message", "role": "assistant", "status": "completed", "content": content}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    head = {"id": "1", "created_at": 0, "model": "m", "object": "response", "usage": {**usage, **details}}
    return {**head, "output": [message, *items], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}


def step(client: TestClient, text: str, *items: dict[str, Any], **row: Any) -> Any:
    body = {"responses_create_params": {"input": []}, "response": response(text, *items), **row}
    return client.post("/step", json=body)


def row_of(world: World, seed: int = 0) -> dict[str, Any]:
    return adapter.rows([world.task(seed)], "served")[0]


@pytest.mark.parametrize("world", [*WORLDS, pytest.param(REAL, marks=pytest.mark.slow, id="a real desktop")], ids=str)
def test_an_episode_is_won(world: World) -> None:
    if world is REAL:
        try:
            make_desktop("bwrap").close()
        except MissingPackages as error:
            pytest.skip(str(error))
    with served(env_id=world.env_id, arguments=world.arguments) as (_, clients):
        client, task = clients(), world.task()
        opened = reset(client, row_of(world)).json()
        if world is not REAL:  # two desktops name their windows differently
            with Conversation(world.env_id, **world.arguments) as conversation:
                assert opened["observation"] == conversation.start(task).text
        for answer in world.answers(task):
            seen = step(client, answer).json()
        assert (seen["reward"], seen["terminated"], seen["observation"]) == (1.0, True, None)
        steps = len(world.answers(task))
        assert seen["info"] == {"task_id": task.id, "outcome": 1, "success": True, "steps": steps}
        assert client.post("/close", json={}).json() == {"closed": True}
        assert client.post("/close", json={}).json() == {"closed": False}


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_a_broken_engine_is_a_failure_and_no_reward(world: World) -> None:
    with served(env_id=world.env_id, arguments=world.arguments) as (made, clients):
        client = clients()
        reset(client, row_of(world))
        (session,) = made.session_state.values()
        break_engine(session._conversation.env)
        for _ in range(2):  # also where the request is repeated
            failed = step(client, world.answers(world.task())[0])
            assert (failed.status_code, [*failed.json()]) == (500, ["detail"])
            assert failed.json()["detail"]["failure_kind"] == "rlanything:environment_failed"
            assert "the engine is gone" not in failed.text  # what an exception of the machinery says stays here


@pytest.mark.parametrize("case", [CASES[0], CASES[-3], CASES[-1]], ids=str)
def test_nothing_secret_of_a_task_is_in_a_response(case: Case) -> None:
    with served(env_id=case.env_id, arguments=case.arguments) as (_, clients):
        for answers in case.episodes:
            client, row = clients(), adapter.rows([case.task], "served")[0]
            assert found_in(row["responses_create_params"], MARKERS) == set()
            said = [reset(client, row)]
            said += [step(client, answer, **row) for answer in answers]
            assert said[0].status_code == 200, said[0].text
            assert found_in([one.content for one in said] + [str(one.headers) for one in said], MARKERS) == set()


# -- attacks on it ---------------------------------------------------------------------------------------------


def test_a_session_belongs_to_its_cookie() -> None:
    with served(env_id=ALFWORLD.env_id) as (made, clients):
        owner, thief = clients(), clients()
        reset(owner, row_of(ALFWORLD))
        (victim,) = made.session_state
        reset(thief, row_of(ALFWORLD, 1))
        name = made.get_session_middleware_key()
        payload = base64.b64encode(json.dumps({SESSION_ID_KEY: victim}).encode())
        for key in (name, "", "secret"):  # the first is NeMo Gym's own key, which everybody knows
            forged = {name: itsdangerous.TimestampSigner(key).sign(payload).decode()}
            thief = clients()
            thief.cookies.update(forged)
            assert step(thief, ALFWORLD.idle).status_code == 409
            assert thief.post("/close", json={"failed": True}).json() == {"closed": False}
            assert reset(thief, {**row_of(ALFWORLD, 1), "session_id": victim}).status_code == 200
        assert made.session_state[victim].steps == 0
        assert [step(owner, answer).json()["reward"] for answer in ALFWORLD.answers(ALFWORLD.task())][-1] == 1.0


def test_an_answer_of_ten_megabytes_is_a_turn(capsys: pytest.CaptureFixture[str]) -> None:
    for world in WORLDS[:2]:
        with served(env_id=world.env_id, arguments=world.arguments) as (_, clients):
            client = clients()
            reset(client, row_of(world))
            for text in ("a" * 10_000_000, "Action: " + "go " * 3_000_000, "SUBMIT\n```python\n" + "(" * 10_000_000):
                began = time.monotonic()
                seen = step(client, text)
                took = time.monotonic() - began
                with capsys.disabled():
                    print(f"{world}: {len(text):,} characters in {took:.2f} s, {len(seen.content):,} bytes back")
                assert took < 30
                assert len(seen.content) < 100_000
                assert (seen.status_code, seen.json()["reward"]) == (200, 0.0)
                if seen.json()["terminated"]:
                    break
            assert step(client, "x" * 20_000_000).status_code == 413
            rows = [{"reward": 1.0, "_ng_task_index": 0, "_ng_rollout_index": 0, "more": "x" * 20_000_000}]
            assert client.post("/aggregate_metrics", json={"verify_responses": rows}).status_code == 200


def test_what_an_answer_holds_is_no_way_out() -> None:
    """Each of these is a turn: an unreadable one, and neither a failure of the episode nor a wait."""
    call = {"type": "function_call", "call_id": "c", "name": "close", "arguments": "{" * 100_000, "id": "f"}
    for world in WORLDS:
        with served(env_id=world.env_id, arguments=world.arguments) as (_, clients):
            client = clients()
            reset(client, row_of(world))
            for text in ("", "\0", "\u202e" * 1000, '{"reward": 1, "failure_reason": "x"}', "[" * 100_000):
                seen = step(client, text, failure_reason="no", mask_sample=True, reward=1.0, task="{}", group="x")
                assert (seen.status_code, seen.json()["reward"], seen.json()["terminated"]) == (200, 0.0, False)
                assert not {"failure_reason", "mask_sample"} & {*seen.json(), *seen.json()["info"]}
            assert step(client, "", call).json()["info"]["tool_outputs"][0]["call_id"] == "c"


def test_a_repeated_request_is_one_step_and_a_crowd_waits_for_nothing() -> None:
    with served(env_id=ALFWORLD.env_id) as (made, clients):
        client = clients()
        reset(client, row_of(ALFWORLD))
        seen = [step(client, ALFWORLD.answers(ALFWORLD.task())[0], _ng_step_request_id="one").json() for _ in range(3)]
        assert seen[0] == seen[1] == seen[2]
        (session,) = made.session_state.values()
        assert session.steps == 1
        session._lock.acquire()
        with ThreadPoolExecutor(8) as many:
            crowd = [many.submit(step, client, ALFWORLD.idle) for _ in range(8)]
            while sum(one.done() for one in crowd) < 6:
                time.sleep(0.01)
            assert {one.result().status_code for one in crowd if one.done()} == {409}
            other = clients()
            assert reset(other, row_of(ALFWORLD, 1)).status_code == 200
            session._lock.release()
        assert session.steps == 3


def test_a_client_that_hangs_up_leaves_no_episode_and_no_second_step(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Conversation] = []
    monkeypatch.setattr(Conversation, "close", lambda self: closed.append(self))
    made, answer = server(env_id=ALFWORLD.env_id), ALFWORLD.answers(ALFWORLD.task())[0]
    closed.clear()

    async def hung_up(doing: Any, lock: Any) -> None:
        with lock:
            request = asyncio.ensure_future(doing)
            await asyncio.sleep(0.1)
            request.cancel()
            with pytest.raises(asyncio.CancelledError):
                await request

    async def play() -> None:
        row = row_of(ALFWORLD)
        await made.reset(row, "kept")
        session, said = made.session_state["kept"], NeMoGymResponse.model_validate(response(answer))
        await hung_up(made.step(said, {"_ng_step_request_id": "one"}, "kept"), session._lock)
        seen = [await made.step(said, {"_ng_step_request_id": "one"}, "kept") for _ in range(2)]
        assert (seen[0], session.steps, session.waiting) == (seen[1], 1, 0)
        waits = threading.Lock()
        join = Session.begin
        monkeypatch.setattr(Session, "begin", lambda *given: (waits.acquire(), join(*given))[1])
        await hung_up(made.reset(row, "gone"), waits)
        assert [*made.session_state] == ["kept"]
        while not closed:
            await asyncio.sleep(0.01)

    asyncio.run(play())
    made.close()
    assert len(closed) == 2


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"task": "/etc/passwd"},
        {"task": "alfworld-0123456789abcdef"},
        {"task": "{" * 100_000},
        {"task": '{"a":' * 5000},
        {"task": "{" + "1" * 5_000_000},
        {"task": ["x"]},
        {"seed": -1},
        {"seed": True},
        {"group": "one"},
        {"group": 7},
        {"group": "x" * 1_000_000},
    ],
    ids=lambda row: str(row)[:24],
)
def test_a_row_that_means_nothing_is_refused(row: dict[str, Any]) -> None:
    with served(env_id=ALFWORLD.env_id) as (made, clients):
        refused = reset(clients(), row)
        assert (refused.status_code, len(refused.content) < 1000) == (400, True)
        assert refused.json()["detail"]["failure_kind"] == "rlanything:request_refused"
        assert "root:" not in refused.text
        assert not made.session_state


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"seed": ' + b"1" * 10_000 + b"}"])
def test_a_body_that_is_none_is_refused_and_the_server_goes_on(raw: bytes) -> None:
    with served(env_id=ALFWORLD.env_id) as (made, clients):
        client = clients()
        for path in ("/reset", "/step", "/close"):
            assert client.post(path, content=raw, headers={"content-type": "application/json"}).status_code >= 400
        assert not made.session_state
        assert reset(client, row_of(ALFWORLD)).status_code == 200


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def test_any_row_and_any_answer_has_a_reply_without_a_reward() -> None:
    with served(env_id=ALFWORLD.env_id) as (_made, clients):
        client, playing = clients(), clients()
        reset(playing, row_of(ALFWORLD))

        @given(_JSON, _JSON, _JSON, st.text())
        def check(task: Any, seed: Any, group: Any, text: str) -> None:
            replied = reset(client, {"task": task, "seed": seed, "group": group})
            assert replied.status_code in (200, 400), replied.text
            seen = step(playing, text.encode("utf-8", "replace").decode(), task=task, extra=group)
            assert seen.status_code == 200
            assert seen.json()["reward"] == 0.0
            if seen.json()["truncated"]:
                reset(playing, row_of(ALFWORLD))

        check()


def test_there_are_no_more_episodes_than_are_admitted() -> None:
    with served(env_id=ALFWORLD.env_id, max_sessions=2, idle_seconds=0.2) as (made, clients):
        first, second, third = clients(), clients(), clients()
        for client in (first, second):
            assert reset(client, row_of(ALFWORLD)).status_code == 200
        refused = reset(third, row_of(ALFWORLD))
        assert (refused.status_code, refused.json()["detail"]["failure_kind"]) == (503, "provider_quota_exhausted")
        time.sleep(0.3)
        assert reset(third, row_of(ALFWORLD)).status_code == 200
        lost = step(first, ALFWORLD.idle)
        assert (lost.status_code, lost.json()["detail"]["failure_kind"]) == (409, "session_lost")
        assert len(made.session_state) == 1


def test_a_screen_is_refused() -> None:
    world = WORLDS[2]
    arguments = {**world.arguments, "observation": ["screenshot", "text"], "screen": [640, 480]}
    with served(env_id=world.env_id, arguments=arguments) as (_, clients):
        assert "text alone" in reset(clients(), row_of(world)).json()["detail"]["failure_reason"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"env_id": "RLAnything/None-v0"}, "cannot be made"),
        ({"arguments": {"x": 1}}, "cannot be made"),
        ({"num_workers": 2}, "use 1"),
        ({"max_sessions": 0}, "max_sessions"),
    ],
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        server(**wrong)


# -- a curriculum ----------------------------------------------------------------------------------------------


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    return short_pool(tmp_path)


def short_pool(folder: Path) -> Path:
    tasks = [get_domain("alfworld").generate(seed, **SHORT) for seed in range(3)]
    TaskPool.create(folder / "pool.sqlite", tasks).close()
    return folder / "pool.sqlite"


def test_each_end_of_an_episode_is_an_outcome_or_none(pool: Path) -> None:
    with served(env_id=ALFWORLD.env_id, pool=pool, rollouts=4) as (made, clients):
        source = made._source
        assert isinstance(source, CurriculumSource)
        ended: list[Any] = []
        source.end = lambda group, success, **more: ended.append((group.task.id, success))  # type: ignore[method-assign]
        left, failed, broken, gone = (clients() for _ in range(4))
        for client in (left, failed, broken, gone):
            assert reset(client, {"group": "one"}).status_code == 200
            step(client, ALFWORLD.idle)
        left.post("/close", json={})
        failed.post("/close", json={"failed": True})
        session = next(iter(made.session_state.values()))
        break_engine(session._conversation.env)
        assert step(broken, ALFWORLD.idle).status_code == 500
    task = ended[0][0]
    assert ended == [(task, False), (task, None), (task, None), (task, None)]  # the last with the server


# -- NeMo Gym's own commands -----------------------------------------------------------------------------------


@contextmanager
def standing_in(player: Player) -> Iterator[tuple[str, list[Any]]]:
    """A stand-in for a served model; gives its address and what it was asked."""
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(body)
            said = [item for item in body["input"] if item.get("role") in ("user", "assistant")]
            self.reply(response(player(said)))

        def do_GET(self) -> None:
            self.reply({"data": []})

        def reply(self, value: Any) -> None:
            data = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}/v1", asked
    finally:
        listening.shutdown()
        listening.server_close()


def gym(folder: Path, *words: str) -> str:
    done = subprocess.run([GYM, *words], cwd=folder, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, f"{words}: exit {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@contextmanager
def started(folder: Path, configs: list[str], url: str) -> Iterator[None]:
    """The servers of some configurations, by NeMo Gym's own command."""
    words = ["env", "start", "--model-type", "openai_model", "--model", "m", "--model-url", url]
    words += ["--model-api-key", "none", *(word for config in configs for word in ("--config", config))]
    with (folder / "start.log").open("w") as log:
        running = subprocess.Popen([GYM, *words], cwd=folder, stdout=log, stderr=log, start_new_session=True)
    try:
        began = time.monotonic()
        while "Server Instances" not in (text := (folder / "start.log").read_text()):
            assert running.poll() is None, text[-4000:]
            assert time.monotonic() - began < STARTED_S, text[-4000:]
            time.sleep(0.5)
        yield
    finally:
        running.send_signal(signal.SIGINT)
        try:
            running.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()


def collected(folder: Path, rows: list[dict[str, Any]], name: str, *more: str) -> dict[str, list[dict[str, Any]]]:
    """What NeMo Gym's rollout collection writes for some rows: results and failures by agent, in the rows' order."""
    (folder / f"{name}_rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    gym(folder, "eval", "run", "--no-serve", "--input", f"{name}_rows.jsonl", "--output", f"{name}.jsonl", *more)
    found = {}
    for kind, path in (("done", folder / f"{name}.jsonl"), ("failed", folder / f"{name}_failures.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        found[kind] = sorted(lines, key=lambda line: (line["_ng_task_index"], line["_ng_rollout_index"]))
    return found


def stock(name: str) -> dict[str, Any]:
    """Configuration of NeMo Gym's own agent on a server."""
    refs = {
        "resources_server": {"type": "resources_servers", "name": name},
        "model_server": {"type": "responses_api_models", "name": "policy_model"},
    }
    relay = {"entrypoint": "app.py", "agent_server": {"type": "responses_api_agents", "name": "stock_agent"}}
    return {
        "stock_agent": {
            "responses_api_agents": {"gymnasium_agent": {"entrypoint": "app.py", "max_steps": 1000, **refs}}
        },
        "stock_environment_server": {"environment_servers": {"legacy_agent": relay}},
    }


@pytest.mark.slow
def test_its_commands_check_start_and_collect(tmp_path: Path) -> None:
    pool = short_pool(tmp_path)
    tasks = [ALFWORLD.task(seed) for seed in range(5)]
    known: dict[str, tuple[list[str], str]] = {"hello": ([], "look")}
    for world in WORLDS:
        with Conversation(world.env_id, **world.arguments) as conversation:
            for task in tasks if world is ALFWORLD else [world.task()]:
                known[conversation.start(task).text] = world.answers(task), world.idle
    with Conversation(ALFWORLD.env_id) as conversation:
        hopeless = ALFWORLD.task(7)
        known[conversation.start(hopeless).text] = [], ALFWORLD.idle
    half = Half(pool)

    def player(said: list[dict[str, Any]]) -> str:
        if said[0]["content"] not in known:
            return half(said)
        answers, idle = known[said[0]["content"]]
        turn = sum(message["role"] == "assistant" for message in said)
        return answers[turn] if turn < len(answers) else idle

    # The module before the colon is imported by the server's process: it registers a stand-in for a desktop.
    adapter.write_servers(tmp_path, adapter.rows(tasks, "example"), ALFWORLD.env_id, name="example")
    for world in WORLDS[1:]:
        env_id = world.env_id if world.domain == "coding" else f"scripted_desktop:{world.env_id}"
        adapter.write_servers(tmp_path, [], env_id, name=world.domain, arguments=world.arguments)
    adapter.write_servers(tmp_path, [], f"worlds:{FAILING}", name="failing")
    live = {"pool": pool, "rollouts": 2, "curriculum": {"rewriting": "inline"}}
    adapter.write_servers(tmp_path, adapter.group_rows(5, "live"), ALFWORLD.env_id, name="live", **live)
    folder = Path("resources_servers/rlanything")
    names = ("example", "coding", "osworld", "failing", "live")
    configs = [f"{name}.yaml" for name in names]
    (tmp_path / "stock.yaml").write_text(yaml.safe_dump(stock("failing")))

    gym(tmp_path, "env", "validate", *(word for config in configs for word in ("--config", config)))
    gym(tmp_path, "dataset", "collate", "--config", configs[0], "--mode", "example_validation", "--output-dir", "out")
    with standing_in(player) as (url, asked), started(tmp_path, [*configs, "stock.yaml"], url):
        rows = [
            *adapter.rows(tasks, "example"),
            *adapter.rows([WORLDS[1].task()], "coding"),
            *adapter.rows([WORLDS[2].task()], "osworld", prompt="Use the desktop."),
            *adapter.rows([hopeless], "example"),
        ]
        won = collected(tmp_path, rows, "won")
        (tmp_path / folder / "data" / "example_rollouts.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in won["done"][:5])
        )
        bad = [
            *adapter.rows(tasks[:1], "example"),
            {**adapter.rows(tasks[:1], "failing")[0], "task": None, "seed": 1},
            {**adapter.rows(tasks[:1], "example")[0], "task": "/etc/passwd"},
            {**adapter.rows(tasks[:1], "failing")[0], "agent_ref": {"name": "stock_agent"}, "task": None, "seed": 1},
        ]
        mixed = collected(tmp_path, bad, "mixed", "--num-repeats", "2", "+route_failures_to_sidecar=true")
        groups = collected(
            tmp_path, adapter.group_rows(6, "live"), "groups", "--num-repeats", "2", "--concurrency", "1"
        )
    gym(
        tmp_path,
        *("env", "test", f"+entrypoint={folder}", "+should_validate_data=true", "+skip_venv_if_present=true"),
        f"+uv_venv_dir={tmp_path / 'environments'}",
    )

    # Three domains, solved by their proofs; and a policy that solves nothing, whose reward of 0 counts.
    assert not won["failed"]
    assert [(line["reward"], line["success"]) for line in won["done"]] == [(1.0, 1.0)] * 7 + [(0.0, 0.0)]
    assert not any(line["mask_sample"] or line["failure_reason"] for line in won["done"])
    assert won["done"][-1]["truncated"]
    assert won["done"][6]["responses_create_params"]["input"][0]["content"] == "Use the desktop."
    metrics = json.loads((tmp_path / "won_aggregate_metrics.json").read_text())
    assert "mean/reward" in json.dumps(metrics)

    # Failures: none has a reward, with our agent each says why, and the others are scored.
    assert [line["reward"] for line in mixed["done"]] == [1.0, 1.0]
    assert len(mixed["failed"]) == 6
    assert not any("reward" in line for line in mixed["failed"])
    ours, theirs = mixed["failed"][:4], mixed["failed"][4:]
    assert [line["mask_sample"] for line in ours] == [True] * 4
    assert [line["_ng_failure_terminal"] for line in ours] == [False, False, True, True]
    assert all("the disk is full" in line["failure_reason"] for line in ours[:2])
    assert {line["failure_kind"] for line in ours[:2]} == {"rlanything:environment_failed"}
    assert {line["failure_kind"] for line in ours[2:]} == {"rlanything:request_refused"}
    assert {line["_ng_failure_class"] for line in theirs} == {"agent_run_error"}
    assert all("the disk is full" in line["_ng_failure_response_body"] for line in theirs)
    mean = [json.loads((tmp_path / "mixed_aggregate_metrics.json").read_text())]
    assert '"mean/reward": 1.0' in json.dumps(mean)

    # The curriculum got each outcome, and its rewrites were played.
    assert len(groups["done"]) == 12
    with TaskPool.open(pool) as opened:
        counts = opened.counts()
        assert (counts["outcomes"], counts["errors"]) == (12, 0)
        assert counts["accepted"] > 0
    # What the model was sent holds no task: neither proof nor the world it hides.
    sent = [item["content"] for body in asked for item in body["input"] if item.get("role") in ("system", "user")]
    assert len(sent) > 100
    assert not [text for text in sent if '"proof' in text or WORLDS[1].task().proof[0] in text]
