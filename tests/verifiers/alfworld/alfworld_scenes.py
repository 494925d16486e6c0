"""Scenes written by hand, and small random ones, for tests that need no data."""

import random

from rlanything_verifiers.alfworld import Game, Goal, GoalKind, Receptacle, Scene, Thing

FOOD = {"pickupable": True, "cleanable": True, "heatable": True, "coolable": True, "sliceable": True}
DISH = {"pickupable": True, "cleanable": True, "heatable": True, "coolable": True, "is_receptacle_object": True}


def fits_everywhere(places: list[str], things: list[str]) -> frozenset[tuple[str, str]]:
    return frozenset((place, thing) for place in places for thing in things)


def kitchen() -> Scene:
    """A kitchen: two drawers on one spot, a spoon in a mug, a cool apple, a pan in two places at once."""
    return Scene(
        start="loc_bar_0_bar_0",
        receptacles=(
            Receptacle("CounterTop_bar_1", "CounterTop", "loc_bar_1"),
            Receptacle("Drawer_bar_1", "Drawer", "loc_bar_2", openable=True),
            Receptacle("Drawer_bar_2", "Drawer", "loc_bar_2", openable=True),
            Receptacle("Fridge_bar_1", "Fridge", "loc_bar_3", openable=True),
            Receptacle("Microwave_bar_1", "Microwave", "loc_bar_4", openable=True),
            Receptacle("Sink_bar_1_bar_SinkBasin", "SinkBasin", "loc_bar_1"),
            Receptacle("StoveBurner_bar_1", "StoveBurner", "loc_bar_5"),
            Receptacle("StoveBurner_bar_2", "StoveBurner", "loc_bar_6"),
        ),
        things=(
            Thing("Apple_bar_1", "Apple", ("Fridge_bar_1",), "loc_bar_3", is_cool=True, **FOOD),
            Thing("Apple_bar_2", "Apple", ("CounterTop_bar_1",), "loc_bar_1", **FOOD),
            Thing("Knife_bar_1", "Knife", ("Drawer_bar_1",), "loc_bar_2", pickupable=True, cleanable=True),
            Thing("Mug_bar_1", "Mug", ("CounterTop_bar_1",), "loc_bar_1", **DISH),
            Thing("Pan_bar_1", "Pan", ("StoveBurner_bar_1", "StoveBurner_bar_2"), "loc_bar_5", **DISH),
            Thing("Spoon_bar_1", "Spoon", (), "loc_bar_1", inside=("Mug_bar_1",), pickupable=True, cleanable=True),
            Thing("Spoon_bar_2", "Spoon", ("Drawer_bar_2",), "loc_bar_2", pickupable=True, cleanable=True),
            Thing("Window_bar_1", "Window", (), "loc_bar_7"),
        ),
        can_contain=fits_everywhere(
            ["CounterTop", "Drawer", "Fridge", "Microwave", "SinkBasin", "StoveBurner"],
            ["Apple", "Knife", "Mug", "Pan", "Spoon"],
        )
        - {("Drawer", "Pan"), ("StoveBurner", "Apple")},
    )


def bedroom() -> Scene:
    """A bedroom with two lamps, three pens and a closed safe."""
    return Scene(
        start="loc_bar_0",
        receptacles=(
            Receptacle("Bed_bar_1", "Bed", "loc_bar_1"),
            Receptacle("Desk_bar_1", "Desk", "loc_bar_2"),
            Receptacle("Desk_bar_2", "Desk", "loc_bar_3"),
            Receptacle("Safe_bar_1", "Safe", "loc_bar_4", openable=True),
        ),
        things=(
            Thing("Book_bar_1", "Book", ("Bed_bar_1",), "loc_bar_1", pickupable=True),
            Thing("DeskLamp_bar_1", "DeskLamp", ("Desk_bar_1",), "loc_bar_2", toggleable=True),
            Thing("DeskLamp_bar_2", "DeskLamp", ("Desk_bar_2",), "loc_bar_3", toggleable=True),
            Thing("Pen_bar_1", "Pen", ("Bed_bar_1",), "loc_bar_1", pickupable=True),
            Thing("Pen_bar_2", "Pen", ("Safe_bar_1",), "loc_bar_4", pickupable=True),
            Thing("Pen_bar_3", "Pen", ("Desk_bar_1",), "loc_bar_2", pickupable=True),
        ),
        can_contain=fits_everywhere(["Bed", "Desk", "Safe"], ["Book", "Pen"]),
    )


#: Receptacle types of random scenes, with whether they open.
_PLACES = {"CounterTop": False, "Cabinet": True, "Fridge": True, "Microwave": True, "SinkBasin": False}
_THINGS = {"Apple": FOOD, "Mug": DISH, "Knife": {"pickupable": True, "cleanable": True}}
_KINDS: tuple[GoalKind, ...] = ("simple", "clean", "heat", "cool", "two", "look")


def random_game(rng: random.Random, places: int = 4, things: int = 3) -> Game:
    """A small game of any kind, solvable or not, with everything the format allows."""
    receptacles = []
    for i in range(places):
        type_ = rng.choice(list(_PLACES))
        openable = _PLACES[type_] and rng.random() < 0.8
        receptacles.append(Receptacle(f"{type_}_bar_{i}", type_, f"loc_bar_{rng.randrange(places)}", openable))
    objects = []
    for i in range(things):
        type_ = rng.choice(list(_THINGS))
        homes = rng.sample(receptacles, k=rng.choice([0, 1, 1, 1, 1, 1, 2]))
        traits = {name: value and rng.random() < 0.9 for name, value in _THINGS[type_].items()}
        objects.append(
            Thing(
                f"{type_}_bar_{i}",
                type_,
                tuple(r.id for r in homes),
                homes[-1].location if homes else rng.choice(["loc_bar_9", None]),
                is_cool=rng.random() < 0.2,
                **traits,
            )
        )
    if rng.random() < 0.8:
        home = rng.choice(receptacles)
        objects.append(Thing("DeskLamp_bar_1", "DeskLamp", (home.id,), home.location, toggleable=True))
    fits = {(place, thing) for place in _PLACES for thing in _THINGS if rng.random() < 0.85}
    kind = rng.choice(_KINDS)
    target = rng.choice(objects[:things]).type
    place = "DeskLamp" if kind == "look" else rng.choice(receptacles).type
    start = rng.choice(["loc_bar_99", receptacles[0].location])
    scene = Scene(start, tuple(receptacles), tuple(objects), frozenset(fits))
    return Game(scene, Goal(kind, target, place))
