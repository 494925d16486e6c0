"""Game files: round trips, refusals, hostile text."""

import json
import random
import time
from pathlib import Path

import pytest
from alfworld_scenes import bedroom, kitchen, random_game
from hypothesis import given
from hypothesis import strategies as st

from rlanything_verifiers.alfworld import (
    TASK_TYPES,
    Game,
    GameFormatError,
    Goal,
    Receptacle,
    Scene,
    Thing,
    World,
    dump_game,
    load_game,
    write_game,
)

GAME = Game(kitchen(), Goal("clean", "Mug", "Drawer"), "wash a mug, then put it in a drawer.")
FILE = dump_game(GAME)


@given(st.integers(0, 10**9))
def test_scene_round_trips(seed: int) -> None:
    game = random_game(random.Random(seed), places=6, things=6)
    data = json.loads(json.dumps(game.scene.to_dict()))
    assert Scene.from_dict(data) == game.scene
    back = load_game(json.loads(json.dumps(dump_game(game))))
    assert (back.scene, back.goal, back.sentence) == (game.scene, game.goal, game.sentence)


def test_file_folder_and_mapping_are_read_alike(tmp_path: Path) -> None:
    written = write_game(GAME, tmp_path / "deep" / "folder")
    assert written == tmp_path / "deep" / "folder" / "game.tw-pddl"
    games = [load_game(written), load_game(str(written.parent)), load_game(FILE)]
    for game in games:
        assert (game.scene, game.goal, game.sentence) == (GAME.scene, GAME.goal, GAME.sentence)
    assert write_game(GAME, tmp_path / "other.tw-pddl").exists()


def test_written_walkthrough_wins() -> None:
    world = World(load_game(FILE))
    for command in FILE["walkthrough"]:
        assert command in world.admissible_commands
        world.step(command)
    assert world.won
    assert FILE["solvable"] is True


def test_unsolvable_games_say_so() -> None:
    data = dump_game(Game(bedroom(), Goal("simple", "Book", "Shelf")))
    assert (data["solvable"], data["walkthrough"]) == (False, [])


def test_only_tw_pddl_endings_are_written(tmp_path: Path) -> None:
    with pytest.raises(GameFormatError, match="tw-pddl"):
        write_game(GAME, tmp_path / "game.json")


def test_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_game(tmp_path / "nothing.tw-pddl")


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"pddl_problem": 3}'])
def test_files_that_are_no_games(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "game.tw-pddl"
    path.write_bytes(content)
    with pytest.raises(GameFormatError, match=r"game\.tw-pddl"):
        load_game(path)


def test_huge_files_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "game.tw-pddl"
    path.write_bytes(b" " * 4_000_001)
    with pytest.raises(GameFormatError, match="larger"):
        load_game(path)


def problem(old: str, new: str) -> dict[str, object]:
    text = str(FILE["pddl_problem"])
    assert old in text
    return {**FILE, "pddl_problem": text.replace(old, new, 1)}


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("(:init", "(:start", ":init"),
        ("(openable Drawer_bar_1)", "(opened Drawer_bar_1)", "opened"),
        ("(openable Drawer_bar_1)", "(openable Drawer_bar_9)", "Drawer_bar_9"),
        ("(openable Drawer_bar_1)", "(openable Apple_bar_1)", "Apple_bar_1"),
        ("(openable Drawer_bar_1)", "(openable Drawer_bar_1 Drawer_bar_2)", "1 arguments"),
        ("(openable Drawer_bar_1)", "((openable Drawer_bar_1))", "brackets"),
        ("(openable Drawer_bar_1)", "openable Drawer_bar_1)", "brackets"),
        ("(atLocation agent1 loc_bar_0_bar_0)", "", "atLocation"),
        (
            "(objectType Mug_bar_1 MugType)",
            "(objectType Mug_bar_1 MugType) (objectType Mug_bar_1 PanType)",
            "two values",
        ),
        ("(receptacleAtLocation Fridge_bar_1 loc_bar_3)", "", "receptacleAtLocation"),
        ("Window_bar_1 - object", "Window_bar_1", "has no type"),
        ("Mug_bar_1 - object", "Mug_bar_1 - object\nMug_bar_1 - receptacle", "two types"),
    ],
)
def test_malformed_problems_name_the_place(old: str, new: str, named: str) -> None:
    with pytest.raises(GameFormatError, match=f"(?i){named}"):
        load_game(problem(old, new))


