"""The engine: known answers, and laws that hold in every state."""

import pickle
import random
import sys
from itertools import product
from pathlib import Path

import pytest
from alfworld_scenes import bedroom, kitchen, random_game
from hypothesis import given
from hypothesis import strategies as st

from rlanything_verifiers.alfworld import Game, Goal, World, load_game

KITCHEN = Game(kitchen(), Goal("clean", "Mug", "Drawer"))


def play(world: World, *commands: str) -> str:
    said = ""
    for command in commands:
        assert command in world.admissible_commands
        said = world.step(command)
    return said


def test_intro_lists_what_is_around_and_tells_the_task() -> None:
    assert World(KITCHEN).reset() == (
        "-= Welcome to TextWorld, ALFRED! =-\n\n"
        "You are in the middle of a room. Looking quickly around you, you see"
        " a countertop 1, a drawer 2, a drawer 1, a fridge 1, a microwave 1, a sinkbasin 1, a stoveburner 2,"
        " and a stoveburner 1.\n\n"
        "Your task is to: put a clean mug in drawer."
    )


def test_a_whole_game() -> None:
    world = World(KITCHEN)
    transcript = [
        ("look", "You are in the middle of a room. Looking quickly around you, you see nothing."),
        ("inventory", "You are not carrying anything."),
        ("go to countertop 1", "You arrive at countertop 1. On the countertop 1, you see a apple 1, and a mug 1."),
        ("look", "You are facing the countertop 1, and sinkbasin 1. Next to it, you see nothing."),
        ("take mug 1 from countertop 1", "You pick up the mug 1 from the countertop 1."),
        ("inventory", "You are carrying: a mug 1."),
        ("examine mug 1", "This is a normal mug 1. In it, you see a spoon 2."),
        ("clean mug 1 with sinkbasin 1", "You clean the mug 1 using the sinkbasin 1."),
        ("move mug 1 to sinkbasin 1", "You move the mug 1 to the sinkbasin 1."),
        ("look", "You are facing the countertop 1, and sinkbasin 1. Next to it, you see a mug 1."),
        ("take mug 1 from sinkbasin 1", "You pick up the mug 1 from the sinkbasin 1."),
        ("go to drawer 2", "You arrive at drawer 2. The drawer 2 is closed."),
        ("open drawer 1", "You open the drawer 1. The drawer 1 is open. In it, you see a spoon 1."),
        ("move mug 1 to drawer 1", "You move the mug 1 to the drawer 1."),
        ("examine drawer 1", "The drawer 1 is open. In it, you see a mug 1, and a spoon 1."),
        ("close drawer 1", "You close the drawer 1."),
    ]
    for command, answer in transcript:
        assert command in world.admissible_commands
        assert world.step(command) == answer
    assert world.won


def test_admissible_commands_known_lists() -> None:
    world = World(KITCHEN)
    everywhere = [
        "countertop 1", "drawer 1", "drawer 2", "fridge 1", "microwave 1", "sinkbasin 1", "stoveburner 1",
        "stoveburner 2",
    ]  # fmt: skip
    assert world.admissible_commands == [*(f"go to {r}" for r in everywhere), "help", "inventory", "look"]
    world.step("go to drawer 1")
    world.step("open drawer 2")
    away = [f"go to {r}" for r in everywhere if not r.startswith("drawer")]
    fixed = ["help", "inventory", "look"]
    assert world.admissible_commands == [
        "close drawer 2", "examine drawer 1", "examine drawer 2", *away, *fixed, "open drawer 1",
        "take knife 1 from drawer 2",
    ]  # fmt: skip
    world.step("take knife 1 from drawer 2")
    assert world.admissible_commands == [
        "close drawer 2", "examine drawer 1", "examine drawer 2", "examine knife 1", *away, *fixed,
        "move knife 1 to drawer 2", "open drawer 1",
    ]  # fmt: skip


