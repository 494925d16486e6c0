"""The agents that need no model, in every domain; and episodes that do not care who plays beside them."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmark_parts import adapted_pool, desktop_panel, timeless
from rich.console import Console
from scripted_desktop import SCRIPTED

from rlanything_agents.runs.progress import Reporter
from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_agents.tools.benchmark.runner import run_benchmark
from rlanything_envs.osworld.env import OSWorldEnv
from rlanything_task_pools import Task
from rlanything_task_pools.osworld import Assets, make_task, read_payload
from rlanything_task_pools.panel import Entry, Panel, load_panel, pool_panel

PANELS = ("alfworld-hard", "coding-generated", "desktops")


@pytest.mark.parametrize("name", PANELS)
def test_the_expert_wins_and_chance_hardly_does(name: str, tmp_path: Path) -> None:
    panel = desktop_panel(3) if name == "desktops" else load_panel(name, 3)
    expert = run_benchmark(panel, "expert", tmp_path / "expert", workers=1)
    assert (expert["total"]["rate"], expert["total"]["errors"], expert["left"]) == (1.0, 0, 0)
    assert expert["total"]["low"] == pytest.approx(0.4385, abs=1e-4), "Wilson's lower end for 3 of 3"
    assert expert["total"]["steps"] == expert["total"]["steps_won"] <= 12
    chance = run_benchmark(panel, "random", tmp_path / "random", workers=1)
    assert chance["total"]["rate"] < 1
    assert chance["total"]["steps"] >= 1
    assert {key: chance["panel"][key] for key in ("name", "hash", "tasks", "of")} == {
        "name": name,
        "hash": panel.hash,
        "tasks": 3,
        "of": panel.total,
    }


def test_results_name_the_root_folder_of_desktops(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Another folder than the panel's is said; a folder of results is of one."""
    panel = replace(desktop_panel(1), root="b" * 16)
    reporter = Reporter(Console(file=io.StringIO(), width=200))
    monkeypatch.setattr(OSWorldEnv, "root", "a" * 16)
    found = run_benchmark(panel, "random", tmp_path / "out", workers=1, reporter=reporter)
    assert found["settings"]["root"] == "a" * 16
    said = f"desktops was measured on the root folder {panel.root}, this is the root folder {'a' * 16}"
    assert said in reporter.console.file.getvalue()
    monkeypatch.setattr(OSWorldEnv, "root", panel.root)
    with pytest.raises(BenchmarkError, match="root: was 'aaaaaaaaaaaaaaaa', now 'bbbbbbbbbbbbbbbb'"):
        run_benchmark(panel, "random", tmp_path / "out", workers=1)


def test_the_number_of_workers_changes_nothing(games: Panel, tmp_path: Path) -> None:
    alone = run_benchmark(games, "random", tmp_path / "1", episodes=3, workers=1)
    beside = run_benchmark(games, "random", tmp_path / "2", episodes=3, workers=2)
    assert timeless(alone) == timeless(beside)
    assert alone["total"]["episodes"] == 12
    assert len({tuple(task["steps"]) for task in alone["tasks"]} | {task["task"] for task in alone["tasks"]}) >= 5
    other = run_benchmark(games, "random", tmp_path / "3", episodes=3, seed=1, workers=1)
    assert timeless(other["tasks"]) != timeless(alone["tasks"])


def test_a_longer_panel_leaves_the_beginning_as_it_was(tmp_path: Path) -> None:
    short = run_benchmark(load_panel("alfworld-easy", 2), "random", tmp_path / "2", workers=1)
    long = run_benchmark(load_panel("alfworld-easy", 5), "random", tmp_path / "5", workers=1)
    assert timeless(short["tasks"]) == timeless(long["tasks"][:2])
    assert short["panel"]["hash"] != long["panel"]["hash"]


def test_roots_and_adapted_tasks_side_by_side(tmp_path: Path) -> None:
    panel = pool_panel(adapted_pool(tmp_path / "pool.sqlite"))
    found = run_benchmark(panel, "expert", tmp_path / "out", workers=1)
    assert {name: row["tasks"] for name, row in found["by"]["group"].items()} == {"root": 3, "adapted": 2}
    assert next(iter(found["by"]["group"])) == "root"
    assert found["adapted"]["tasks"] == 2
    assert found["adapted"]["success"] == [1.0, 1.0]
    steps = {(task["group"], task["task"]): task["steps"][0] for task in found["tasks"]}
    differences = [
        task["steps"][0] - steps["root", task["root"]] for task in found["tasks"] if task["group"] == "adapted"
    ]
    assert found["adapted"]["steps"]["mean"] == pytest.approx(sum(differences) / 2)


def test_who_cannot_play_says_so_before_anything_is_played(games: Panel, tmp_path: Path) -> None:
    unknown = Entry(games.entries[0].task.model_copy(update={"domain": "unheard", "proof": ()}))
    panel = Panel("none", "", "alfworld", {}, (unknown,), 1)
    with pytest.raises(BenchmarkError, match="no known solution"):
        run_benchmark(panel, "expert", tmp_path / "out")
    with pytest.raises(BenchmarkError, match="random, expert, openai:MODEL"):
        run_benchmark(games, "clever", tmp_path / "out")
    assert run_benchmark(games, "expert", tmp_path / "out", workers=1)["total"]["rate"] == 1, "the folder was not taken"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"episodes": 0}, "at least 1"),
        ({"workers": 0}, "at least 1"),
        ({"seed": -1}, "at least 0"),
        ({"environment": {"rooms": 3}}, "cannot be made"),
    ],
)
def test_what_cannot_be_is_refused(games: Panel, tmp_path: Path, arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(BenchmarkError, match=told):
        run_benchmark(games, "random", tmp_path / "out", **arguments)


def test_a_task_that_is_none_ends_the_benchmark(games: Panel, tmp_path: Path) -> None:
    broken = Task(domain="alfworld", goal="go", payload={"scene": {}}, proof=("look",))
    panel = Panel("broken", "", "alfworld", {}, (games.entries[0], Entry(broken)), 2)
    with pytest.raises(ValueError, match=broken.id):
        run_benchmark(panel, "random", tmp_path / "out", workers=1)
    kept = json.loads((tmp_path / "out" / "results.json").read_text())
    assert (kept["left"], kept["total"]["episodes"]) == (1, 1), "what was played before is kept"


def test_missing_files_are_listed_for_all_tasks_before_the_first_episode(tmp_path: Path) -> None:
    there, absent = "https://huggingface.co/a/there.txt", "https://huggingface.co/a/{}.txt"
    assets = Assets(tmp_path / "assets")
    assets.path(there).parent.mkdir(parents=True)
    assets.path(there).write_text("hello")

    def entry(url: str) -> Entry:
        step = {"type": "download", "parameters": {"files": [{"url": url, "path": "/home/user/a.txt"}]}}
        payload = {"instruction": "Go.", "config": [step], "current": "one", "instructions": {"one": "Go."}}
        payload["evaluators"] = {"one": {"func": "infeasible"}}
        return Entry(make_task(read_payload(payload)))

    entries = tuple(entry(url) for url in (there, absent.format(1), absent.format(2)))
    panel = Panel("files", "", "osworld", {**SCRIPTED, "assets": str(assets.directory)}, entries, 3)
    with pytest.raises(BenchmarkError) as failure:
        run_benchmark(panel, "random", tmp_path / "out")
    said = str(failure.value).splitlines()
    assert said[0].startswith("2 files of 2 of the 3 tasks are missing")
    assert [line.partition(": ")[2] for line in said[1:]] == [absent.format(1), absent.format(2)]
    assert not (tmp_path / "out").exists()
