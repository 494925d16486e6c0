"""What official games have that no tidy scene has, each laid into any game by chance."""

import random
from collections.abc import Callable
from dataclasses import replace

from alfworld_scenes import FOOD, kitchen, random_game

from rlanything_verifiers.alfworld import Game, Receptacle, Scene, Thing


def _change(scene: Scene, old: Thing, **changes: object) -> Scene:
    return replace(scene, things=tuple(replace(t, **changes) if t is old else t for t in scene.things))  # type: ignore[arg-type]


def _takeable(rng: random.Random, scene: Scene) -> Thing:
    """A thing that can be taken, if there is one."""
    reach = [thing for thing in scene.things if thing.pickupable and thing.receptacles]
    return rng.choice(reach or list(scene.things))


def two_receptacles(rng: random.Random, scene: Scene) -> Scene:
    """A thing in two or three receptacles."""
    homes = rng.sample(scene.receptacles, k=min(len(scene.receptacles), rng.choice([2, 2, 3])))
    return _change(scene, _takeable(rng, scene), receptacles=tuple(r.id for r in homes), location=homes[0].location)


def two_things(rng: random.Random, scene: Scene) -> Scene:
    """A thing in two or more others, which may be in a receptacle as well."""
    inner = _takeable(rng, scene)
    others = [thing for thing in scene.things if thing is not inner]
    outer = rng.sample(others, k=min(len(others), rng.choice([2, 2, 3])))
    return _change(scene, inner, inside=tuple(thing.id for thing in outer))


def itself(rng: random.Random, scene: Scene) -> Scene:
    """A pan that is inside itself."""
    pan = _takeable(rng, scene)
    return _change(scene, pan, inside=(*pan.inside, pan.id), is_receptacle_object=True)


def round_about(rng: random.Random, scene: Scene) -> Scene:
    """Two things inside each other."""
    one = _takeable(rng, scene)
    other = rng.choice([thing for thing in scene.things if thing is not one])
    scene = _change(scene, other, inside=(one.id,), is_receptacle_object=True)
    return _change(scene, one, inside=(other.id,), is_receptacle_object=True)


def untyped(rng: random.Random, scene: Scene) -> Scene:
    """A cracked egg (or apple) without a type: nowhere as in the official games, in a receptacle, or in a thing."""
    home = rng.choice(scene.receptacles)
    there = rng.choice([{}, {"receptacles": (home.id,), "location": home.location}, {"inside": (scene.things[0].id,)}])
    traits = {name: rng.random() < 0.5 for name in FOOD} | {"pickupable": rng.random() < 0.8, "is_cool": True}
    cracked = Thing(f"{rng.choice(['Apple', 'Egg'])}_bar_1_bar_EggCracked_0", None, **there, **traits)  # type: ignore[arg-type]
    return replace(scene, things=(*scene.things, cracked))


def sink(rng: random.Random, scene: Scene) -> Scene:
    """A sink among the things, in whose basin and in all of whose plates it lies."""
    spot = rng.choice(scene.receptacles).location
    basin = Receptacle("Sink_bar_7_bar_SinkBasin", "SinkBasin", spot)
    plates = [
        Thing(f"Plate_bar_{n}", "Plate", (basin.id,), spot, pickupable=True, is_receptacle_object=True) for n in (8, 9)
    ]
    thing = Thing("Sink_bar_7", "Sink", (), rng.choice([spot, "loc_bar_8"]), tuple(plate.id for plate in plates))
    return replace(scene, receptacles=(*scene.receptacles, basin), things=(*scene.things, *plates, thing))


QUIRKS: dict[str, Callable[[random.Random, Scene], Scene]] = {
    quirk.__name__: quirk for quirk in (two_receptacles, two_things, itself, round_about, untyped, sink)
}


def quirky_game(seed: int, quirks: list[str], places: int = 4, things: int = 4) -> Game:
    """A small random game with each of the quirks."""
    rng = random.Random(seed)
    game = random_game(rng, places=places, things=things)
    scene = game.scene
    for name in quirks:
        scene = QUIRKS[name](rng, scene)
    return Game(scene, game.goal)


def quirk_kitchen() -> Scene:
    """The written kitchen with all quirks at once.

    Mug 1 is on the countertop and in the sinkbasin. The pan is inside itself, and spoon 1 in both the mug and the
    pan. Of two cracked eggs without a type one is in the fridge and one nowhere; a sink lies in two plates.
    """
    scene = kitchen()
    changes: dict[str, dict[str, object]] = {
        "Mug_bar_1": {"receptacles": ("CounterTop_bar_1", "Sink_bar_1_bar_SinkBasin")},
        "Pan_bar_1": {"inside": ("Pan_bar_1",)},
        "Spoon_bar_1": {"inside": ("Mug_bar_1", "Pan_bar_1"), "receptacles": ("CounterTop_bar_1",)},
    }
    plate = {"pickupable": True, "is_receptacle_object": True}
    return replace(
        scene,
        things=(
            *(replace(thing, **changes.get(thing.id, {})) for thing in scene.things),  # type: ignore[arg-type]
            Thing("Egg_bar_1", "Egg", ("Fridge_bar_1",), "loc_bar_3", **FOOD),
            Thing("Egg_bar_1_bar_EggCracked_0", None, ("Fridge_bar_1",), "loc_bar_3", **FOOD),
            Thing("Egg_bar_2_bar_EggCracked_0", None, pickupable=True),
            Thing("Plate_bar_1", "Plate", ("CounterTop_bar_1",), "loc_bar_1", **plate),
            Thing("Plate_bar_2", "Plate", ("CounterTop_bar_1",), "loc_bar_1", **plate),
            Thing("Sink_bar_1", "Sink", (), "loc_bar_1", ("Plate_bar_1", "Plate_bar_2")),
        ),
        can_contain=scene.can_contain | {("Fridge", "Egg"), ("CounterTop", "Plate")},
    )