@pytest.mark.parametrize(
    "sentence", ['say "hi".', "#task#", "a {x}.", "[x]", "a|b", "<x>", "two\nlines", " blank", "a" * 501]
)
def test_sentences_the_grammar_would_interpret_are_refused(sentence: str) -> None:
    with pytest.raises(GameFormatError, match="sentence"):
        Game(GAME.scene, GAME.goal, sentence)


def test_the_sentence_is_optional_in_a_file() -> None:
    assert load_game({**FILE, "grammar": ""}).sentence == "put a clean mug in drawer."


@pytest.mark.parametrize("walkthrough", ["look", [3], ["x"] * 2000, {"a": 1}])
def test_bad_walkthroughs_are_refused(walkthrough: object) -> None:
    with pytest.raises(GameFormatError, match="walkthrough"):
        load_game({**FILE, "walkthrough": walkthrough})


def one(**changes: object) -> Scene:
    thing = {"id": "Mug_bar_1", "type": "Mug", "receptacles": ("Bed_bar_1",), "location": "loc_bar_1", **changes}
    return Scene("loc_bar_0", (Receptacle("Bed_bar_1", "Bed", "loc_bar_1"),), (Thing(**thing),), frozenset())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "Mug"},
        {"id": "Mug_bar_1) (x"},
        {"id": "loc_bar_7"},
        {"id": "Bed_bar_1"},
        {"id": "BED_bar_1"},
        {"type": "Bed"},
        {"type": "a b"},
        {"receptacles": ("Bed_bar_2",)},
        {"receptacles": ["Bed_bar_1"]},
        {"location": "Bed_bar_1"},
        {"inside": "Mug_bar_1"},
        {"inside": ("Cup_bar_1",)},
        {"pickupable": 1},
        {"pickupable": True, "toggleable": True},
    ],
)
def test_bad_scenes_are_refused(changes: dict[str, object]) -> None:
    assert one().things[0].receptacles[0] == "Bed_bar_1"
    with pytest.raises(GameFormatError):
        one(**changes)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 500_000,
        "(:objects" + " a" * 400_000,
        "(:objects)(:init" + "(" * 300_000 + "(:goal (and))",
        "(:objects)(:init (a))(:goal " + "(and " * 100_000,
        "(:objects)(:init (a))(:goal (" + "x" * 900_000 + "))",
        "( " * 400_000 + ":goal",
        "(" + " " * 900_000 + ":goal)",
        ";" * 900_000,
    ],
)
def test_hostile_text_is_refused_at_once(text: str) -> None:
    begin = time.process_time()
    with pytest.raises(GameFormatError):
        load_game({**FILE, "pddl_problem": text})
    assert time.process_time() - begin < 20  # quadratic time would be hours


def test_official_games_round_trip(alfworld_data: Path) -> None:
    for path in sorted(alfworld_data.rglob("game.tw-pddl"))[::4]:
        game = load_game(path)
        again = load_game(dump_game(game))
        assert (again.scene, again.goal, again.sentence) == (game.scene, game.goal, game.sentence)
        assert Scene.from_dict(game.scene.to_dict()) == game.scene


def test_official_goals_agree_with_their_folders(alfworld_data: Path) -> None:
    paths = sorted(alfworld_data.rglob("game.tw-pddl"))
    assert paths
    for path in paths:
        game = load_game(path.parent)
        task_type, object_type, _, receptacle_type, _ = path.parent.parent.name.split("-")
        goal = game.goal
        assert (TASK_TYPES[goal.kind], goal.object_type) == (task_type, object_type)
        # The basin is the receptacle of what a folder calls a sink.
        assert goal.receptacle_type.removesuffix("Basin") == receptacle_type.removesuffix("Basin")
        assert game.sentence in (goal.sentence(0), goal.sentence(1))
