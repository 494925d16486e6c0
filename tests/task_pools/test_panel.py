"""Panels: the same tasks everywhere, or a typed error that says what was expected and what was found."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rlanything_task_pools import PoolError, Task, TaskPool, get_domain
from rlanything_task_pools.panel import (
    Panel,
    Part,
    Recipe,
    load_panel,
    panel_hash,
    panel_names,
    pin,
    pool_panel,
    read_recipe,
)
from rlanything_verifiers.alfworld import Game, Goal, Scene, write_game

GENERATED = ("alfworld-easy", "alfworld-medium", "alfworld-hard", "osworld-generated", "coding-generated")
OFFICIAL = {"alfworld-valid-seen": 140, "alfworld-valid-unseen": 134}


def small(**changes: Any) -> Recipe:
    """A recipe of three games, pinned as they are made."""
    fields: dict[str, Any] = {
        "name": "small",
        "meaning": "",
        "domain": "alfworld",
        "count": 3,
        "parts": [{"split": "valid_seen"}, {"split": "valid_unseen"}],
    }
    return pin(Recipe.model_validate({**fields, **changes}))


def adapted(task: Task) -> Task:
    """A task made from this one."""
    domain, rng = get_domain(task.domain), np.random.default_rng(0)
    for direction in ("easier", "harder"):
        for proposal in domain.propose(task, direction, rng):
            found = domain.validate(task, proposal, direction=direction, author="scripted")
            if isinstance(found, Task):
                return found
    raise AssertionError("no rewrite")


def test_the_panels_that_are_shipped() -> None:
    assert set(panel_names()) == {*GENERATED, *OFFICIAL}
    for name in panel_names():
        recipe = read_recipe(name)
        assert recipe.name == name
        assert recipe.meaning.endswith(".")
        assert get_domain(recipe.domain)
        assert recipe.count == OFFICIAL.get(name, len(recipe.tasks))
        assert len(set(recipe.tasks)) == len(recipe.tasks)
        assert (recipe.hash is None) == (name in OFFICIAL)


@pytest.mark.parametrize("name", GENERATED)
def test_a_beginning_of_a_panel_is_pinned_too(name: str) -> None:
    limit = None if name == "coding-generated" else 2  # all of it: whoever changes a family's program changes its tasks
    panel, recipe = load_panel(name, limit=limit), read_recipe(name)
    assert [entry.task.id for entry in panel.entries] == list(recipe.tasks[:limit])
    assert (panel.total, panel.hash) == (recipe.count, panel_hash(recipe.tasks[:limit]))
    assert {entry.task.traits["split"] for entry in panel.entries} == {part.split for part in recipe.parts[:limit]}


@pytest.mark.slow
@pytest.mark.parametrize("name", GENERATED)
def test_a_whole_panel_is_what_its_recipe_says(name: str) -> None:
    panel = load_panel(name)
    assert panel.hash == read_recipe(name).hash
    for entry in panel.entries:
        assert get_domain(panel.domain).verify(entry.task) is None


def test_other_tasks_are_refused_with_both_hashes() -> None:
    pinned, other = small(), small(seed=9)
    changed = pinned.model_copy(update={"seed": 9})
    with pytest.raises(PoolError) as refused:
        load_panel(changed)
    for word in (str(pinned.hash), str(other.hash), pinned.tasks[0], other.tasks[0], "task 0"):
        assert word in str(refused.value)
    assert load_panel(pinned).hash == pinned.hash


def test_a_recipe_must_agree_with_itself(tmp_path: Path) -> None:
    file, recipe = tmp_path / "small.json", small()
    record = json.loads(recipe.model_dump_json())
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"hash": "0" * 16}, str(recipe.hash)),
        ({"tasks": record["tasks"][:2]}, "2 tasks are listed"),
        ({"hash": None}, "without their hash"),
        ({"official": "valid_seen"}, "either parts or official"),
        ({"parts": []}, "either parts or official"),
        ({"parts": [{"split": "test"}]}, "parts.0.split"),
        ({"count": 0}, "count"),
        ({"color": "red"}, "color"),
    ]
    for change, told in wrong:
        file.write_text(json.dumps({**record, **change}))
        with pytest.raises(PoolError, match=told):
            load_panel(file)
    file.write_text(json.dumps(record))
    assert load_panel(file).hash == recipe.hash


def test_no_such_panel_and_no_tasks() -> None:
    with pytest.raises(PoolError, match="alfworld-easy"):
        load_panel("alfworld-simple")
    for limit in (0, -1):
        with pytest.raises(PoolError, match="leaves no task"):
            load_panel("alfworld-easy", limit)
    assert len(load_panel(small(), 10_000).entries) == 3


def test_a_panel_holds_no_task_twice() -> None:
    part = Part(split="train")
    recipe = Recipe(name="twice", meaning="M.", domain="alfworld", count=4, parts=(part, part))
    with pytest.raises(PoolError, match="panel twice: tasks 0 and 1 are the same"):
        pin(recipe)


def test_official_games_are_pinned_by_their_number(alfworld_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    with pytest.raises(PoolError, match="ALFWORLD_DATA"):
        load_panel("alfworld-valid-seen")
    monkeypatch.setenv("ALFWORLD_DATA", str(alfworld_data))
    count = len(list((alfworld_data / "json_2.1.1" / "train").glob("*/*/game.tw-pddl")))
    official: dict[str, Any] = {"name": "train", "meaning": "", "domain": "alfworld", "official": "train"}
    panel = load_panel(Recipe.model_validate({**official, "count": count}), limit=2)
    assert [entry.task.traits["source"] for entry in panel.entries] == ["official"] * 2
    assert panel.total == count
    with pytest.raises(PoolError, match=f"expected {count + 1} games .* found {count}"):
        load_panel(Recipe.model_validate({**official, "count": count + 1}), limit=2)
    with pytest.raises(PoolError, match="no official games"):
        load_panel(Recipe.model_validate({**official, "domain": "coding", "count": 1}))


def official_folder(root: Path, broken: Mapping[int, str], count: int = 4) -> Recipe:
    """Games of ours in the folders of an official split, some with another content; and the recipe of all."""
    for number in range(count):
        task = get_domain("alfworld").generate(number, rooms=["Bathroom"])
        game = Game(Scene.from_dict(task.payload["scene"]), Goal.from_dict(task.payload["goal"]), task.goal)
        path = write_game(game, root / f"json_2.1.1/valid_seen/game-{number}/trial_{number}")
        if number in broken:
            path.write_text(broken[number])
    return Recipe.model_validate(
        {"name": "few", "meaning": "Few.", "domain": "alfworld", "official": "valid_seen", "count": count}
    )


def test_an_unreadable_game_leaves_the_others_of_a_panel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    whole = official_folder(tmp_path, {})
    pinned = pin(whole)
    official_folder(tmp_path, {1: "{", 3: json.dumps({"pddl_problem": "(define)", "grammar": ""})})
    panel = load_panel(whole)
    assert [entry.task.id for entry in panel.entries] == [pinned.tasks[0], pinned.tasks[2]]
    names = ["valid_seen/game-1/trial_1", "valid_seen/game-3/trial_3"]
    assert [(game.task, game.place) for game in panel.unreadable] == list(zip(names, [1, 3], strict=True))
    assert "game-1" in panel.unreadable[0].error
    assert "not JSON" in panel.unreadable[0].error
    assert panel.hash == panel_hash([pinned.tasks[0], names[0], pinned.tasks[2], names[1]]) != pinned.hash
    with pytest.raises(PoolError, match="2 games cannot be read"):
        pin(whole)
    assert len(load_panel(whole, limit=1).entries) == 1

    known = load_panel(pinned)  # what is pinned for an unreadable game says which task is missing
    assert [game.task for game in known.unreadable] == [pinned.tasks[1], pinned.tasks[3]]
    assert known.hash == pinned.hash
    other = Recipe.model_validate(
        {**pinned.model_dump(), "tasks": pinned.tasks[::-1], "hash": panel_hash(pinned.tasks[::-1])}
    )
    with pytest.raises(PoolError, match="the first that differs is task 0"):
        load_panel(other)


def test_a_panel_of_which_nothing_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    recipe = official_folder(tmp_path, {0: "", 1: "[]"}, count=2)
    with pytest.raises(PoolError, match=r"not one of 2 games can be read.*game-0"):
        load_panel(recipe)


def test_both_official_splits_load_whole(alfworld_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """140 and 134 folders made of the few games that are here: the count is what is checked."""
    games = sorted((alfworld_data / "json_2.1.1" / "train").glob("*/*/game.tw-pddl"))
    for name, count in OFFICIAL.items():
        split = name.removeprefix("alfworld-").replace("-", "_")
        for number in range(count):
            game = games[number % len(games)]
            trial = tmp_path / "json_2.1.1" / split / game.parent.parent.name / f"trial_{number:03}"
            trial.mkdir(parents=True)
            shutil.copy(game, trial)
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    for name, count in OFFICIAL.items():
        panel = load_panel(name, limit=3)
        assert (len(panel.entries), panel.total) == (3, count)
        assert load_panel(name, limit=3).hash == panel.hash


def test_a_pool_is_roots_beside_what_became_of_them(tmp_path: Path) -> None:
    roots = [get_domain("alfworld").generate(seed) for seed in range(3)]
    new = adapted(roots[1])
    with TaskPool.create(tmp_path / "pool.sqlite", roots) as pool:
        before = pool_panel(pool.path)
        pool.propose(1, new)
        assert pool_panel(pool.path).hash == before.hash, "a candidate is not active"
        pool.accept(1, "test")
    panel = pool_panel(tmp_path / "pool.sqlite")
    told = [(entry.group, entry.task.id) for entry in panel.entries]
    assert told == [("root", roots[0].id), ("root", roots[1].id), ("adapted", new.id), ("root", roots[2].id)]
    assert (panel.domain, panel.total) == ("alfworld", 4)
    assert panel.hash == panel_hash(" ".join(pair) for pair in told) != before.hash
    assert [entry.group for entry in pool_panel(tmp_path / "pool.sqlite", 3).entries] == ["root", "root", "adapted"]
    with pytest.raises(PoolError, match="no task pool"):
        pool_panel(tmp_path / "none.sqlite")


def test_a_pool_of_several_domains_is_no_panel(tmp_path: Path) -> None:
    tasks = [Task(domain=name, goal="go", payload={}) for name in ("alfworld", "coding")]
    with TaskPool.create(tmp_path / "pool.sqlite", tasks):
        pass
    with pytest.raises(PoolError, match="2 domains"):
        pool_panel(tmp_path / "pool.sqlite")


def test_a_panel_without_groups_hashes_its_ids_alone() -> None:
    panel: Panel = load_panel(small())
    assert panel.hash == panel_hash(entry.task.id for entry in panel.entries)
