"""Stored episodes are judged again: exactly those change of which a judge or a record was wrong."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from benchmark_parts import adapted_pool, desktop_panel
from small_runs import STEPS, small_run
from typer.testing import CliRunner

from rlanything_agents.runs.storage import RunFolderError
from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_agents.tools.benchmark.reverify import reverify
from rlanything_agents.tools.benchmark.runner import run_benchmark
from rlanything_agents.tools.cli import app
from rlanything_envs.coding import env as coding
from rlanything_envs.osworld import env as osworld
from rlanything_task_pools import TaskPool, get_domain
from rlanything_task_pools.panel import Entry, Panel, load_panel, pool_panel
from rlanything_verifiers.alfworld import World
from rlanything_verifiers.osworld.metrics import METRICS

SMALL = {"observation": "text", "screen": [640, 480]}
Spoil = Callable[[dict[str, Any]], object]


def played(panel: Panel, folder: Path, agent: str = "expert", **settings: Any) -> Path:
    run_benchmark(panel, agent, folder, workers=1, **settings)
    return folder


def again(folder: Path, **settings: Any) -> dict[str, Any]:
    """What `reverify` finds, and that it writes nothing."""

    def files() -> dict[Path, int]:  # but for what SQLite puts beside a file that it reads
        return {
            path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file() and "lite-" not in path.name
        }

    before = files()
    found = reverify(folder, workers=1, **settings)
    assert files() == before
    return found


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def record_of(folder: Path, task: str) -> Path:
    (path,) = (folder / "episodes").glob(f"{task}-*.json")
    return path


def spoil(path: Path, how: Spoil) -> None:
    record = json.loads(path.read_text())
    how(record)
    path.write_text(json.dumps(record))


def pool_of(path: Path, tasks: list[Any]) -> Path:
    TaskPool.create(path, tasks).close()
    return path


@pytest.fixture(scope="module")
def games(games: Panel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four games of a shipped panel, solved by the expert."""
    return played(games, tmp_path_factory.mktemp("played") / "games")


@pytest.fixture
def copy(games: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(games, tmp_path / "copy"))


def test_exactly_the_games_change_that_a_wrong_verifier_called_solved(
    games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = pool_panel(adapted_pool(tmp_path / "pool.sqlite", 4))
    right = World.won.fget
    with monkeypatch.context() as wrong:
        wrong.setattr(World, "won", property(lambda world: right(world) or world.inventory is not None))
        folder = played(panel, tmp_path / "out", "random", environment={"max_episode_steps": 80})
    called = {(line["group"], line["task"]) for line in lines(folder) if line["outcome"] == 1}
    assert len(called) > 0
    found = again(folder, pool=tmp_path / "pool.sqlite")
    assert found["judged"] == found["episodes"] == len(panel.entries)
    assert {(row["group"], row["task"]) for row in found["changed"]} == called
    assert {(row["was"], row["now"]) for row in found["changed"]} == {(1, -1)}
    assert all(row["why"].startswith("the goal does not hold after the ") for row in found["changed"])
    assert found["solved"] == {"before": len(called), "now": 0}
    assert again(games)["changed"] == []


def test_a_game_that_a_wrong_verifier_missed_is_solved_at_its_answer(games: Path, copy: Path) -> None:
    *others, last = lines(copy)
    (copy / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in (*others, {**last, "outcome": -1})))
    spoil(record_of(copy, last["task"]), lambda record: record["turns"].append({"action": "look"}))
    (row,) = again(copy)["changed"]
    count = last["steps"]
    assert (row["task"], row["was"], row["now"]) == (last["task"], -1, 1)
    assert row["why"] == f"the goal holds after answer {count} of {count + 1}"


def test_exactly_the_program_changes_that_a_wrong_judge_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = [get_domain("coding").generate(seed, **STEPS) for seed in range(3)]
    panel = Panel("three", "", "coding", {"max_turns": 3}, tuple(map(Entry, tasks)), 3)
    right = coding._judge
    with monkeypatch.context() as wrong:

        def judge(action: Any, tests: Any, problem: Any, box: Any) -> Any:
            found = right(action, tests, problem, box)
            refused = problem == coding.problem_of(tasks[1])
            return replace(found, verdicts=("WA", *found.verdicts[1:])) if refused else found

        wrong.setattr(coding, "_judge", judge)
        folder = played(panel, tmp_path / "out")
    assert [line["outcome"] for line in lines(folder)] == [1, -1, 1]
    pool = pool_of(tmp_path / "pool.sqlite", tasks)
    (row,) = again(folder, pool=pool)["changed"]
    assert (row["task"], row["was"], row["now"], row["why"]) == (tasks[1].id, -1, 1, "100.0 % of the hidden tests pass")
    spoil(record_of(folder, tasks[0].id), lambda record: record["turns"][-1].update(action="RUN\n```python\n1\n```"))
    spoil(record_of(folder, tasks[2].id), lambda record: record.update(turns=record["turns"] * 4))
    found = again(folder, pool=pool)
    assert {row["task"]: row["why"] for row in found["changed"] if row["now"] == -1} == {
        tasks[0].id: "the last answer submits no program"
    }
    assert found["not_judged"] == {"it has more answers than the 3 turns of an episode": 1}


