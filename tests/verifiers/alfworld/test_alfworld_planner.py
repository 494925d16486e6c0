"""Plans: they win, they are as short as an exhaustive search finds, and None means unsolvable."""

import cProfile
import random
from pathlib import Path

import pytest
from alfworld_scenes import bedroom, kitchen, random_game

from rlanything_verifiers.alfworld import Game, Goal, Receptacle, Scene, Thing, World, load_game, plan, prove

#: Commands that change nothing a goal can depend on.
_IDLE = {"help", "inventory", "look", "examine", "slice"}


def state_of(world: World) -> tuple[object, ...]:
    marks = (world._clean, world._hot, world._cool, world._toggled)
    return (world._at, world._held, world._opened, tuple(world._contents), *marks)


def shortest_win(world: World, limit: int = 1000) -> int | None:
    """Length of the shortest win by breadth-first search over all commands, or None within the limit."""
    if world.won:
        return 0
    seen, layer = {state_of(world)}, [world]
    for depth in range(1, limit + 1):
        following = []
        for parent in layer:
            for command in parent.admissible_commands:
                if command.split()[0] in _IDLE:
                    continue
                child = parent.copy()
                child.step(command)
                if child.won:
                    return depth
                state = state_of(child)
                if state not in seen:
                    seen.add(state)
                    following.append(child)
        if not following:
            return None
        layer = following
    return None


def wander(world: World, rng: random.Random, steps: int) -> None:
    for _ in range(steps):
        commands = world.admissible_commands
        handy = [command for command in commands if not command.startswith("go to")]
        world.step(rng.choice(handy if rng.random() < 0.6 else commands))


def check_wins(world: World, steps: list[str]) -> None:
    world = world.copy()
    for command in steps:
        assert not world.won
        assert command in world.admissible_commands
        world.step(command)
    assert world.won


def check_against_search(seed: int) -> str:
    rng = random.Random(seed)
    world = World(random_game(rng, places=rng.choice([3, 3, 4])))
    wander(world, rng, rng.randrange(12))
    steps = plan(world)
    if steps is None:
        assert shortest_win(world) is None
        return "unsolvable"
    check_wins(world, steps)
    assert shortest_win(world, limit=len(steps)) == len(steps)
    return world.game.goal.kind if steps else "won"


def test_plans_are_shortest_and_none_means_unsolvable() -> None:
    met = {check_against_search(seed) for seed in (*range(30), 68)}  # 68 has to heat something
    assert met == {"unsolvable", "won", "simple", "clean", "heat", "cool", "two", "look"}


@pytest.mark.slow
def test_plans_are_shortest_and_none_means_unsolvable_often() -> None:
    for seed in (*range(30, 120), *range(1000, 1200)):
        check_against_search(seed)


def test_holding_the_wrong_thing() -> None:
    world = World(Game(kitchen(), Goal("heat", "Apple", "CounterTop")))
    for command in ["go to stoveburner 1", "take pan 1 from stoveburner 1"]:
        world.step(command)
    steps = plan(world)
    assert steps is not None
    check_wins(world, steps)
    assert len(steps) == shortest_win(world, limit=8) == 7  # put the pan down on the way to the apple


def test_what_fits_nowhere_cannot_be_put_down() -> None:
    scene = kitchen()
    loose = type(scene)(scene.start, scene.receptacles, scene.things, frozenset({("Drawer", "Mug")}))
    world = World(Game(loose, Goal("simple", "Mug", "Drawer")))
    assert plan(world) is not None
    world.step("go to countertop 1")
    world.step("take apple 1 from countertop 1")
    assert plan(world) is None


@pytest.mark.parametrize(
    "goal",
    [
        Goal("simple", "Spoon", "Shelf"),  # no such place
        Goal("simple", "Egg", "Drawer"),  # no such thing
        Goal("simple", "Pan", "Drawer"),  # does not fit
        Goal("simple", "Window", "Drawer"),  # cannot be taken
        Goal("heat", "Spoon", "Drawer"),  # cannot be heated
        Goal("two", "Mug", "Drawer"),  # only one
        Goal("two", "Spoon", "Drawer"),  # the second lies in the mug, out of reach
        Goal("look", "Spoon", "DeskLamp"),  # no lamp
        Goal("look", "Spoon", "Mug"),  # no lamp either
    ],
)
def test_unsolvable_goals(goal: Goal) -> None:
    if goal == Goal("two", "Spoon", "Drawer"):
        assert prove(Game(kitchen(), Goal("simple", "Spoon", "Fridge"))) is not None
    assert prove(Game(kitchen(), goal)) is None


def test_planning_is_bounded_in_large_scenes() -> None:
    """Goals and targets on the same spots, the worst case for pairs: four times as many take 16 times the calls."""

    def calls(half: int) -> int:
        shelves = [Receptacle(f"Shelf_bar_{i}", "Shelf", f"loc_bar_{i}", openable=True) for i in range(half)]
        beds = [Receptacle(f"Bed_bar_{i}", "Bed", f"loc_bar_{i}", openable=True) for i in range(half)]
        pens = [Thing(f"Pen_bar_{i}", "Pen", (bed.id,), bed.location, pickupable=True) for i, bed in enumerate(beds)]
        scene = Scene("loc_bar_start", (*shelves, *beds), tuple(pens), frozenset({("Shelf", "Pen"), ("Bed", "Pen")}))
        counted = cProfile.Profile()
        steps = counted.runcall(prove, Game(scene, Goal("two", "Pen", "Shelf")))
        assert steps is not None
        assert len(steps) == 9  # there, open both, take, move; there, open, take; back, move
        return sum(each.callcount for each in counted.getstats())

    assert calls(32) < 24 * calls(8)


def test_already_won_is_an_empty_proof() -> None:
    assert prove(Game(kitchen(), Goal("cool", "Apple", "Fridge"))) == []


def test_planning_leaves_the_world_alone() -> None:
    world = World(Game(bedroom(), Goal("two", "Pen", "Safe")))
    before = state_of(world)
    assert plan(world) == [
        "go to bed 1", "take pen 3 from bed 1", "go to safe 1", "open safe 1", "move pen 3 to safe 1",
    ]  # fmt: skip
    assert state_of(world) == before


def test_official_games_are_proven_no_longer_than_their_walkthroughs(alfworld_data: Path) -> None:
    paths = sorted(alfworld_data.rglob("game.tw-pddl"))
    assert paths
    for path in paths:
        game = load_game(path)
        steps = prove(game)
        assert steps is not None
        assert game.walkthrough is not None
        assert len(steps) <= len(game.walkthrough)


def test_plans_win_from_random_states_of_official_games(alfworld_data: Path) -> None:
    for i, path in enumerate(sorted(alfworld_data.rglob("game.tw-pddl"))):
        game, rng = load_game(path), random.Random(i)
        for _ in range(10):
            world = World(game)
            wander(world, rng, rng.randrange(60))
            steps = plan(world)
            if steps is None:  # some official things, once taken, fit nowhere: a teddy bear, a paper towel roll
                assert not any(fits >> world._held & 1 for fits in game.tables.fits)
                assert world.inventory is not None
                continue
            check_wins(world, steps)
            for command in steps:  # and each step of a plan brings the end one step nearer
                left = plan(world)
                world.step(command)
                rest = plan(world)
                assert left is not None
                assert rest is not None
                assert len(rest) == len(left) - 1
