"""A game file that cannot be read is an episode without an outcome; every other game of the panel is played."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rlanything_agents.tools.benchmark.compare import compare_results
from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_agents.tools.cli import app
from rlanything_task_pools import get_domain
from rlanything_task_pools.alfworld.games import game_of
from rlanything_verifiers.alfworld import write_game

BROKEN = "valid_seen/game-1/trial_1"


@pytest.fixture
def panel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The recipe of four official games, of which the second is torn."""
    for number in range(4):
        task = get_domain("alfworld").generate(number, rooms=["Bathroom"])
        path = write_game(game_of(task), tmp_path / f"json_2.1.1/valid_seen/game-{number}/trial_{number}")
        if number == 1:
            path.write_bytes(path.read_bytes()[:100])
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    recipe = {"name": "four", "meaning": "Four.", "domain": "alfworld", "official": "valid_seen", "count": 4}
    (tmp_path / "four.json").write_text(json.dumps(recipe))
    return tmp_path / "four.json"


def play(panel: Path, agent: str, *options: str) -> tuple[Path, str]:
    out = panel.parent / agent
    command = ["benchmark", "--agent", agent, "--panel", str(panel), "--out", str(out), "--workers", "1", *options]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    return out, result.output


def test_the_rest_is_played_and_the_game_is_named(panel: Path) -> None:
    out, text = play(panel, "expert", "--episodes", "2")
    assert "a game cannot be read and counts as an error" in text
    assert f"without outcome: {BROKEN}" in text
    assert "2 of 8 episodes have no outcome: mend the files" in text
    summary = json.loads((out / "results.json").read_text())
    assert (summary["panel"]["tasks"], summary["panel"]["unreadable"], summary["panel"]["of"]) == (4, 1, 4)
    total = summary["total"]
    assert (total["tasks"], total["episodes"], total["successes"], total["errors"], total["rate"]) == (4, 6, 6, 2, 1.0)
    assert (summary["episodes"], summary["left"]) == (8, 2)
    assert [error["task"] for error in summary["errors"]] == [BROKEN] * 2
    assert "not JSON" in summary["errors"][0]["error"]
    assert [task["outcomes"] for task in summary["tasks"]] == [[1, 1], [None, None], [1, 1], [1, 1]]
    assert "game-1" in (out / "report.html").read_text()
    assert BROKEN in (out / "report.html").read_text()
    assert json.loads(play(panel, "expert", "--episodes", "2", "--json")[1].partition("\n")[2]) == summary


def test_results_are_compared_without_it(panel: Path) -> None:
    outs = [play(panel, agent)[0] for agent in ("random", "expert")]
    found = compare_results(*outs)
    assert (found["tasks"], found["left_out"]) == (3, 1)
    assert found["success"][1] == 1.0


def test_the_mended_panel_is_another_one(panel: Path) -> None:
    out, _ = play(panel, "expert")
    good = panel.parent / "json_2.1.1/valid_seen/game-0/trial_0/game.tw-pddl"
    (panel.parent / f"json_2.1.1/{BROKEN}/game.tw-pddl").write_bytes(good.read_bytes())
    again = ["benchmark", "--agent", "expert", "--workers", "1", "--panel", str(panel), "--out"]
    refused = CliRunner().invoke(app, [*again, str(out)])
    assert refused.exit_code != 0
    assert "--restart" in refused.output
    assert CliRunner().invoke(app, [*again, str(panel.parent / "whole")]).exit_code == 0
    with pytest.raises(BenchmarkError, match="different tasks"):
        compare_results(out, panel.parent / "whole")
