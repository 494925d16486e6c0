"""Official games: found in a stable order, loaded as proved tasks, and rewritten like any other."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from alfworld_tasks import replay

from rlanything_task_pools import Task
from rlanything_task_pools.alfworld import DOMAIN, find_games
from rlanything_task_pools.alfworld.games import game_of
from rlanything_task_pools.errors import PoolError
from rlanything_verifiers.alfworld import TASK_TYPES, Game, GameFormatError, Goal, Scene, load_game, write_game


def test_find_and_load(alfworld_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    games = find_games(alfworld_data)
    assert len(games) == 58
    assert games == sorted(games, key=lambda path: path.parts)
    assert find_games(alfworld_data / "json_2.1.1") == games
    monkeypatch.setenv("ALFWORLD_DATA", str(alfworld_data))
    assert find_games() == games
    for path in games:
        task = DOMAIN.load(path)
        assert replay(task).won
        kind, thing, _, home, scene = path.parent.parent.name.split("-")
        goal = Goal.from_dict(task.payload["goal"])
        assert (TASK_TYPES[goal.kind], goal.object_type, goal.receptacle_type) == (kind, thing, home)
        assert (task.traits["scene"], task.traits["split"]) == (int(scene), "train")
        assert task.goal == load_game(path).sentence
        assert Task.from_json(task.to_json()) == task
        assert DOMAIN.load(path.parent).id == task.id


def test_official_games_are_rewritten(alfworld_data: Path) -> None:
    made = 0
    for path in find_games(alfworld_data)[::4]:
        task = DOMAIN.load(path)
        for proposal in DOMAIN.propose(task, "easier", np.random.default_rng(0))[:4]:
            new = DOMAIN.validate(task, proposal, direction="easier", author="scripted")
            if isinstance(new, Task):
                assert replay(new).won
                made += 1
    assert made > 20


def test_no_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    with pytest.raises(PoolError, match="ALFWORLD_DATA"):
        find_games()
    with pytest.raises(PoolError, match=r"json_2\.1\.1.*alfworld-download"):
        find_games(tmp_path)
    with pytest.raises(PoolError, match="valid_seen"):
        find_games(tmp_path, "test")


def test_order_does_not_come_from_the_file_system(tmp_path: Path) -> None:
    names = ["b-1", "a-2", "c-0", "a-10", "movable-x", "AppleSliced-y"]
    for name in names:
        game = tmp_path / "json_2.1.1" / "valid_seen" / name / "trial" / "game.tw-pddl"
        game.parent.mkdir(parents=True)
        game.touch()
    found = [path.parent.parent.name for path in find_games(tmp_path, "valid_seen")]
    assert found == ["a-10", "a-2", "b-1", "c-0"]


def test_own_games_load_from_anywhere(tmp_path: Path) -> None:
    task = DOMAIN.generate(1)
    scene, goal = Scene.from_dict(task.payload["scene"]), Goal.from_dict(task.payload["goal"])
    write_game(Game(scene, goal, sentence=task.goal), tmp_path / "game.tw-pddl")
    again = DOMAIN.load(tmp_path / "game.tw-pddl")
    assert (again.goal, again.payload["goal"]) == (task.goal, task.payload["goal"])
    assert (again.traits["room"], again.traits["scene"], again.traits["split"]) == ("unknown", 0, "none")
    assert len(again.proof) == len(task.proof)


def test_a_folder_of_a_scene_that_no_room_has(tmp_path: Path) -> None:
    write_game(game_of(DOMAIN.generate(0)), tmp_path / "pick_and_place_simple-Mug-None-Desk-150" / "trial_1")
    (task,) = DOMAIN.load_all(tmp_path).tasks
    assert (task.traits["room"], task.traits["scene"]) == ("unknown", 0)


def test_unsolvable_and_broken_files(tmp_path: Path) -> None:
    task = DOMAIN.generate(1, kinds=["simple"], copies=1)
    scene, goal = Scene.from_dict(task.payload["scene"]), Goal.from_dict(task.payload["goal"])
    path = tmp_path / "game.tw-pddl"
    write_game(Game(scene, Goal("two", goal.object_type, goal.receptacle_type)), path)
    with pytest.raises(GameFormatError, match="no plan"):
        DOMAIN.load(path)
    path.write_text("{")
    with pytest.raises(GameFormatError):
        DOMAIN.load(path)
    shutil.rmtree(tmp_path)
    with pytest.raises((GameFormatError, FileNotFoundError)):
        DOMAIN.load(path)
