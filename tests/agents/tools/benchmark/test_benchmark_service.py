"""An agent behind an OpenAI-compatible service, over real HTTP: a model that knows every solution."""

import json
from pathlib import Path

import pytest
from benchmark_parts import desktop_panel, expert_service, timeless
from scripted_service import status

from rlanything_agents.tools.benchmark.runner import run_benchmark
from rlanything_agents.tools.benchmark.settings import ChatSettings, usual_service
from rlanything_envs.llm import BudgetExceeded, MissingKey, Price
from rlanything_task_pools.panel import Panel, load_panel


@pytest.mark.parametrize(
    ("key", "base", "named", "found"),
    [
        ("", "", None, ("http://localhost:8000/v1", None)),
        ("k", "", None, ("https://api.openai.com/v1", "OPENAI_API_KEY")),
        ("k", "http://there:1/v1", None, ("http://there:1/v1", "OPENAI_API_KEY")),
        ("k", "", "OTHER", ("http://localhost:8000/v1", "OTHER")),
        ("", "http://there:1/v1", None, ("http://there:1/v1", None)),
    ],
)
def test_the_usual_service(
    key: str, base: str, named: str | None, found: tuple[str, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("OPENAI_BASE_URL", base)
    assert usual_service(named) == {"base_url": found[0], "key_env": found[1]}


@pytest.mark.parametrize(
    "name", ["alfworld-easy", "desktops", pytest.param("coding-generated", marks=pytest.mark.slow)]
)
def test_a_model_that_knows_wins_and_is_counted(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", "secret-0123456789")
    panel = desktop_panel(3) if name == "desktops" else load_panel(name, 3)
    with expert_service(panel) as service:
        chat = ChatSettings(base_url=service.base_url, key_env="THE_KEY", max_tokens=500, price=Price(2.0, 8.0))
        found = run_benchmark(panel, "openai:expert", tmp_path / "out", chat=chat, workers=3)
    total = found["total"]
    assert (total["rate"], total["tokens_estimated"]) == (1.0, False)
    assert total["tokens_in"] == sum(len(m["content"]) for asked in service.asked for m in asked.body["messages"])
    assert total["dollars"] == pytest.approx((2 * total["tokens_in"] + 8 * total["tokens_out"]) / 1e6, abs=1e-6)
    assert {asked.headers["authorization"] for asked in service.asked} == {"Bearer secret-0123456789"}
    assert {(asked.body["model"], asked.body["max_tokens"], asked.body["temperature"]) for asked in service.asked} == {
        ("expert", 500, 1.0)
    }
    assert len({asked.body["seed"] for asked in service.asked}) == len(service.asked), "every answer has its own chance"
    written = "".join(path.read_text() for path in (tmp_path / "out").rglob("*.json*") if path.suffix != ".gz")
    assert "secret-0123456789" not in written


def test_answers_on_record_are_not_asked_again(games: Panel, tmp_path: Path) -> None:
    with expert_service(games) as service:
        chat = ChatSettings(base_url=service.base_url)
        first = run_benchmark(games, "openai:expert", tmp_path / "out", chat=chat, workers=1)
        count = len(service.asked)
        lines = tmp_path / "out" / "results.jsonl"
        lines.write_text("".join(lines.read_text().splitlines(keepends=True)[:1]))
        again = run_benchmark(games, "openai:expert", tmp_path / "out", chat=chat, workers=2)
        assert len(service.asked) == count
    assert timeless(again) == timeless(first)


def test_failures_are_listed_apart_and_tried_again(games: Panel, tmp_path: Path) -> None:
    with expert_service(games) as service:
        chat = ChatSettings(base_url=service.base_url)
        service.script.extend([status(400)] * 2)
        first = run_benchmark(games, "openai:expert", tmp_path / "out", chat=chat, workers=1)
        assert (first["total"]["episodes"], first["total"]["errors"], first["total"]["rate"]) == (2, 2, 1.0)
        assert first["left"] == 2
        assert "RequestRejected" in first["errors"][0]["error"]
        assert "Without outcome (2)" in (tmp_path / "out" / "report.html").read_text()
        again = run_benchmark(games, "openai:expert", tmp_path / "out", chat=chat, workers=1)
    assert (again["total"]["episodes"], again["total"]["errors"], again["left"], again["errors"]) == (4, 0, 0, [])


def test_a_budget_ends_the_benchmark_and_keeps_what_is_done(games: Panel, tmp_path: Path) -> None:
    with expert_service(games) as service:
        whole = run_benchmark(
            games, "openai:expert", tmp_path / "whole", chat=ChatSettings(base_url=service.base_url), workers=1
        )
        spent = whole["total"]["tokens_in"] + whole["total"]["tokens_out"]
        chat = ChatSettings(base_url=service.base_url, price=Price(1.0, 1.0), max_dollars=spent / 2e6)
        with pytest.raises(BudgetExceeded, match="raise the limit"):
            run_benchmark(games, "openai:expert", tmp_path / "out", chat=chat, workers=2)
        kept = json.loads((tmp_path / "out" / "results.json").read_text())
        assert 0 < kept["left"] <= 4
        more = ChatSettings(base_url=service.base_url, price=Price(1.0, 1.0), max_dollars=4e-6 * spent)
        assert timeless(run_benchmark(games, "openai:expert", tmp_path / "out", chat=more, workers=2)["tasks"]) == (
            timeless(whole["tasks"])
        )


def test_a_key_that_is_missing_is_told_at_once(games: Panel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_KEY", raising=False)
    with pytest.raises(MissingKey, match="NO_KEY"):
        run_benchmark(games, "openai:m", tmp_path / "out", chat=ChatSettings(key_env="NO_KEY"))
    assert not (tmp_path / "out" / "benchmark.json").exists()


def test_the_greedy_choice_and_a_cut_history(games: Panel, tmp_path: Path) -> None:
    with expert_service(games) as service:
        chat = ChatSettings(base_url=service.base_url, temperature=0, max_history=1)
        short = {"max_episode_steps": 5}
        run_benchmark(games, "openai:expert", tmp_path / "out", chat=chat, workers=1, environment=short)
    assert {asked.body["temperature"] for asked in service.asked} == {0}
    lengths = {len(asked.body["messages"]) for asked in service.asked}
    assert max(lengths) == 3
    for asked in service.asked:
        roles = [message["role"] for message in asked.body["messages"]]
        assert roles == ["user", "assistant", "user"][: len(roles)]
        assert "Your task is to" in asked.body["messages"][0]["content"]


def test_a_listed_command_is_the_form_of_an_answer(games: Panel, tmp_path: Path) -> None:
    with expert_service(games) as service:
        chat, listed = ChatSettings(base_url=service.base_url), {"max_episode_steps": 2, "admissible": "list"}
        run_benchmark(games, "openai:expert", tmp_path / "out", chat=chat, workers=1, environment=listed)
        asked = service.asked[0].body
    assert "Action:" in asked["structured_outputs"]["regex"]
    assert "go to " in asked["structured_outputs"]["regex"]