def test_heat_cool_clean_and_slice_show_when_examined() -> None:
    world = World(KITCHEN)
    play(world, "go to countertop 1", "take apple 1 from countertop 1")
    assert world.step("examine apple 1") == "There's nothing special about apple 1."
    play(world, "clean apple 1 with sinkbasin 1")
    assert world.step("examine apple 1") == "This is a clean apple 1."
    play(world, "go to microwave 1", "heat apple 1 with microwave 1")  # through the closed door
    assert world.step("examine apple 1") == "This is a hot and clean apple 1."
    play(world, "go to fridge 1", "cool apple 1 with fridge 1")
    assert world.step("examine apple 1") == "This is a cool and clean apple 1."
    play(world, "go to countertop 1", "move apple 1 to countertop 1", "go to drawer 1", "open drawer 2")
    play(world, "take knife 1 from drawer 2", "go to countertop 1", "slice apple 1 with knife 1")
    play(world, "move knife 1 to countertop 1", "take apple 1 from countertop 1")
    assert world.step("examine apple 1") == "This is a cool and clean sliced apple 1."


def test_what_starts_cool_is_cold_and_heating_undoes_it() -> None:
    world = World(KITCHEN)
    play(world, "go to fridge 1", "open fridge 1", "take apple 2 from fridge 1")
    assert world.step("examine apple 2") == "This is a cold apple 2."
    play(world, "go to microwave 1", "heat apple 2 with microwave 1")
    assert world.step("examine apple 2") == "This is a hot apple 2."


def test_a_thing_in_two_receptacles_stays_in_the_other() -> None:
    world = World(KITCHEN)
    play(world, "go to stoveburner 1", "take pan 1 from stoveburner 1")
    play(world, "go to stoveburner 2")
    assert world.step("examine stoveburner 2") == "On the stoveburner 2, you see a pan 1."
    assert "take pan 1 from stoveburner 2" not in world.admissible_commands
    play(world, "move pan 1 to stoveburner 2")
    assert world.step("examine stoveburner 2") == "On the stoveburner 2, you see a pan 1."


@pytest.mark.parametrize(
    "command",
    ["", "go", "go to", "go to moon 1", "Look", "look around", "go  to fridge 1", "take apple 1",
     "use apple 1",
     "take spoon 2 from countertop 1", "put mug 1 in/on countertop 1", "open countertop 1", "close fridge 1",
     "go to countertop 1", "go to sinkbasin 1", "slice apple 1 with apple 1", "heat apple 1 with fridge 1",
     "examine apple 1", "move mug 1 to countertop 1", "take window 1 from countertop 1", "\x00",
     "go to fridge 1\nlook"],
)  # fmt: skip
def test_nothing_happens(command: str) -> None:
    world = World(KITCHEN)
    world.step("go to countertop 1")
    before = (world.admissible_commands, world.inventory, world.won)
    assert world.step(command) == "Nothing happens."
    assert (world.admissible_commands, world.inventory, world.won) == before


def test_blanks_around_a_command_are_ignored() -> None:
    assert World(KITCHEN).step(" go to fridge 1\n") == "You arrive at fridge 1. The fridge 1 is closed."


def test_lists_are_fresh_and_copies_independent() -> None:
    world = World(KITCHEN)
    world.admissible_commands.clear()
    assert world.admissible_commands
    play(world, "go to countertop 1", "take mug 1 from countertop 1")
    twin = world.copy()
    play(twin, "move mug 1 to sinkbasin 1")
    assert (world.inventory, twin.inventory) == ("mug 1", None)
    assert world.step("look").endswith("Next to it, you see nothing.")
    assert twin.step("look").endswith("Next to it, you see a mug 1.")


def test_lamps_stay_on_and_looking_needs_lamp_and_thing_at_once() -> None:
    world = World(Game(bedroom(), Goal("look", "Book", "DeskLamp")))
    rates = [world.goal_condition_rate]
    for command in ["go to bed 1", "take book 1 from bed 1", "go to desk 2", "use desklamp 2"]:
        play(world, command)
        rates.append(world.goal_condition_rate)
    assert rates == [0, 0, 0.5, 0.5, 1]
    assert world.won
    assert play(world, "use desklamp 2") == "You turn on the desklamp 2."
    play(world, "go to desk 1")
    assert (world.won, world.goal_condition_rate) == (False, 0.5)


def rates(goal: Goal, *commands: str) -> list[float]:
    world = World(Game(bedroom() if goal.object_type == "Pen" else kitchen(), goal))
    found = []
    for command in commands:
        play(world, command)
        found.append(round(world.goal_condition_rate, 3))
    return found


