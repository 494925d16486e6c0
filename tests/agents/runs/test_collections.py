"""Runs on folders of tasks: the official games as pool and as panel, and every key that does not fit them."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from small_runs import SHORT

from rlanything_agents.config import ConfigError, EvaluationConfig, RunConfig
from rlanything_agents.runs.evaluate import panel_tasks
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.preflight import collections_of, preflight
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.train import train
from rlanything_agents.tools.planning.checks import dry_run
from rlanything_task_pools import Outcome, TaskPool, get_domain
from rlanything_task_pools.alfworld import DOMAIN
from rlanything_task_pools.alfworld.rewrite import scene_and_goal
from rlanything_task_pools.collection import Importer, read_collection
from rlanything_task_pools.errors import PoolError
from rlanything_task_pools.export import cut_pool, export_pool
from rlanything_verifiers.alfworld import Game, write_game


@pytest.fixture(autouse=True)
def unread() -> None:
    """Folders are read once in a process, and tests change theirs."""
    read_collection.cache_clear()


@pytest.fixture
def games(tmp_path: Path) -> Path:
    """A folder of five games as ALFWorld lays them out, one of which is broken, and one of a kind that is left out."""
    for seed in range(3):
        task = DOMAIN.generate(seed, rooms=["Bathroom"], kinds=["simple"])
        folder = tmp_path / "games" / f"pick_and_place_simple-A-None-B-{401 + seed}" / "trial_T1"
        write_game(Game(*scene_and_goal(task), task.goal), folder)
    broken = tmp_path / "games" / "pick_and_place_simple-A-None-B-404" / "trial_T1"
    broken.mkdir(parents=True)
    (broken / "game.tw-pddl").write_text("{")
    left_out = tmp_path / "games" / "pick_two_obj_and_place_movable-A-Cup-B-401" / "trial_T1"
    left_out.mkdir(parents=True)
    (left_out / "game.tw-pddl").write_text("{")
    return tmp_path / "games"


def run_on(folder: object, pool_size: int = 3, **evaluation: Any) -> RunConfig:
    curriculum = {**SHORT["curriculum"], "pool": str(folder), "pool_size": pool_size}
    del curriculum["knobs"]
    pools = {"valid_seen": str(folder)}
    rollout = {**SHORT["rollout"], "tasks": 2}
    tree = {**SHORT, "name": "games", "iterations": 2, "rollout": rollout, "curriculum": curriculum}
    return RunConfig.model_validate({**tree, "evaluation": {**SHORT["evaluation"], "pools": pools, **evaluation}})


@pytest.mark.slow
def test_a_run_on_official_games(alfworld_data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Small models play, judge and learn from games as they are shipped, and these are rewritten."""
    monkeypatch.setenv("ALFWORLD_DATA", str(alfworld_data))
    source = "$ALFWORLD_DATA/json_2.1.1/train"
    config = run_on(source, pool_size=4, episodes=6)
    official = {task.id for task in read_collection("alfworld", source).tasks}
    assert len(official) > 20
    threads, folder = torch.get_num_threads(), RunFolder(tmp_path / "run")
    train(config, folder, Reporter.silent(), command="rlanything train")
    torch.set_num_threads(threads)
    after = folder.stage("after")
    assert after is not None
    assert len(after["panels"]["valid_seen"]["outcomes"]) == 6
    assert None not in after["panels"]["valid_seen"]["outcomes"]
    assert [row["env_steps"] > 0 for row in folder.rows()] == [True, True]
    with TaskPool.open(folder.pool) as pool:
        roots = [pool.root(slot) for slot in pool.slots]
        assert {task.id for task in roots} <= official
        assert {task.traits["source"] for task in roots} == {"official"}
        assert any(event.kind in ("proposed", "discarded") for event in pool.events())


def test_a_pool_has_distinct_tasks_of_the_folder_and_a_panel_repeats_them(games: Path) -> None:
    config = run_on(games, episodes=7)
    preflight(config, RunFolder(games / "run"))
    found = dict(collections_of(config))
    assert list(found) == ["curriculum.pool", "evaluation.pools.valid_seen"]
    assert len(found["curriculum.pool"].tasks) == 3
    (broken,) = found["curriculum.pool"].refused
    assert "404" in broken
    domain = get_domain("alfworld")
    tasks = [task.id for task in panel_tasks(domain, "valid_seen", config.evaluation)]
    assert (len(tasks), len(set(tasks))) == (7, 3)
    assert tasks[:3] == tasks[3:6]
    fewer = [task.id for task in panel_tasks(domain, "valid_seen", config.evaluation, 2)]
    assert fewer == tasks[:2]
    other = config.evaluation.model_copy(update={"seed": 5})
    assert {task.id for task in panel_tasks(domain, "valid_seen", other)} == set(tasks)


