"""Quality cards say what was measured, by the files of the commands, and what was not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rlanything_agents.tools.audit.card import panel_card, read_measured
from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_agents.tools.cli import app
from rlanything_agents.tools.view.site import Site
from rlanything_task_pools.panel import panel_names, read_recipe

PAGE = Path(__file__).resolve().parents[4] / "docs/reference/quality.md"
EASY = ["--panel", "alfworld-easy", "--limit", "2", "--workers", "1"]


def rows(card: str) -> dict[str, str]:
    """Values of a card by what was measured."""
    return {cells[2].strip(): cells[3].strip() for line in card.splitlines() if len(cells := line.split("|")) == 6}


def invoke(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return done.stdout


def changed(folder: Path, **values: Any) -> None:
    content = json.loads((folder / "results.json").read_text())
    (folder / "results.json").write_text(json.dumps({**content, **values}))


def test_a_card_has_what_the_commands_measured(tmp_path: Path) -> None:
    for agent in ("expert", "random"):
        invoke("benchmark", *EASY, "--agent", agent, "--out", str(tmp_path / agent))
    invoke("benchmark", *EASY, "--agent", "random", "--out", str(tmp_path / "again"))
    invoke("audit", *EASY, "--out", str(tmp_path / "audit"))
    spaces = {"topic": "play alfworld", "state": "ok", "said": "all actions are in their spaces"}
    (tmp_path / "doctor.json").write_text(json.dumps({"healthy": True, "findings": [spaces]}))

    found = rows(invoke("audit", "--panel", "alfworld-easy", "--card", str(tmp_path)))
    assert found["reward can be reached: the proofs [13]"] == "100.0 % [34.2, 100.0], 2 of 2 episodes"
    assert found["solved by cheats [26-28], 2 of 128 tasks"].endswith("0 of 16 episodes")
    assert found["the known solutions [25]"].endswith("mean score 1")
    assert found["observations and actions are in their spaces [29, 34]"] == "ok: all actions are in their spaces"
    assert found["`random` played again, same seed [36, 37]"] == "the same outcome and steps in 2 of 2 tasks"
    assert found["a model: difficulty, headroom [14, 15]"] == "not measured"
    assert found["the same tasks, by their hash [42]"] == "in 3 of 3 benchmarks"
    shown = json.loads(Site(tmp_path / "audit").get("r0/overview"))
    assert (shown["run"], shown["panels"][0]["points"][0]["episodes"]) == ("audit of alfworld-easy", 16)

    changed(tmp_path / "again", settings={"seed": 0, "episodes": 2})
    found = rows(panel_card(read_recipe("alfworld-easy"), read_measured(tmp_path)))
    assert found["an agent played again, same seed [36, 37]"] == "not measured", "other settings are no second play"

    changed(tmp_path / "again", agent="hf:model")
    recipe = read_recipe("alfworld-easy")
    found = rows(panel_card(recipe, read_measured(tmp_path)))
    assert found["`hf:model` [14, 15]"].endswith("points of headroom")
    changed(tmp_path / "expert", panel={"name": "alfworld-easy", "hash": "0" * 16, "tasks": 2})
    found = rows(panel_card(recipe, read_measured(tmp_path)))
    assert found["reward can be reached: the proofs [13]"] == "not measured", "those were other tasks"
    assert found["the same tasks, by their hash [42]"] == "in 2 of 3 benchmarks"
    assert set(rows(panel_card(read_recipe("coding-generated"), read_measured(tmp_path))).values()) >= {"not measured"}


def test_files_that_no_command_left_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match=r"has no results\.json"):
        read_measured(tmp_path)
    (tmp_path / "audit.json").write_text('{"panel": {"name": "p", "hash": "h", "tasks": -1}}')
    with pytest.raises(BenchmarkError, match=r"audit\.json is not what a command left there: panel\.tasks"):
        read_measured(tmp_path)
    (tmp_path / "audit.json").unlink()
    (tmp_path / "results.json").symlink_to("/dev/zero")
    with pytest.raises(BenchmarkError, match=r"results\.json cannot be read"):
        read_measured(tmp_path)


def test_the_page_has_a_card_of_each_packaged_panel_as_it_is_pinned() -> None:
    """Fails where a panel was pinned again: measure it, and write the page by `rlanything audit --card`."""
    cards = {text.partition("\n")[0]: text for text in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.M)}
    for name in panel_names():
        recipe = read_recipe(name)
        assert f"{recipe.count} tasks, `{recipe.hash or 'not pinned'}`" in cards[name]