def test_goal_condition_rate_counts_the_conditions_of_each_task() -> None:
    assert rates(Goal("simple", "Mug", "SinkBasin"), "go to countertop 1", "take mug 1 from countertop 1",
                 "move mug 1 to sinkbasin 1") == [0, 0, 1]  # fmt: skip
    # Clean: in place, clean, both. A dirty mug in place is 1 of 3; a clean one in hand too.
    assert rates(
        Goal("clean", "Mug", "SinkBasin"), "go to countertop 1", "take mug 1 from countertop 1",
        "move mug 1 to sinkbasin 1", "take mug 1 from sinkbasin 1", "clean mug 1 with sinkbasin 1",
        "move mug 1 to sinkbasin 1",
    ) == [0, 0, 0.333, 0, 0.333, 1]  # fmt: skip
    # Cool: apple 2 is cool from the start. A warm apple in place and a cool one elsewhere are 2 of 3.
    assert rates(Goal("cool", "Apple", "SinkBasin"), "go to countertop 1", "take apple 1 from countertop 1",
                 "move apple 1 to sinkbasin 1") == [0.333, 0.333, 0.667]  # fmt: skip
    # Two: the best single desk counts; one pen on each desk is still one.
    assert rates(
        Goal("two", "Pen", "Desk"), "go to bed 1", "take pen 3 from bed 1", "go to desk 1",
        "move pen 3 to desk 1", "take pen 3 from desk 1", "go to desk 2", "move pen 3 to desk 2",
    ) == [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1]  # fmt: skip


def universe(world: World) -> list[str]:
    """Every command the words of a game can form, admissible or not."""
    tables = world.game.tables
    places, things = tables.receptacle_names, tables.thing_names
    found = ["help", "inventory", "look"]
    found += [f"{verb} {place}" for verb in ("go to", "open", "close", "examine") for place in places]
    found += [f"{verb} {thing}" for verb in ("examine", "use", "take") for thing in things]
    words = [("take", "from"), ("move", "to"), ("heat", "with"), ("clean", "with"), ("cool", "with")]
    found += [f"{verb} {o} {word} {r}" for (verb, word), o, r in product(words, things, places)]
    return found + [f"slice {a} with {b}" for a, b in product(things, things)]


@given(st.integers(0, 10**9))
def test_exactly_the_admissible_commands_do_something(seed: int) -> None:
    rng = random.Random(seed)
    world = World(random_game(rng, places=5, things=5))
    for _ in range(rng.randrange(25)):
        world.step(rng.choice(world.admissible_commands))
    commands = world.admissible_commands
    assert commands == sorted(set(commands))
    done = [command for command in universe(world) if world.copy().step(command) != "Nothing happens."]
    assert sorted(done) == commands
    assert (world.goal_condition_rate == 1) == world.won


@given(st.integers(0, 10**9), st.text(max_size=30))
def test_reset_goes_back_to_the_start_and_worlds_share_nothing(seed: int, babble: str) -> None:
    rng = random.Random(seed)
    world = World(random_game(rng, places=5, things=5))
    other = World(world.game)
    first = [world.reset(), *world.admissible_commands]
    for _ in range(20):
        world.step(rng.choice([*world.admissible_commands, babble]))
    assert [world.reset(), *world.admissible_commands] == first == [other.reset(), *other.admissible_commands]


def test_memory_stays_bounded_under_babble() -> None:
    world = World(KITCHEN)
    for i in range(20_000):
        world.step(f"go to fridge {i}")
    assert len(KITCHEN.tables.command_ops) < 5_000
    slots = sum(sys.getsizeof(getattr(world, name)) for name in World.__slots__)
    assert slots < 15_000


def test_official_walkthroughs_win_on_their_last_command(alfworld_data: Path) -> None:
    paths = sorted(alfworld_data.rglob("game.tw-pddl"))
    assert paths
    for path in paths:
        world = World(load_game(path))
        assert world.game.walkthrough
        for command in world.game.walkthrough:
            assert not world.won
            assert command in world.admissible_commands
            world.step(command)
        assert world.won


def test_worlds_travel_between_processes() -> None:
    world = World(KITCHEN)
    play(world, "go to countertop 1", "take mug 1 from countertop 1")
    twin = pickle.loads(pickle.dumps(world))
    assert twin.game == world.game
    assert (twin.inventory, twin.admissible_commands) == (world.inventory, world.admissible_commands)
    assert play(twin, "clean mug 1 with sinkbasin 1") == play(world, "clean mug 1 with sinkbasin 1")
