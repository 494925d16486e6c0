"""The viewer on a benchmark of desktops, and the contact sheet of an episode."""

import io
import json
import shutil

import numpy as np
import pytest
from PIL import Image
from scripted_desktop import KINDS, SCRIPTED

from rlanything_agents.runs.storage import RunFolderError
from rlanything_agents.tools.benchmark import run_benchmark
from rlanything_agents.tools.view import Site, export_site
from rlanything_task_pools import UnknownName
from rlanything_task_pools.osworld import generate
from rlanything_task_pools.panel import Entry, Panel

ANSWERS = ["pyautogui.click(300, 300)", "Now I wait.\n```python\npyautogui.moveTo(5, 5)\n```", "no action", "DONE"]


def clicker(messages):
    """An agent that clicks, moves, says something unreadable and ends."""
    return ANSWERS[min(len(messages) // 2, 3)]


def play(out, count=2):
    tasks = [generate(seed, kinds=KINDS) for seed in range(count)]
    panel = Panel("desktops", "", "osworld", {**SCRIPTED, "screen": [800, 600]}, tuple(map(Entry, tasks)), count)
    return run_benchmark(panel, f"python:{__name__}:clicker", out, workers=1)


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory):
    out = tmp_path_factory.mktemp("benchmark") / "osworld"
    play(out)
    return out


def test_the_episodes_of_a_benchmark(benchmark):
    site = Site(benchmark)
    assert site.single
    (line,) = json.loads(site.get("runs"))["runs"]
    assert (line["domain"], line["finished"], line["problems"]) == ("osworld", True, [])
    assert line["run"].endswith("clicker on desktops")
    first = json.loads(site.get("r0/overview"))
    assert (first["benchmark"], first["iterations"], first["problems"]) == (True, [0], [])
    (panel,) = first["panels"]
    assert (panel["name"], panel["points"][0]["rate"], panel["points"][0]["episodes"]) == ("desktops", 0.0, 2)
    listed = json.loads(site.get("r0/index/0"))["episodes"]
    assert [(each["n"], each["slot"], each["outcome"], each["turns"]) for each in listed] == [
        (0, 0, -1, 4),
        (1, 1, -1, 4),
    ]
    episode = json.loads(site.get("r0/episodes/0/0"))["episodes"][1]
    assert [turn["action"] for turn in episode["turns"]] == ANSWERS
    assert [turn["command"] for turn in episode["turns"]] == ["ok", "ok", "unreadable", "ok"]
    assert [turn["screen"] for turn in episode["turns"]] == [f"0001-{k:03d}.webp" for k in range(4)]
    assert episode["screen"] == "0001-004.webp", "that of the end"
    assert "Screen:" in episode["opening"]
    assert episode["goal"]


def test_rates_of_the_tasks_of_a_profile(tmp_path):
    (tmp_path / "trajectories").mkdir()
    (tmp_path / "benchmark.json").write_text("{}")
    outcomes = [[1, -1, 1, -1], [None, "1", 2], [[1] * 9, -1], "solved", [1] * 2_000]
    tasks = [{"goal": f"goal {n}", "outcomes": each} for n, each in enumerate(outcomes)]
    (tmp_path / "results.json").write_text(json.dumps({"tasks": [*tasks, 3], "left": 2}))
    shown = json.loads(Site(tmp_path).get("r0/overview"))
    assert not shown["finished"], "two episodes are left"
    rates = shown["rates"]
    assert [(rate["goal"], rate["solved"], rate["played"]) for rate in rates] == [
        ("goal 0", 2, 4), ("goal 1", 0, 0), ("goal 2", 0, 1), ("goal 3", 0, 0), ("goal 4", 1_000, 1_000), ("", 0, 0),
    ]  # fmt: skip
    assert rates[0]["interval"] == pytest.approx([0.150, 0.850], abs=1e-3)
    assert rates[1]["interval"] is None


def screen(site, turn):
    kind, content = site.runs[0].image(f"screens/0000/0000-{turn:03d}.webp")
    assert kind == "image/webp"
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGB")).astype(int)


def test_a_click_is_marked_where_it_landed(benchmark):
    site = Site(benchmark)

    def red(turn):
        seen = screen(site, turn)
        return np.argwhere((seen[..., 0] > 180) & (seen[..., 1] < 90) & (seen[..., 2] < 130))

    places = red(0)
    assert len(places) > 20
    assert np.abs(places.mean(axis=0) - 300).max() < 4
    assert len(red(3)) == len(red(4)) == 0, "the end clicks nowhere"


def test_a_benchmark_goes_on_and_is_collected_again(benchmark, tmp_path):
    out = tmp_path / "again"
    shutil.copytree(benchmark, out)
    lines = (out / "results.jsonl").read_text().splitlines()
    (out / "results.jsonl").write_text(lines[0] + "\n")
    broken = next(path for path in (out / "episodes").glob("*.json") if json.loads(lines[1])["task"] in path.name)
    broken.write_text("{")
    play(out)
    assert [each["turns"] for each in json.loads(Site(out).get("r0/index/0"))["episodes"]] == [4, 4]
    broken.write_text("[1]")
    play(out)
    assert len(json.loads(Site(out).get("r0/index/0"))["episodes"]) == 1, "an episode without its course is left out"


def test_an_exported_benchmark(benchmark, tmp_path):
    export_site(Site(benchmark), tmp_path / "pages")
    assert len(list((tmp_path / "pages").rglob("*.webp"))) == 10


def test_a_benchmark_without_episodes_is_nothing_to_view(tmp_path):
    (tmp_path / "benchmark.json").write_text("{}")
    with pytest.raises(RunFolderError, match=r"benchmark\.json"):
        Site(tmp_path)
    (tmp_path / "trajectories").mkdir()
    (tmp_path / "benchmark.json").write_text("[1]")
    site = Site(tmp_path)
    assert json.loads(site.get("r0/overview"))["problems"]
    with pytest.raises(UnknownName):
        site.get("r0/index/0")
