"""Games that begin with a thing in hand or with doors open: format, rules, plans, and the real TextWorld."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from alfworld_scenes import kitchen, random_game
from reference import compare
from test_alfworld_planner import check_wins, shortest_win

from rlanything_verifiers.alfworld import (
    Game,
    GameFormatError,
    Goal,
    Scene,
    World,
    dump_game,
    load_game,
    plan,
    prove,
    write_game,
)


def begin(scene: Scene, holding: str | None = None, opened: tuple[str, ...] = ()) -> Scene:
    """The scene with a thing in hand and some doors open."""
    things = (
        replace(thing, receptacles=(), location=None, inside=()) if thing.id == holding else thing
        for thing in scene.things
    )
    receptacles = (replace(r, opened=r.openable and r.id in opened) for r in scene.receptacles)
    return replace(scene, things=tuple(things), receptacles=tuple(receptacles), holding=holding)


START = begin(kitchen(), "Mug_bar_1", ("Fridge_bar_1", "Drawer_bar_2"))
GAME = Game(START, Goal("cool", "Mug", "Drawer"))


def test_a_start_by_hand() -> None:
    world = World(GAME)
    assert world.reset().endswith(
        "a stoveburner 1.\n\nYou are carrying: a mug 1.\n\nYour task is to: put a cool mug in drawer."
    )
    assert world.inventory == "mug 1"
    assert "examine mug 1" in world.admissible_commands
    assert world.step("go to fridge 1") == "You arrive at fridge 1. The fridge 1 is open. In it, you see a apple 2."
    assert "close fridge 1" in world.admissible_commands
    assert "take apple 2 from fridge 1" not in world.admissible_commands
    assert world.step("cool mug 1 with fridge 1") == "You cool the mug 1 using the fridge 1."
    assert world.step("go to drawer 1").startswith("You arrive at drawer 1. The drawer 1 is open. In it")
    world.step("move mug 1 to drawer 1")
    assert world.won
    assert world.inventory is None
    world.reset()
    assert world.inventory == "mug 1"
    assert prove(GAME) == ["go to fridge 1", "cool mug 1 with fridge 1", "go to drawer 1", "move mug 1 to drawer 1"]


def test_round_trips() -> None:
    assert Scene.from_dict(START.to_dict()) == START
    again = load_game(dump_game(GAME))
    assert again == replace(GAME, walkthrough=tuple(prove(GAME) or ()))
    assert again.scene.holding == "Mug_bar_1"


def test_usual_starts_are_written_as_ever() -> None:
    data = kitchen().to_dict()
    assert set(data) == {"start", "receptacles", "things", "can_contain"}
    assert {len(row) for row in data["receptacles"]} == {4}
    dumped = dump_game(Game(kitchen(), GAME.goal))
    assert "#carried#\\n\\n#task#" not in dumped["grammar"]
    assert "holds" not in dumped["pddl_problem"]
    assert "(opened" not in dumped["pddl_problem"]


@pytest.mark.parametrize(
    "change",
    [
        {"holding": "Pear_bar_1"},
        {"holding": 3},
        {"holding": ["Mug_bar_1"]},
        {"holding": "Mug_bar_1"},  # still on the countertop
        {"holding": "Window_bar_1"},  # cannot be taken
        {"holding": "Fridge_bar_1"},
    ],
)
def test_hands_that_cannot_be(change: dict[str, object]) -> None:
    with pytest.raises(GameFormatError, match="holding"):
        Scene.from_dict({**kitchen().to_dict(), **change})


@pytest.mark.parametrize("ending", [[1], ["true"], [True, True], [None]])
def test_doors_that_cannot_be(ending: list[object]) -> None:
    data = kitchen().to_dict()
    data["receptacles"][0] = data["receptacles"][0][:4] + ending
    with pytest.raises(GameFormatError, match="receptacle"):
        Scene.from_dict(data)


def test_no_door_no_opening() -> None:
    countertop = kitchen().receptacles[0]
    with pytest.raises(GameFormatError, match="no door"):
        replace(kitchen(), receptacles=(replace(countertop, opened=True), *kitchen().receptacles[1:]))


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("(holds agent1 Mug_bar_1)", "", "holds"),
        ("(holdsAny agent1)", "", "holds"),
        ("(holdsAny agent1)", "(holdsAny agent1) (holds agent1 Pan_bar_1)", "holds"),
        ("(holds agent1 Mug_bar_1)", "(holds agent1 Fridge_bar_1)", "Fridge_bar_1"),
        ("(holds agent1 Mug_bar_1)", "(holds agent1 Pan_bar_1)", "pan_bar_1"),
        ("(opened Fridge_bar_1)", "(opened CounterTop_bar_1)", "CounterTop_bar_1"),
    ],
)
def test_malformed_starts_name_the_place(old: str, new: str, named: str) -> None:
    data = dump_game(GAME)
    assert old in data["pddl_problem"]
    with pytest.raises(GameFormatError, match=f"(?i){named}"):
        load_game({**data, "pddl_problem": data["pddl_problem"].replace(old, new, 1)})


def random_start(rng: random.Random, places: int = 3) -> Game:
    """A small game of any kind that begins with something in hand, with some doors open, or both."""
    game = random_game(rng, places=places)
    movable = [thing.id for thing in game.scene.things if thing.pickupable]
    held = rng.choice(movable) if movable and rng.random() < 0.7 else None
    opened = tuple(r.id for r in game.scene.receptacles if r.openable and rng.random() < 0.5)
    return Game(begin(game.scene, held, opened), game.goal)


def test_plans_from_such_starts_are_shortest() -> None:
    met = set()
    for seed in range(120):
        world = World(random_start(random.Random(seed)))
        steps = plan(world)
        if steps is None:
            assert shortest_win(world) is None
            continue
        check_wins(world, steps)
        assert shortest_win(world, limit=len(steps)) == len(steps)
        met.add((world.game.goal.kind, world.game.scene.holding is not None))
    assert len(met) == 12  # six kinds, with and without something in hand


@pytest.mark.textworld
def test_the_start_by_hand_plays_alike(tmp_path: Path) -> None:
    compare(GAME, write_game(GAME, tmp_path / "game.tw-pddl"), steps=50, seed=0)


@pytest.mark.textworld
@pytest.mark.parametrize("number", [4, pytest.param(30, marks=pytest.mark.slow)])
def test_random_starts_play_alike(tmp_path: Path, number: int) -> None:
    played = 0
    for seed in range(1000):
        game = random_start(random.Random(seed), places=4)
        if game.scene.holding and any(r.opened for r in game.scene.receptacles) and prove(game):
            compare(game, write_game(game, tmp_path / f"{seed}.tw-pddl"), steps=30, seed=seed)
            played += 1
        if played == number:
            return
    pytest.fail("too few solvable scenes among the random ones")
