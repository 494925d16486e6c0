"""Commands that train nothing run where the core is installed alone, from the wheel."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer.main
from light import CORE, Light
from packaging.requirements import Requirement

from rlanything_agents.tools.cli import app

ROOT = Path(__file__).resolve().parents[1]
HEAVY = {"torch", "transformers", "trl", "scipy", "sklearn", "pandas", "pyarrow", "matplotlib", "datasets", "openai"}
PANEL = ("--panel", "alfworld-easy", "--limit", "2")


def leaves(command: Any, way: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    inner = getattr(command, "commands", {})
    return [way, *(leaf for name, sub in inner.items() for leaf in leaves(sub, (*way, name)))]


def test_the_environment_has_what_the_wheel_asks_for(light: Light, tmp_path: Path) -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert CORE.requirements.read_text().splitlines()[1:] == wanted
    code = f"import importlib.util as u; print([name for name in {sorted(HEAVY)} if u.find_spec(name)])"
    assert light.run("python", "-c", code, cwd=tmp_path).strip() == "[]"
    names = {Requirement(text).name for text in wanted}
    assert "rich" in names


def test_every_help_needs_the_core_alone(light: Light, tmp_path: Path) -> None:
    ways = leaves(typer.main.get_command(app))
    code = "from typer.testing import CliRunner; from rlanything_agents.tools.cli import app\n"
    code += f"for way in {ways}: assert not CliRunner().invoke(app, [*way, '--help']).exception, way"
    light.run("python", "-c", code, cwd=tmp_path)
    assert "Usage: rlanything" in light.run("rlanything", "train", "--help", cwd=tmp_path)


def test_a_game_is_played(light: Light, tmp_path: Path) -> None:
    printed = light.run("rlanything", "play", "alfworld", cwd=tmp_path, stdin="look\n:hint\n:solve\n:quit\n")
    assert "You solved it" in printed


def test_agents_are_measured_compared_audited_and_viewed(light: Light, tmp_path: Path) -> None:
    for agent in ("random", "expert"):
        light.run("rlanything", "benchmark", "--agent", agent, *PANEL, "--out", agent, cwd=tmp_path)
    assert "McNemar" in light.run("rlanything", "compare", "random", "expert", cwd=tmp_path)
    assert "clean" in light.run("rlanything", "audit", *PANEL, cwd=tmp_path)
    light.run("rlanything", "view", "expert", "--out", "site", cwd=tmp_path)
    assert (tmp_path / "site" / "index.html").stat().st_size > 1000


def test_a_pool_is_shown_and_travels(light: Light, tmp_path: Path) -> None:
    code = "from rlanything_task_pools import TaskPool as P, get_domain as d; "
    code += "P.create('pool.sqlite', [d('alfworld').generate(k) for k in range(3)])"
    light.run("python", "-c", code, cwd=tmp_path)
    for words in (["show"], ["lineage"], ["metrics"], ["verify"], ["export", "--out", "table"]):
        light.run("rlanything", "pool", words[0], "pool.sqlite", *words[1:], cwd=tmp_path)
    light.run("rlanything", "pool", "import", "table", "again.sqlite", cwd=tmp_path)


def test_the_doctor_says_what_is_missing_and_how_to_add_it(light: Light, tmp_path: Path) -> None:
    printed = light.run("rlanything", "doctor", "--no-desktop", "--no-play", cwd=tmp_path)
    assert "Not for: training" in printed
    assert f"pip install '{light.wheel}[train]'" in printed


def test_training_begins_with_a_file_and_names_what_it_needs(light: Light, tmp_path: Path) -> None:
    printed = light.run("rlanything", "init", cwd=tmp_path)
    assert "rlanything train quickstart.yaml" in printed
    assert (tmp_path / "quickstart.yaml").read_text() == (ROOT / "configs" / "quickstart.yaml").read_text()
    assert "exists" in light.run("rlanything", "init", cwd=tmp_path, code=2)
    assert "did you mean quickstart?" in light.run("rlanything", "init", "quickstrat", cwd=tmp_path, code=2)
    for more in ([], ["--dry-run"]):
        said = light.run("rlanything", "train", "quickstart.yaml", *more, cwd=tmp_path, code=2)
        assert said.strip() == (
            f"error: training needs PyTorch, Transformers and TRL: pip install '{light.wheel}[train]'"
        )


@pytest.mark.parametrize(
    ("words", "needs"),
    [
        (("benchmark", "--agent", "hf:smollm2-135m", *PANEL), "[train]"),
        (("benchmark", "--agent", "openai:m", *PANEL), "[llm]"),
        (("serve", "RLAnything/AlfWorld-v0", "--mcp"), "[mcp]"),
        (("pool", "export", "pool.sqlite", "--out", "x", "--format", "parquet"), "[export]"),
    ],
)
def test_what_needs_more_says_so_in_a_line(words: tuple[str, ...], needs: str, light: Light, tmp_path: Path) -> None:
    code = "from rlanything_task_pools import TaskPool as P, get_domain as d; "
    code += "P.create('pool.sqlite', [d('alfworld').generate(0)])"
    light.run("python", "-c", code, cwd=tmp_path)
    said = light.run("rlanything", *words, cwd=tmp_path, code=2)
    assert said.splitlines()[-1].startswith("error: ")
    assert f"pip install '{light.wheel}{needs}'" in said
    assert "Traceback" not in said
