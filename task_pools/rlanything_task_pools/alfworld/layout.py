"""Procedural scenes: a scene number fixes the room, its furniture, and where the agent starts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from rlanything_task_pools.alfworld.household import FLOOR, Room, household, room_of
from rlanything_task_pools.rng_stream import RngStream, count_at
from rlanything_verifiers.alfworld.scene import Receptacle, Thing

SCENES = 30
"""Scenes of a room over which what there is is spread evenly; AI2-THOR has as many."""

SHARE_WITH_TWIN = {"StoveBurner": 0.3, "Cabinet": 0.05, "Drawer": 0.1}
"""Chance that a receptacle is reached from where its twin before it is; chosen so that, as in 74 % of the
official games, some location serves several receptacles (pairs of burners, cabinets and drawers lead there
too)."""
SHARE_WITH_TWIN_ELSE = 0.04
SHARE_WITH_COUNTER = {"CoffeeMachine": 0.3, "Toaster": 0.2}
"""Chance that an appliance is reached from the spot of a countertop (9 and 5 of 23 official kitchens)."""
SHARE_WITH_ANY = 0.03


@dataclass(frozen=True, eq=False)
class Layout:
    """The part of a scene that all its tasks share; made once for a scene number, and compared by identity."""

    number: int
    room: str
    receptacles: tuple[Receptacle, ...]
    props: tuple[Thing, ...]
    """Things that stay where they are."""
    object_types: tuple[str, ...]
    """Kinds of things to pick up that this household owns."""
    start: str
    """Location the agent starts at; no receptacle is there."""
    floor: tuple[str, ...]
    """Locations of things that lie in no receptacle."""
    can_contain: frozenset[tuple[str, str]]
    """Pairs (receptacle type, object type) of allowed placements, for the types of this scene."""

    @cached_property
    def by_type(self) -> Mapping[str, tuple[Receptacle, ...]]:
        """The receptacles of each type."""
        kinds = sorted({item.type for item in self.receptacles})
        return {kind: tuple(item for item in self.receptacles if item.type == kind) for kind in kinds}


def _signed(value: int) -> str:
    return f"{'minus_' if value < 0 else ''}{abs(value)}"


def mangled(kind: str, coordinates: list[str]) -> str:
    """The official id of a thing from its written coordinates: ``Apple_bar_x_bar_y_bar_z``.

    A basin is written as a part of its sink or tub, ``Sink_bar_..._bar_SinkBasin``: ALFWorld names it by
    both ends.
    """
    owner = kind.removesuffix("Basin")
    return "_bar_".join([owner, *coordinates] + ([kind] if owner != kind else []))


def _coordinates(centimetres: range) -> list[str]:
    return [f"_{'minus' if n < 0 else 'plus'}_{abs(n) // 100:02d}_dot_{abs(n) % 100:02d}" for n in centimetres]


_LENGTHS, _HEIGHTS = _coordinates(range(-450, 450)), _coordinates(range(250))


def thing_id(kind: str, rng: RngStream, taken: set[str]) -> str:
    """A fresh id in the official form, ``Apple_bar__plus_00_dot_28_bar_...``: kind and three coordinates in
    metres.

    TextWorld numbers things of one kind by the order of their ids, and only ids of this form.
    """
    while True:
        name = mangled(kind, [_LENGTHS[rng.below(900)], _HEIGHTS[rng.below(250)], _LENGTHS[rng.below(900)]])
        if name not in taken:
            taken.add(name)
            return name


def location_name(x: int, z: int, heading: int, angle: int) -> str:
    """The official name of a location: cell of a quarter-metre grid, quarter turns, angle in degrees."""
    return f"loc_bar_{_signed(x)}_bar_{_signed(z)}_bar_{heading}_bar_{_signed(angle)}"


def location_id(rng: RngStream, taken: set[str]) -> str:
    """A fresh location."""
    while True:
        x, z = rng.below(25) - 12, rng.below(25) - 12
        name = location_name(x, z, rng.below(4), rng.pick((-30, 0, 30, 45, 60)))
        if name not in taken:
            taken.add(name)
            return name


@lru_cache(maxsize=512)
def procedural_layout(number: int) -> Layout:
    """The layout of a scene number.

    Raises:
        ValueError: No room has this number.
    """
    room = household().rooms[room_of(number)]
    rng = RngStream("layout", number)
    taken: set[str] = set()
    receptacles = _furnish(number, room, rng, taken)
    floor = tuple(location_id(rng, taken) for _ in range(4))
    kinds = [kind for kind, stats in room.props.items() if spread(number, room.name, kind) < stats.present]
    props = stand_props(kinds, room, receptacles, floor, rng, taken)
    owned = tuple(kind for kind, stats in room.objects.items() if spread(number, room.name, kind) < stats.present)
    start = location_id(rng, taken)
    return complete_layout(number, receptacles, props, owned, start, floor)


def complete_layout(
    number: int,
    receptacles: tuple[Receptacle, ...],
    props: tuple[Thing, ...],
    object_types: tuple[str, ...],
    start: str,
    floor: tuple[str, ...],
) -> Layout:
    """A layout with what may be put where filled in from the household facts."""
    contains = household().contains
    can_contain = frozenset(
        (kind, held)
        for kind in {item.type for item in receptacles}
        for held in object_types
        if held in contains.get(kind, ())
    )
    return Layout(number, room_of(number), receptacles, props, object_types, start, floor, can_contain)


def opens(kind: str, openable_rate: float, rng: RngStream) -> bool:
    """Whether a receptacle has a door to open: of cabinets and drawers only a share does."""
    return kind in household().openable and (kind not in ("Cabinet", "Drawer") or rng.chance(openable_rate))


def stand_props(
    kinds: Iterable[str],
    room: Room,
    receptacles: tuple[Receptacle, ...],
    floor: tuple[str, ...],
    rng: RngStream,
    taken: set[str],
) -> tuple[Thing, ...]:
    """Things of some kinds that stay where they are, where a room usually has them."""
    toggleable = household().affordances["toggleable"]
    props = []
    for kind in kinds:
        stats = room.props[kind]
        places = {place for place in stats.places if place != FLOOR}
        share = 1 - stats.places.get(FLOOR, 0) / sum(stats.places.values())
        standing = [item for item in receptacles if item.type in places]
        for _ in range(int(stats.copies) + rng.chance(stats.copies % 1)):
            home = rng.pick(standing) if standing and rng.chance(share) else None
            props.append(
                Thing(
                    id=thing_id(kind, rng, taken),
                    type=kind,
                    receptacles=(home.id,) if home else (),
                    location=home.location if home else rng.pick(floor),
                    toggleable=kind in toggleable,
                )
            )
    return tuple(props)


@lru_cache(maxsize=1024)
def _ranks(*key: str) -> list[int]:
    return RngStream("ranks", *key).shuffled(SCENES)


def spread(number: int, *key: str) -> float:
    """A share in (0, 1) for a scene, spread evenly over the scenes of a room.

    Independent draws would leave the medians over a few dozen scenes to chance.
    """
    return (_ranks(*key)[number % SCENES] + 0.5) / SCENES


def _furnish(number: int, room: Room, rng: RngStream, taken: set[str]) -> tuple[Receptacle, ...]:
    found: list[Receptacle] = []
    for kind, stats in room.receptacles.items():
        if spread(number, room.name, kind, "present") >= stats.present:
            continue
        twin: Receptacle | None = None
        for _ in range(count_at(spread(number, room.name, kind, "count"), stats.quantiles)):
            counters = [item for item in found if item.type == "CounterTop"]
            if twin is not None and rng.chance(SHARE_WITH_TWIN.get(kind, SHARE_WITH_TWIN_ELSE)):
                location = twin.location
            elif counters and rng.chance(SHARE_WITH_COUNTER.get(kind, 0.0)):
                location = rng.pick(counters).location
            elif found and rng.chance(SHARE_WITH_ANY):
                location = rng.pick(found).location
            else:
                location = location_id(rng, taken)
            twin = Receptacle(thing_id(kind, rng, taken), kind, location, opens(kind, room.openable_rate, rng))
            found.append(twin)
    return tuple(found)
