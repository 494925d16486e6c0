"""``rlanything curriculum``."""

import json

import pytest
from typer.testing import CliRunner

from rlanything_agents.tools.cli import app


def run(*arguments: str):
    return CliRunner().invoke(app, ["curriculum", "power", *arguments], env={"COLUMNS": "120"})


def test_power_prints_a_grid_for_each_rule_and_the_figures() -> None:
    result = run("--trials", "20")
    assert result.exit_code == 0
    for title in ("paper:", "reference:", "recommended:", "In short"):
        assert title in result.output
    assert result.output.count("0.85") >= 6


def test_power_as_json_is_the_whole_grid_and_repeatable() -> None:
    first, second, other = (run("--json", "--trials", "50", "--seed", seed) for seed in ("1", "1", "2"))
    assert first.output == second.output != other.output
    document = json.loads(first.output)
    assert {row["rule"] for row in document["figures"]} == {"paper", "reference", "recommended"}
    assert len(document["grid"]) == 3 * 8 * 11
    for cell in document["grid"]:
        assert 0 <= cell["wrong"] <= cell["accepted"] <= 1
        assert 0 < cell["rollouts"] <= cell["max_rollouts"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--confidence", "2"], "futility < confidence < 1"),
        (["--low", "0.9"], "band must be"),
        (["--budget", "0"], "budget (0)"),
    ],
)
def test_impossible_settings_are_said_in_one_line(arguments: list[str], said: str) -> None:
    result = run(*arguments, "--trials", "5")
    assert result.exit_code == 2
    assert said in result.output
    assert "Traceback" not in result.output
