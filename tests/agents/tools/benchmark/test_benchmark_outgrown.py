"""What an agent's own length breaks is its failure; what the service breaks is not, and the command says so."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scripted_service import Asked, Handler, Service, answer, say, served, status
from typer.testing import CliRunner

from rlanything_agents.tools.benchmark import service as service_module
from rlanything_agents.tools.benchmark.report import table_of
from rlanything_agents.tools.benchmark.runner import run_benchmark
from rlanything_agents.tools.benchmark.settings import ChatSettings
from rlanything_agents.tools.cli import app
from rlanything_envs.llm import Retries
from rlanything_task_pools.panel import Panel

FULL = "This model's maximum context length is 4096 tokens. However, your messages resulted in 4100 tokens."
LOOK = answer("Action: look")
SHORT = {"max_episode_steps": 6}


@pytest.fixture
def service() -> Iterator[Service]:
    with served() as service:
        service.default = say("Action: look")
        yield service


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    once = Retries(attempts=1, total_s=0.4, first_wait_s=0.01)
    monkeypatch.setattr(service_module, "ServiceAgent", partial(service_module.ServiceAgent, retries=once))


def refusing(messages: int, **error: Any) -> Any:
    """Answers chats of fewer messages, and refuses longer ones."""

    def behave(handler: Handler, asked: Asked) -> None:
        short = len(asked.body["messages"]) < messages
        handler.reply(LOOK if short else {"error": {"message": "no", **error}}, 200 if short else 400)

    return behave


def play(games: Panel, service: Service, out: Path) -> dict[str, Any]:
    chat = ChatSettings(base_url=service.base_url, max_tokens=200)
    return run_benchmark(games, "openai:m", out, environment=SHORT, chat=chat, workers=2)


@pytest.mark.parametrize("error", [{"code": "context_length_exceeded"}, {"message": FULL}])
def test_a_chat_that_the_service_finds_too_long_has_failed(
    games: Panel, service: Service, tmp_path: Path, error: dict[str, str]
) -> None:
    service.default = refusing(5, **error)
    found = play(games, service, tmp_path / "out")
    total = found["total"]
    assert (found["left"], found["errors"], total["episodes"], total["rate"]) == (0, [], 4, 0.0)
    assert (total["overlong"], total["slow"], total["steps"]) == (4, 0, 2.0)
    header, rows = table_of(found)
    assert rows[0][header.index("overlong")] == "4"
    assert "slow" not in header
    assert "4 episodes failed because the agent&#39;s chat outgrew" in (tmp_path / "out" / "report.html").read_text()
    assert "agent&#39;s chat outgrew" in (tmp_path / "out" / "report.html").read_text()
    asked = len(service.asked)
    assert play(games, service, tmp_path / "out") == found, "they are not played again"
    assert len(service.asked) == asked


@pytest.mark.parametrize("error", [{"message": f"unknown field: {FULL}"}, {"code": "content_filter"}])
def test_another_refusal_is_not_the_agents(
    games: Panel, service: Service, tmp_path: Path, error: dict[str, str]
) -> None:
    service.default = refusing(5, **error)
    found = play(games, service, tmp_path / "out")
    assert (found["left"], found["total"]["rate"], found["total"]["overlong"]) == (4, None, 0)


def test_a_first_message_that_is_too_long_is_not_the_agents(games: Panel, service: Service, tmp_path: Path) -> None:
    service.default = refusing(1, code="context_length_exceeded")
    found = play(games, service, tmp_path / "out")
    assert (found["left"], found["total"]["rate"], found["total"]["overlong"]) == (4, None, 0)
    assert "lower --max-tokens" in found["errors"][0]["error"]


def hanging(hangs: Any) -> Any:
    def behave(handler: Handler, asked: Asked) -> None:
        if hangs(asked, len(handler.server.asked)):
            handler.server.stopping.wait(30)
            handler.close_connection = True
        else:
            handler.reply(LOOK)

    return behave


def test_an_answer_whose_length_alone_makes_it_late_is_the_agents(
    games: Panel, service: Service, tmp_path: Path
) -> None:
    service.default = hanging(lambda asked, _: asked.body["max_tokens"] > 16 and len(asked.body["messages"]) > 1)
    found = play(games, service, tmp_path / "out")
    assert (found["left"], found["total"]["slow"], found["total"]["episodes"]) == (0, 4, 4)
    # Of each episode: the first answer; then the late one and a short one, twice.
    assert sorted(asked.body["max_tokens"] for asked in service.asked) == [16] * 8 + [200] * 12


def test_a_service_that_hangs_on_short_answers_too_is_the_cause(games: Panel, service: Service, tmp_path: Path) -> None:
    service.default = hanging(lambda asked, _: len(asked.body["messages"]) > 1)
    found = play(games, service, tmp_path / "out")
    assert (found["left"], found["total"]["slow"]) == (4, 0)
    assert "TimedOut" in found["errors"][0]["error"]


def test_a_service_that_comes_back_has_cost_nothing(games: Panel, service: Service, tmp_path: Path) -> None:
    service.default = hanging(lambda asked, number: number == 3)
    found = play(games, service, tmp_path / "out")
    assert (found["left"], found["total"]["slow"], found["total"]["steps"]) == (0, 0, 6.0)


def test_it_dies_before_the_first_episode_has_ended(service: Service, tmp_path: Path) -> None:
    service.script.extend([say("Action: look")] * 2)
    service.default = status(500)
    assert benchmark(service, tmp_path / "out")[0] == 75


def benchmark(service: Service, out: Path) -> tuple[int, str]:
    command = ["benchmark", "--panel", "alfworld-easy", "--limit", "4", "--agent", "openai:m", "--workers", "1"]
    command += ["--env", "max_episode_steps=6", "--base-url", service.base_url, "--out", str(out)]
    ended = CliRunner().invoke(app, command)
    return ended.exit_code, ended.stderr


@pytest.mark.parametrize(
    "death",
    [status(500), status(401), status(404), lambda handler, asked: setattr(handler, "close_connection", True)],
    ids=["broken", "key", "gone", "hung up"],
)
def test_a_service_that_dies_in_the_middle_is_to_be_tried_later(service: Service, tmp_path: Path, death: Any) -> None:
    service.script.extend([say("Action: look")] * 8)
    service.default = death
    code, told = benchmark(service, tmp_path / "out")
    assert code == 75, told
    assert "the same command resumes" in told.splitlines()[-1]
    service.default = say("Action: look")
    assert benchmark(service, tmp_path / "out")[0] == 0
    assert json.loads((tmp_path / "out" / "results.json").read_text())["left"] == 0


@pytest.mark.parametrize(("code", "ends"), [(400, 2), (401, 2), (404, 2), (500, 75)])
def test_a_service_that_refuses_is_bad_input_and_one_that_fails_is_not(
    service: Service, tmp_path: Path, code: int, ends: int
) -> None:
    service.default = status(code)
    assert benchmark(service, tmp_path / "out")[0] == ends