def test_exactly_the_desktops_change_whose_metric_was_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    panel = desktop_panel(3)
    tasks = [entry.task for entry in panel.entries]
    pool = pool_of(tmp_path / "pool.sqlite", tasks)
    folder = played(panel, tmp_path / "out", environment=SMALL, keep_results=True)
    assert again(folder, pool=pool)["changed"] == []
    functions = [str(osworld.problem_of(task).evaluator["func"]) for task in tasks]
    metric = METRICS[functions[0]]
    with monkeypatch.context() as mended:
        strict = wraps(metric.function)(lambda *_, **__: 0.0)
        mended.setitem(METRICS, metric.name, replace(metric, function=strict))
        changed = again(folder, pool=pool)["changed"]
    assert {row["task"] for row in changed} == {
        task.id for task, name in zip(tasks, functions, strict=True) if name == functions[0]
    }
    assert {(row["was"], row["now"], row["why"]) for row in changed} == {(1, -1, "the evaluator's score is 0")}
    kept = sorted((folder / "episodes").glob("*.results.gz"))
    kept[0].write_bytes(gzip.compress(b'{"last_action": "DONE", "said": []}\n'))
    kept[1].write_bytes(b"no gzip")
    kept[2].unlink()
    with pytest.raises(BenchmarkError, match="not one of 3 episodes") as raised:
        again(folder, pool=pool)
    assert "for what was not kept" in str(raised.value)
    assert "--keep-results" in str(raised.value)


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        (lambda record: record.update(task_id="alfworld-0123456789abcdef"), "its record is of another task"),
        (lambda record: record.update(goal="put a mug on a shelf"), "its record is of another task"),
        (lambda record: record.update(turns=[]), "it has no answers"),
        (lambda record: record.update(turns="look"), "its record is malformed: turns: Input should be a valid"),
        (lambda record: record["turns"].append({"action": 3}), "its record is malformed: turns.N.action"),
        (lambda record: record.pop("outcome"), "its record is malformed: outcome: Field required"),
    ],
)
def test_a_record_that_is_not_of_its_episode_is_not_judged(copy: Path, how: Spoil, reason: str) -> None:
    spoil(record_of(copy, lines(copy)[0]["task"]), how)
    found = again(copy)
    ((told, count),) = found["not_judged"].items()
    assert told.startswith(reason)
    assert count == 1
    assert found["judged"] == 3
    assert found["changed"] == []


@pytest.mark.parametrize(
    "turns",
    [
        [{"action": "x" * 10_000_000}],
        [{"action": "Action: " * 1_000_000}],
        [{"action": "look"}] * 20_000,
        [{"action": "\ud800\x00"}],
    ],
    ids=["long", "marks", "many", "letters"],
)
def test_no_record_is_a_reward_for_its_claim_or_holds_up_the_others(copy: Path, turns: list[dict[str, str]]) -> None:
    task = lines(copy)[0]["task"]
    spoil(record_of(copy, task), lambda record: record.update(turns=turns, outcome=1))
    (row,) = again(copy)["changed"]
    assert (row["task"], row["was"], row["now"]) == (task, 1, -1)


def test_files_that_are_no_plain_files_are_not_read(copy: Path) -> None:
    one, other, third, _ = (record_of(copy, line["task"]) for line in lines(copy))
    one.unlink()
    os.mkfifo(one)
    other.unlink()
    other.symlink_to("/dev/zero")
    third.write_text("[" * 100_000)
    assert sorted(again(copy)["not_judged"].values()) == [1, 1, 1]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("results.jsonl", "{}\n", r"results\.jsonl, line 1: not a result"),
        ("results.jsonl", None, "the benchmark has no results yet"),
        ("results.jsonl", "", "not one of 0 episodes can be judged again: it holds none"),
        ("benchmark.json", '{"panel": "/dev/zero", "seed": 0}', "'/dev/zero', which is not a shipped panel"),
        ("benchmark.json", '{"panel": "alfworld-easy"}', "names no seed"),
        (
            "benchmark.json",
            '{"panel": "alfworld-easy", "seed": 0, "environment": {"max_episode_steps": 1e99}}',
            "max_episode_steps is not a number from 1 to 10000",
        ),
    ],
)
def test_a_folder_that_cannot_be_judged_says_why(copy: Path, name: str, content: str | None, said: str) -> None:
    (copy / name).unlink()
    if content is not None:
        (copy / name).write_text(content)
    with pytest.raises(BenchmarkError, match=said):
        reverify(copy, workers=1)