def test_what_a_dry_run_says_of_folders(games: Path, tmp_path: Path) -> None:
    findings = {finding.topic: finding for finding in dry_run(run_on(games), RunFolder(tmp_path / "run"))}
    assert findings["curriculum.pool"].good is None
    assert findings["curriculum.pool"].said.startswith("3 tasks; 1 refused, as ")
    absent = {finding.topic: finding for finding in dry_run(run_on("$NO/x"), RunFolder(tmp_path / "run"))}
    assert absent["domain"].good is False
    assert "curriculum.pool: there is no file or folder" in absent["domain"].said


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("nowhere", "no file or folder .*nowhere"),
        ("$NOT_SET_HERE/x", "a variable of which is not set"),
        ("", "no task of"),
    ],
)
def test_a_folder_without_tasks_is_refused_by_its_key(tmp_path: Path, source: str, said: str) -> None:
    folder = source if "$" in source else tmp_path / source
    with pytest.raises(ConfigError, match=rf"curriculum\.pool: .*{said}"):
        preflight(run_on(folder), RunFolder(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_folder_with_too_few_tasks_is_refused_by_its_key(games: Path) -> None:
    with pytest.raises(ConfigError, match=r"curriculum\.pool: .*3 tasks \(1 refused\).*pool_size to 3 or less"):
        preflight(run_on(games, pool_size=5), RunFolder(games / "run"))


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"evaluation": {"pools": {"elsewhere": "x"}}}, "`pools` names elsewhere, and `panels` has valid_seen"),
        ({"evaluation": {"panels": ["a"], "pools": {"a": "x"}, "knobs": {"kinds": ["heat"]}}}, "leave one out"),
    ],
)
def test_keys_that_contradict_a_folder(section: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        RunConfig.model_validate({"name": "x", **section})
    assert EvaluationConfig(panels=("a", "b"), pools={"a": "x"}, knobs=({"knobs": {}},)).generated == ("b",)  # type: ignore[arg-type]


def test_other_domains_read_folders_too(alfworld_data: Path, tmp_path: Path) -> None:
    """Task files of OSWorld as they are shipped, and a coding problem; a broken file is refused with its reason."""
    desktops = read_collection("osworld", str(alfworld_data.parent / "osworld"))
    assert len(desktops.tasks) >= 10
    assert not desktops.refused
    problem = {"question": "Print the number.", "test_input": ["1\n"], "test_output": ["1\n"]}
    rows = tmp_path / "problems.jsonl"
    rows.write_text(f"{json.dumps(problem)}\n[]\n")
    problems = read_collection("coding", str(rows))
    assert [task.domain for task in problems.tasks] == ["coding"]
    assert [place.endswith("line 2") for place in problems.refused] == [True]


@pytest.fixture
def profiled(tmp_path: Path) -> Path:
    """A pool whose four tasks were solved 0, 1, 2 and 4 times of 4, in the folder of a run."""
    path = tmp_path / "profiled" / "pool.sqlite"
    path.parent.mkdir()
    tasks = [DOMAIN.generate(seed, rooms=["Bathroom"], kinds=["simple"]) for seed in range(4)]
    with TaskPool.create(path, tasks) as pool:
        for slot, solved in enumerate((0, 1, 2, 4)):
            ends = [Outcome(success=n < solved, score=0.0, steps=3, actor="a", role="active") for n in range(4)]
            pool.record(slot, tasks[slot].id, ends)
        export_pool(cut_pool(pool, 0.2, 0.6), tmp_path / "cut")
        export_pool(pool, tmp_path / "whole", "parquet")
    return tmp_path


@pytest.mark.parametrize(("name", "kept"), [("profiled", 4), ("profiled/pool.sqlite", 4), ("whole", 4), ("cut", 2)])
def test_tasks_of_a_pool(profiled: Path, name: str, kept: int) -> None:
    found = read_collection("alfworld", str(profiled / name))
    assert len(found.tasks) == kept
    assert not found.refused
    with pytest.raises(PoolError, match=r"no task of the domain coding; alfworld-.*: a task of the domain alfworld"):
        read_collection("coding", str(profiled / name))


def test_a_proof_of_a_task_of_a_pool_must_hold(tmp_path: Path) -> None:
    """A task without one is kept: many imported problems have none."""
    without = DOMAIN.generate(1).model_copy(update={"proof": ()})
    wrong = DOMAIN.generate(2).model_copy(update={"proof": ("look",)})
    with TaskPool.create(tmp_path / "a.sqlite", [without, wrong]):
        found = read_collection("alfworld", str(tmp_path / "a.sqlite"))
    assert [task.id for task in found.tasks] == [without.id]
    assert list(found.refused) == [wrong.id]


def test_a_damaged_pool_is_refused(profiled: Path) -> None:
    path = profiled / "profiled" / "pool.sqlite"
    data = bytearray(path.read_bytes())
    data[4096 : len(data) - 4096] = bytes(len(data) - 8192)
    path.write_bytes(data)
    with pytest.raises(PoolError, match=r"pool\.sqlite"):
        read_collection("alfworld", str(path))
    path.write_bytes(b"SQLite format 3\0")
    with pytest.raises(PoolError, match=r"pool\.sqlite"):
        read_collection("alfworld", str(path))


def test_a_run_on_the_cut_of_a_pool(profiled: Path) -> None:
    """Profile, cut, train: what `rlanything pool export --between` writes is the pool of a run."""
    preflight(config := run_on(profiled / "cut", pool_size=2), folder := RunFolder(profiled / "run"))
    train(config, folder, Reporter.silent(), command="rlanything train")
    with TaskPool.open(folder.pool) as pool:
        cut = {task.id for task in read_collection("alfworld", str(profiled / "cut")).tasks}
        assert {pool.root(slot).id for slot in pool.slots} == cut


def test_a_domain_without_an_importer_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Toy:
        name = "toy"

    monkeypatch.setattr("rlanything_task_pools.collection.get_domain", lambda name: Toy())
    with pytest.raises(PoolError, match="the domain toy reads no folders of tasks"):
        read_collection("toy", str(tmp_path))
    for name in ("alfworld", "coding", "osworld"):
        assert isinstance(get_domain(name), Importer)