def test_settings_of_a_folder_choose_no_sandbox(tmp_path: Path) -> None:
    task = get_domain("coding").generate(0, **STEPS)
    folder = played(Panel("one", "", "coding", {}, (Entry(task),), 1), tmp_path / "out")
    spoil(
        folder / "benchmark.json",
        lambda settings: settings["environment"].update(backend="docker", allow_unsafe=True, tasks="/dev/zero"),
    )
    assert again(folder, pool=pool_of(tmp_path / "pool.sqlite", [task]))["judged"] == 1


def test_the_command_prints_what_changed_and_exits_with_one(copy: Path) -> None:
    runner = CliRunner(env={"COLUMNS": "120", "TERM": "dumb"})
    done = runner.invoke(app, ["reverify", str(copy), "--workers", "1"], catch_exceptions=False)
    assert done.exit_code == 0
    assert "4 of 4 episodes judged again, 0 changed" in done.stdout
    task = lines(copy)[0]["task"]
    spoil(record_of(copy, task), lambda record: record.update(turns=[{"action": "look"}]))
    record_of(copy, lines(copy)[1]["task"]).unlink()
    done = runner.invoke(app, ["reverify", str(copy), "--workers", "1"], catch_exceptions=False)
    assert done.exit_code == 1
    assert "3 of 4 episodes judged again, 1 changed: 0 now solved, 1 now failed" in done.stdout
    assert "not judged again: 1 (25.0 %)" in done.stdout
    assert "1: its answers are not stored" in done.stdout
    assert any(task in line and "solved" in line and "failed" in line for line in done.stdout.splitlines())
    done = runner.invoke(app, ["reverify", str(copy), "--workers", "1", "--json"], catch_exceptions=False)
    assert json.loads(done.stdout)["solved"] == {"before": 3, "now": 2}


@pytest.mark.slow
@pytest.mark.parametrize("domain", ["alfworld", "coding"])
def test_the_episodes_of_a_run_change_where_their_outcomes_were_wrong(domain: str, tmp_path: Path) -> None:
    run = Path(shutil.copytree(small_run(domain), tmp_path / "run"))
    file = run / "trajectories" / "0001.jsonl.gz"
    first = again(run)
    assert first["changed"] == []
    assert first["not_judged"] == {}
    episodes = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    assert first["episodes"] == first["judged"] > len(episodes)
    episodes[2]["outcome"] *= -1
    episodes[3]["task_id"] = "nothing"
    file.write_bytes(gzip.compress(b"".join(json.dumps(episode).encode() + b"\n" for episode in episodes)))
    found = again(run)
    ((row,), lost) = found["changed"], found["not_judged"]
    assert (row["group"], row["episode"], row["was"]) == ("iteration 1", 2, episodes[2]["outcome"])
    assert lost == {"its task is not in the panel or pool": 1}
    assert again(run, pool=run)["changed"] == [row]
    file.write_bytes(file.read_bytes()[:-20])
    assert any("cut short" in reason for reason in again(run)["not_judged"])
    (run / "pool.sqlite").write_bytes(b"nothing")
    with pytest.raises(RunFolderError, match=r"pool\.sqlite cannot be read"):
        reverify(run, workers=1)


@pytest.mark.slow
def test_the_desktops_of_a_run_are_not_kept(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="the results of its desktop are not kept"):
        again(small_run("osworld"))


@pytest.mark.slow
def test_several_processes_find_the_same(games: Path) -> None:
    assert reverify(games, workers=3) == again(games)


@pytest.mark.slow
@pytest.mark.usefixtures("bwrap_desktop")
def test_results_of_real_desktops_are_judged_without_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = played(load_panel("osworld-generated", 2), tmp_path / "out", keep_results=True)
    monkeypatch.setattr(osworld.Machine, "pristine", None)
    found = again(folder)
    assert (found["judged"], found["changed"], found["solved"]) == (2, [], {"before": 2, "now": 2})
